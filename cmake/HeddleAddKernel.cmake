# heddle_add_kernel(LIBRARY FILES a.heddle ... [TARGETS sm_80 sm_90a ...] [BUCKETS N=16,64] [DB tuned.json]
#                   [PTXAS path] [COMPRESS] [OPTIONS --size N=512 ...])
# A static library of the launchers of `heddle gen`, one for each file, whose kernel gets the file's name: for
# up.heddle up.h is found by who links LIBRARY. Files are generated in parallel, again when the file, the choices
# or heddle itself change. With COMPRESS their code is compressed, and LIBRARY links libzstd. The generator runs on
# the machine that builds: -D heddle_EXECUTABLE=… where it is another.
function(heddle_add_kernel library)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COMPRESS" "BUCKETS;DB;PTXAS" "FILES;TARGETS;OPTIONS")
  if(NOT arg_FILES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "heddle_add_kernel(${library}): got \"${arg_UNPARSED_ARGUMENTS}\" beside FILES \"${arg_FILES}\"; "
                        "legal: FILES, TARGETS, BUCKETS, DB, PTXAS, COMPRESS, OPTIONS")
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${library}.heddle)
  set(options ${arg_OPTIONS})
  if(arg_TARGETS)
    list(JOIN arg_TARGETS "," targets)
    list(APPEND options --targets ${targets})
  endif()
  foreach(name BUCKETS DB PTXAS)
    if(arg_${name})
      string(TOLOWER ${name} option)
      list(APPEND options --${option} ${arg_${name}})
    endif()
  endforeach()
  if(arg_COMPRESS)
    list(APPEND options --compress)
  endif()
  set(sources)
  foreach(file IN LISTS arg_FILES)
    get_filename_component(file ${file} ABSOLUTE)
    get_filename_component(name ${file} NAME_WE)
    set(made ${folder}/${name}.c ${folder}/${name}.h ${folder}/${name}.c.bin ${folder}/${name}.json)
    add_custom_command(
      OUTPUT ${made}
      COMMAND heddle::tool gen ${file} --name ${name} ${options} --force -o ${folder}
      DEPENDS ${file} ${arg_DB} heddle::tool
      COMMENT "heddle gen ${name}"
      VERBATIM)
    set_source_files_properties(${folder}/${name}.c PROPERTIES OBJECT_DEPENDS ${folder}/${name}.c.bin)
    list(APPEND sources ${folder}/${name}.c ${folder}/${name}.h)
  endforeach()
  add_library(${library} STATIC ${sources})
  target_include_directories(${library} PUBLIC ${folder})
  if(arg_COMPRESS)
    target_link_libraries(${library} PRIVATE zstd)
  endif()
  set_target_properties(${library} PROPERTIES LINKER_LANGUAGE C POSITION_INDEPENDENT_CODE ON)
endfunction()

# The two libraries, shared and as archives, and what `cmake --install` lays down: headers, tools,
# find_package(heddle) and pkg-config files.
#   libheddle          the generator, the simulator, the runtime, the formats, the tuned choices;
#                      the tuner, its database and the benchmark (lib/Tune, lib/Bench)
#                      are the tools' alone
#   libheddle-runtime  load, launch and pack; no LLVM
# With LLVM linked statically libheddle holds it, and all else that is not the C library's.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)

# Every folder that the named ones use, themselves included.
function(heddle_closure out)
  set(todo ${ARGN})
  set(done)
  while(todo)
    list(POP_FRONT todo name)
    if(TARGET hd${name} AND NOT name IN_LIST done)
      list(APPEND done ${name})
      get_target_property(linked hd${name} INTERFACE_LINK_LIBRARIES)
      foreach(item IN LISTS linked)
        if(item MATCHES "^hd([A-Z].*)$")
          list(APPEND todo ${CMAKE_MATCH_1})
        endif()
      endforeach()
    endif()
  endwhile()
  set(${out} ${done} PARENT_SCOPE)
endfunction()

# The objects of folders, and what they take from outside Heddle.
function(heddle_parts out_objects out_outside)
  set(objects)
  set(outside)
  foreach(name IN LISTS ARGN)
    list(APPEND objects $<TARGET_OBJECTS:hd${name}>)
    get_target_property(linked hd${name} INTERFACE_LINK_LIBRARIES)
    list(FILTER linked EXCLUDE REGEX "^hd[A-Z]|NOTFOUND$")
    list(APPEND outside ${linked})
  endforeach()
  list(REMOVE_DUPLICATES outside)
  set(${out_objects} ${objects} PARENT_SCOPE)
  set(${out_outside} ${outside} PARENT_SCOPE)
endfunction()

# heddle_shared_library(TARGET FILENAME Folder...): exports what is marked HEDDLE_API, nothing else,
# whatever the archives it links bring along.
function(heddle_shared_library target filename)
  heddle_parts(objects outside ${ARGN})
  if(HEDDLE_STATIC_LLVM)
    list(TRANSFORM outside REPLACE "^PkgConfig::JANSSON$" ${pic_jansson})
    list(APPEND objects ${CMAKE_SOURCE_DIR}/cmake/static_shims.c)
  endif()
  add_library(${target} SHARED ${objects})
  # LLVM's system libraries come with the folder that uses LLVM; C++ only when LLVM is static.
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${filename} VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                        LINKER_LANGUAGE C)
  target_link_libraries(${target} PRIVATE ${outside})
  target_link_options(${target} PRIVATE -Wl,--no-undefined -Wl,--as-needed
                      -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/exports.map)
  set_property(TARGET ${target} PROPERTY LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exports.map)
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(HEDDLE_ASAN)
    # The sanitizers' runtime is the executable's; a library may leave it undefined.
    target_link_options(${target} PRIVATE -fsanitize=address,undefined -Wl,-z,undefs)
  elseif(HEDDLE_TSAN)
    target_link_options(${target} PRIVATE -fsanitize=thread -Wl,-z,undefs)
  elseif(HEDDLE_COVERAGE)
    target_link_options(${target} PRIVATE --coverage)
  endif()
endfunction()

# heddle_archive(TARGET FILENAME Folder...): the same objects. A program that links both archives, in
# any order, takes each object once; a shared library made with one exports HEDDLE_API's names alone.
function(heddle_archive target filename)
  heddle_parts(objects outside ${ARGN})
  add_library(${target} STATIC ${objects})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${filename} LINKER_LANGUAGE C)
  target_link_libraries(${target} PRIVATE ${outside})
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

heddle_closure(runtime_folders Kernel Runtime Sparse)
set(library_folders ${HEDDLE_LIBRARIES})
list(REMOVE_ITEM library_folders Html Tune Bench)
heddle_closure(all_folders ${library_folders})
heddle_archive(heddle_static heddle ${all_folders})
heddle_archive(runtime_static heddle-runtime ${runtime_folders})
install(TARGETS heddle_static runtime_static heddle_llvm EXPORT heddle-static
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT heddle-static NAMESPACE heddle:: DESTINATION ${package_dir})
set(packages heddle-static heddle-runtime-static)
heddle_shared_library(libheddle heddle ${all_folders})
heddle_shared_library(libheddle-runtime heddle-runtime ${runtime_folders})
set_target_properties(libheddle PROPERTIES EXPORT_NAME heddle)
set_target_properties(libheddle-runtime PROPERTIES EXPORT_NAME runtime)
set(shared libheddle libheddle-runtime)
if(HEDDLE_NETWORK)
  heddle_shared_library(libheddle-fetch heddle-fetch Fetch Support)
  set_target_properties(libheddle-fetch PROPERTIES EXPORT_NAME fetch)
  list(APPEND shared libheddle-fetch)
endif()
install(TARGETS ${shared} EXPORT heddle-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT heddle-targets NAMESPACE heddle:: DESTINATION ${package_dir})
list(APPEND packages heddle heddle-runtime)

install(DIRECTORY include/heddle TYPE INCLUDE)
install(FILES LICENSE README.md TYPE DOC)
install(DIRECTORY docs TYPE DOC PATTERN "make_*.py" EXCLUDE)
install(DIRECTORY examples TYPE DOC PATTERN "CMakeLists.txt" EXCLUDE)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/heddle-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
set(tuned ${CMAKE_INSTALL_DATADIR}/heddle/tuned.json)
configure_package_config_file(cmake/heddle-config.cmake.in ${CMAKE_BINARY_DIR}/heddle-config.cmake
                              INSTALL_DESTINATION ${package_dir} PATH_VARS tuned)
install(FILES ${CMAKE_SOURCE_DIR}/cmake/HeddleAddKernel.cmake DESTINATION ${package_dir})
install(FILES ${CMAKE_BINARY_DIR}/heddle-config.cmake
              ${CMAKE_BINARY_DIR}/heddle-config-version.cmake
        DESTINATION ${package_dir})
string(REPLACE ";" " " llvm_flags "${llvm_libs}")
foreach(name IN LISTS packages)
  configure_file(cmake/${name}.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

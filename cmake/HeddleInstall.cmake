# The two shared libraries, and what `cmake --install` lays down: headers, tools, find_package(heddle)
# and pkg-config files.
#   libheddle          every folder of lib/: the generator, the runtime, the formats
#   libheddle-runtime  load, launch and pack; no LLVM
# With LLVM linked statically there are the tools alone: `cmake --install --strip` lays them down.
if(HEDDLE_STATIC_LLVM)
  return()
endif()
include(CMakePackageConfigHelpers)

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

# heddle_shared_library(TARGET FILENAME Folder...): exports what is marked HEDDLE_API, nothing else,
# whatever the archives it links bring along.
function(heddle_shared_library target filename)
  set(objects)
  set(outside)
  foreach(name IN LISTS ARGN)
    list(APPEND objects $<TARGET_OBJECTS:hd${name}>)
    get_target_property(linked hd${name} INTERFACE_LINK_LIBRARIES)
    foreach(item IN LISTS linked)
      if(item AND NOT item MATCHES "^hd[A-Z]")
        list(APPEND outside ${item})
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES outside)
  add_library(${target} SHARED ${objects})
  # LLVM's system libraries come with the folder that uses LLVM; C++ only when LLVM is static.
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${filename} VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE C)
  target_link_libraries(${target} PRIVATE ${outside})
  target_link_options(${target} PRIVATE -Wl,--no-undefined -Wl,--as-needed
                      -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/exports.map)
  set_property(TARGET ${target} PROPERTY LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exports.map)
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(HEDDLE_ASAN)
    # The sanitizers' runtime is the executable's; a library may leave it undefined.
    target_link_options(${target} PRIVATE -fsanitize=address,undefined -Wl,-z,undefs)
  endif()
endfunction()

heddle_closure(runtime_folders Kernel Runtime Sparse)
heddle_shared_library(libheddle-runtime heddle-runtime ${runtime_folders})
heddle_closure(all_folders ${HEDDLE_LIBRARIES})
heddle_shared_library(libheddle heddle ${all_folders})
set_target_properties(libheddle PROPERTIES EXPORT_NAME heddle)
set_target_properties(libheddle-runtime PROPERTIES EXPORT_NAME runtime)

install(TARGETS libheddle libheddle-runtime EXPORT heddle-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/heddle TYPE INCLUDE)
install(FILES LICENSE README.md TYPE DOC)
install(DIRECTORY docs TYPE DOC FILES_MATCHING PATTERN "*.md")
install(EXPORT heddle-targets NAMESPACE heddle:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/heddle-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
configure_package_config_file(cmake/heddle-config.cmake.in ${CMAKE_BINARY_DIR}/heddle-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
install(FILES ${CMAKE_BINARY_DIR}/heddle-config.cmake
              ${CMAKE_BINARY_DIR}/heddle-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
foreach(name heddle heddle-runtime)
  configure_file(cmake/${name}.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

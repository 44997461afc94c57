# heddle_library(NAME SOURCES file.c ... [USES Folder ...] [LINK lib ...])
#
# One static library a folder, named hd<NAME>. USES names the folders below it that it may include;
# includes are written "Folder/header.h" and resolve from lib/. LINK names outside libraries.
function(heddle_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LINK" ${ARGN})
  add_library(hd${name} STATIC ${ARG_SOURCES})
  heddle_compile_options(hd${name})
  foreach(used IN LISTS ARG_USES)
    target_link_libraries(hd${name} PUBLIC hd${used})
  endforeach()
  target_link_libraries(hd${name} PUBLIC ${ARG_LINK})
endfunction()

# heddle_tool(NAME SOURCES file.c ... USES Folder ... [LINK lib ...])
function(heddle_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  heddle_compile_options(${name})
  foreach(used IN LISTS ARG_USES)
    target_link_libraries(${name} PRIVATE hd${used})
  endforeach()
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
endfunction()

# heddle_man_page(TOOL): TOOL.1, of its help texts, built and installed.
function(heddle_man_page tool)
  set(page ${CMAKE_CURRENT_BINARY_DIR}/${tool}.1)
  set(script ${CMAKE_SOURCE_DIR}/tools/heddle/man.sh)
  add_custom_command(OUTPUT ${page} COMMAND sh ${script} $<TARGET_FILE:${tool}> > ${page}
                     DEPENDS ${tool} ${script} VERBATIM)
  add_custom_target(${tool}-man ALL DEPENDS ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endfunction()

# heddle_unit_test(NAME SOURCES file.c ... USES Folder ... [LINK lib ...]): one cmocka binary, one
# ctest case named unit.NAME. gold links in a fraction of the default linker's time. There are a
# hundred of these binaries, and none is installed.
include(CheckLinkerFlag)
check_linker_flag(C -fuse-ld=gold HEDDLE_GOLD)
function(heddle_unit_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES;LINK" ${ARGN})
  heddle_tool(unit-${name} SOURCES ${ARG_SOURCES} USES ${ARG_USES} LINK cmocka ${ARG_LINK})
  if(HEDDLE_GOLD)
    target_link_options(unit-${name} PRIVATE -fuse-ld=gold)
  endif()
  add_test(NAME unit.${name} COMMAND unit-${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(unit.${name} PROPERTIES TIMEOUT 1800 LABELS unit)
endfunction()

function(heddle_compile_options target)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/lib
                                               ${CMAKE_SOURCE_DIR}/include
                                               ${CMAKE_BINARY_DIR}/generated)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE HD_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wstrict-prototypes
                                           -Wmissing-prototypes -Wpointer-arith -Wvla
                                           -fno-strict-aliasing
                                           -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
  if(HEDDLE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(HEDDLE_FUZZ)
    set(sanitizers -fsanitize=fuzzer-no-link,address,undefined)
  elseif(HEDDLE_TSAN)
    set(sanitizers -fsanitize=thread)
  endif()
  if(HEDDLE_COVERAGE)
    target_compile_options(${target} PRIVATE -O0 --coverage -fprofile-update=atomic)
    target_link_options(${target} PRIVATE --coverage)
  endif()
  if(sanitizers)
    target_compile_options(${target} PRIVATE -O1 ${sanitizers} -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE ${sanitizers})
  endif()
  if(HEDDLE_ASAN)
    target_compile_options(${target} PRIVATE -O1 -fsanitize=address,undefined
                                             -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=address,undefined)
  endif()
endfunction()

# embed_sql(TABLE FILES...): the files as generated/TABLE.inc of this folder's build (EmbedSql.cmake).
function(embed_sql table)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/generated/${table}.inc)
  set(script ${CMAKE_SOURCE_DIR}/cmake/EmbedSql.cmake)
  add_custom_command(OUTPUT ${out}
                     COMMAND ${CMAKE_COMMAND} -D OUT=${out} "-DFILES=${ARGN}" -P ${script}
                     DEPENDS ${ARGN} ${script} VERBATIM)
endfunction()

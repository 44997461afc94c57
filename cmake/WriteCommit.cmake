# cmake -D ROOT=… -D OUT=commit.h -P WriteCommit.cmake: which commit the sources are of. The file is written only
# when that changes, so that an unchanged tree builds nothing.
set(commit unknown)
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${ROOT} describe --always --dirty --abbrev=12 --exclude=*
                  OUTPUT_VARIABLE found RESULT_VARIABLE code ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(code EQUAL 0)
    set(commit ${found})
  endif()
endif()
set(text "#define HD_COMMIT \"${commit}\"\n")
set(before)
if(EXISTS ${OUT})
  file(READ ${OUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUT} "${text}")
endif()

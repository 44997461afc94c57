# Everything Heddle takes from outside, all of it Debian packages.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
if(HEDDLE_STATIC_LLVM)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a) # all of it goes into the tools, but for libc and libm
endif()
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(FFI REQUIRED IMPORTED_TARGET libffi)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
if(HEDDLE_NETWORK AND NOT HEDDLE_STATIC_LLVM)
  pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl)
  pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd)
  pkg_check_modules(PQ REQUIRED IMPORTED_TARGET libpq)
  pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
endif()

if(HEDDLE_STATIC_LLVM)
  # Debian's libjansson.a may go into a shared library but for one relocation: a comparison with stdin,
  # in a function that Heddle never calls. Its name becomes that of cmake/static_shims.c.
  set(pic_jansson ${CMAKE_BINARY_DIR}/lib/libjansson-pic.a)
  pkg_get_variable(jansson_folder jansson libdir)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  execute_process(COMMAND ${CMAKE_OBJCOPY} --redefine-sym stdin=hd_no_stream
                          ${jansson_folder}/libjansson.a ${pic_jansson}
                  COMMAND_ERROR_IS_FATAL ANY)
endif()

set(HEDDLE_LLVM_ROOT /usr/lib/llvm-22 CACHE PATH "Where LLVM 22 is installed")
find_program(HEDDLE_LLVM_CONFIG NAMES llvm-config-22 llvm-config
             HINTS ${HEDDLE_LLVM_ROOT}/bin NO_DEFAULT_PATH REQUIRED)
find_program(HEDDLE_LLVM_TBLGEN NAMES llvm-tblgen HINTS ${HEDDLE_LLVM_ROOT}/bin
             NO_DEFAULT_PATH REQUIRED)
find_program(HEDDLE_FILECHECK NAMES FileCheck HINTS ${HEDDLE_LLVM_ROOT}/bin NO_DEFAULT_PATH)
find_program(HEDDLE_LIT NAMES lit HINTS ${HEDDLE_LLVM_ROOT}/bin NO_DEFAULT_PATH)
find_program(HEDDLE_PTXAS ptxas HINTS /usr/local/cuda/bin)

execute_process(COMMAND ${HEDDLE_LLVM_CONFIG} --includedir OUTPUT_VARIABLE llvm_includes
                OUTPUT_STRIP_TRAILING_WHITESPACE)
if(HEDDLE_STATIC_LLVM)
  set(llvm_mode --link-static)
else()
  set(llvm_mode --link-shared)
endif()
execute_process(COMMAND ${HEDDLE_LLVM_CONFIG} ${llvm_mode} --ldflags --libs nvptx passes irreader
                        linker bitreader
                OUTPUT_VARIABLE llvm_libs OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REPLACE "\n" " " llvm_libs "${llvm_libs}")
separate_arguments(llvm_libs)
if(HEDDLE_STATIC_LLVM)
  enable_language(CXX)
  list(APPEND llvm_libs -Wl,-Bstatic -lz -lzstd -lstdc++ -Wl,-Bdynamic -ldl -lm -static-libgcc
                        -Wl,--gc-sections -Wl,-O2)
endif()
add_library(heddle_llvm INTERFACE)
target_include_directories(heddle_llvm SYSTEM INTERFACE $<BUILD_INTERFACE:${llvm_includes}>)
target_link_libraries(heddle_llvm INTERFACE ${llvm_libs})

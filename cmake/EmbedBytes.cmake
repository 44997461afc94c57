# cmake -D IN=FILE -D OUT=HEADER -D NAME=SYMBOL -P EmbedBytes.cmake: a file as a constant array of bytes.
get_filename_component(file ${IN} NAME)
file(READ ${IN} hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
file(WRITE ${OUT} "/* Made by cmake/EmbedBytes.cmake of ${file}. */
static const unsigned char ${NAME}[] = {
${hex}
};
")

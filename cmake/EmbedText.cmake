# cmake -D IN=FILE -D OUT=FILE -P EmbedText.cmake: the parts of a text as constant C strings. A part
# begins behind a line `//// NAME` and becomes NAME[]; what stands before the first one is left out.
get_filename_component(name ${IN} NAME)
file(READ ${IN} text)
string(FIND "${text}" "//// " begin)
string(SUBSTRING "${text}" ${begin} -1 text)
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n\"" text "${text}")
string(REGEX REPLACE "\"?//// ([a-z_]+)\\\\n\"" ";\n\nstatic const char \\1[] =" text "${text}")
string(REGEX REPLACE "^;\n\n" "" text "${text}")
file(WRITE ${OUT} "/* Made by cmake/EmbedText.cmake of ${name}. */\n${text}\";\n")

# Boxes of 64 x 64 elements of transposed B become two each, the second one %below in k; of the second panel,
# where %is_whole.
s/box = \[64, 64\]/box = [64, 32]/
s/^ *(copy\.tma .*, )(%[0-9]+), (%[0-9]+), %full \{bytes = 8192, offset = 0\}/\
%k32: i32 = const {value = 32}\
%k: i32 = add \3, %c0\
%below: i32 = add \3, %k32\
\1\2, \3, %full {bytes = 4096, offset = 0}\
\1\2, %below, %full {bytes = 4096, offset = 4096}/
s/^ *(copy\.tma .*, )(%[0-9]+), (%[0-9]+), %full \{bytes = 8192, offset = 8192\}/\
%far: i32 = add \2, %k32\
%is_whole: i1 = cmp %far, %n {pred = lt}\
%half: i32 = select %is_whole, %below, %below\
\1\2, \3, %full {bytes = 4096, offset = 8192}\
\1\2, %half, %full {bytes = 4096, offset = 12288}/

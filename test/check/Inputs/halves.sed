# Splits each 64 x 64 box of transposed B in two; the second half begins at %below in k.
# In the second panel, %is_whole selects the coordinate of the second half.
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

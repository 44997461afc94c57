#!/bin/sh
# man.sh HEDDLE: its manual page, of its help texts.
set -eu
plain() { sed 's/\\/\\e/g; s/-/\\-/g; s/^\([.'"'"']\)/\\\&\1/'; }
"$1" --version | sed 's/\(.*\) \(.*\)/.TH \1 1 "" "\1 \2"/'
echo '.SH NAME'
"$1" --help | sed -n '1s/: / \\- /p'
printf '.SH DESCRIPTION\n.nf\n'
"$1" --help | sed 1,2d | plain
for command in $("$1" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
  printf '.SH %s\n.nf\n' "$command"
  "$1" help "$command" | plain
done

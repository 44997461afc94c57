#!/bin/sh
# man.sh TOOL: prints the manual page of a tool, made from its help texts.
set -eu
plain() { sed 's/\\/\\e/g; s/-/\\-/g; s/^\([.'"'"']\)/\\\&\1/'; }
"$1" --version | head -n 1 | sed 's/\(.*\) \(.*\)/.TH \1 1 "" "\1 \2"/'
echo '.SH NAME'
name=$("$1" --version | sed 's/ .*//; q')
case $("$1" --help | sed q) in
"$name: "*) # a tool of commands
  "$1" --help | sed -n '1s/: / \\- /p'
  skipped=1,2d ;;
*) # its first sentence
  "$1" --help | sed 1,2d | tr '\n' ' ' | sed "s/\([.:]\) .*//; s/^/$name \\\\- /"
  echo
  skipped= ;;
esac
printf '.SH DESCRIPTION\n.nf\n'
"$1" --help | sed "$skipped" | plain
"$1" --help | grep -q '^Commands:' || exit 0
for command in $("$1" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
  printf '.SH %s\n.nf\n' "$command"
  "$1" help "$command" | plain
done

#compdef heddle
# Completion of `heddle` for zsh: the tool itself says what a word may become, files where it says nothing.
_heddle() {
  local -a found
  found=("${(@f)$("${words[1]}" --complete "${(@)words[2,CURRENT]}" 2> /dev/null)}")
  found=("${(@)found:#}")
  if (( $#found )); then compadd -a found; else _files; fi
}
_heddle "$@"

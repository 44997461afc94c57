# Completion of `heddle` for bash: the tool itself says what a word may become, files where it says nothing.
_heddle() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do COMPREPLY+=("$line"); done \
    < <("$1" --complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$2" 2> /dev/null)
}
complete -o default -F _heddle heddle

# Completion of `heddle` for bash, read from the help texts of the tool that is completed.
_heddle() {
  local tool=$1 word=$2 command=${COMP_WORDS[1]} words=
  if ((COMP_CWORD == 1)); then
    words="help --help --version $("$tool" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p')"
  elif [[ $command == help ]]; then
    words=$("$tool" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
  elif [[ $word == -* ]]; then
    words="--help $("$tool" help "$command" 2> /dev/null | sed -n 's/^  \(--*[a-z-]*\) .*/\1/p')"
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _heddle heddle

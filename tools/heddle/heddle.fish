# Completion of `heddle` for fish: the tool itself says what a word may become, files where it says nothing.
function __heddle_complete
    set -l found (heddle --complete (commandline -opc)[2..] (commandline -ct) 2> /dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c heddle -f -a '(__heddle_complete)'

# Completion of b2frame in fish. Which subcommands and options there are its --help says, so that
# nothing here goes stale; values of options stand here.

function __b2frame_help
    command b2frame $argv --help 2>/dev/null
end

# What --help calls the value of the option before the cursor; nothing where it has none.
function __b2frame_value
    set -l words (commandline -opc)
    set -q words[3]; and string match -q -- '-*' $words[-1]; or return 1
    __b2frame_help $words[2] | string match -rg -- "^  (?:-\w, )?$words[-1] (\S+)"
end

function __b2frame_takes_file
    set -l words (commandline -opc)
    set -q words[2]; or return 1
    set -l value (__b2frame_value)
    or return 0
    contains -- $value FILE OUT DIR NAME=FILE
end

function __b2frame_filters
    set -l before (commandline -ct | string match -rg -- '^(.*[+,])')
    for name in shuffle bitshuffle delta bytedelta trunc_prec: int_trunc: ndcell: ndmean:
        echo "$before$name"
    end
    test -n "$before"; or echo none
end

function __b2frame_candidates
    set -l words (commandline -opc)
    if not set -q words[2]
        __b2frame_help | string replace -rf -- '^  (?:-\w, )?([-a-z]+)  +(.*)$' '$1\t$2'
        return
    end
    switch "$(__b2frame_value)"
        case 'NAME?:META?' 'CODEC|auto'
            printf '%s\n' blosclz lz4 lz4hc zlib zstd ndlz:4 ndlz:8 zfp_accuracy: zfp_precision: zfp_rate:
            string match -q '*auto' -- "$(__b2frame_value)"
            and printf '%s\n' auto auto:ratio auto:balanced auto:speed
        case LIST
            __b2frame_filters
        case 'zeros|leave-out'
            printf '%s\n' zeros leave-out
        case LEVEL
            seq 0 9
        case ''
            __b2frame_help $words[2] |
                string replace -rf -- '^  (?:-\w, )?(-[-a-z]+)(?: \S+)?(?:  +(.*))?$' '$1\t$2'
    end
end

complete -c b2frame -f -n 'not __b2frame_takes_file'
complete -c b2frame -a '(__b2frame_candidates)'

# Completion of bloscfs in fish. Which options there are its --help says, so that nothing here goes
# stale; values of mount options stand here.

function __bloscfs_in_list
    set -l words (commandline -opc)
    test "$words[-1]" = -o
end

function __bloscfs_values
    switch $argv[1]
        case codec
            printf '%s\n' blosclz lz4 lz4hc zlib zstd ndlz:4 ndlz:8 auto auto:ratio auto:speed
        case filters
            printf '%s\n' none shuffle bitshuffle delta delta+shuffle bytedelta trunc_prec: int_trunc:
        case suffix
            printf '%s\n' .b2frame .b2f .b2 .b2nd .blp
        case sync
            printf '%s\n' group strict
        case sandbox
            printf '%s\n' auto off require
        case unsupported
            printf '%s\n' error hide raw
        case clevel
            seq 0 9
        case cache_size
            printf '%s\n' 256M 512M 1G
        case log cafile netrc
            __fish_complete_path (commandline -ct | string match -rg -- '=([^=,]*)$') | string replace -r '\t.*' ''
        case disk_cache rescue
            __fish_complete_directories (commandline -ct | string match -rg -- '=([^=,]*)$') '' | string replace -r '\t.*' ''
    end
end

# Mount options, with = where a value follows, and what they are for.
function __bloscfs_mount_options
    set -l part
    for row in (command bloscfs --help 2>/dev/null)
        if string match -qr -- '^\S' $row
            set part $row
        else if string match -q -- 'Mount options:' $part
            string replace -rf -- '^  ([a-z]\S*) +(.*)$' '$1\t$2' $row
        else if string match -q -- 'As in mount*' $part
            string match -ra -- '\S+' $row
        end
    end
end

function __bloscfs_mountpoints
    command bloscfs --list 2>/dev/null | string replace -rf -- '^(/\S*) .*$' '$1'
end

function __bloscfs_list
    set -l before (commandline -ct | string match -rg -- '^(.*,)')
    set -l last (commandline -ct | string replace -r -- '^.*,' '')
    if string match -q -- '*=*' $last
        set -l name (string replace -r -- '=.*' '' $last)
        for value in (__bloscfs_values $name)
            echo "$before$name=$value"
        end
    else
        for option in (__bloscfs_mount_options)
            echo "$before$option"
        end
    end
end

complete -c bloscfs -f -n __bloscfs_in_list -a '(__bloscfs_list)'
complete -c bloscfs -n 'not __bloscfs_in_list' -a '(command bloscfs --help 2>/dev/null |
    string replace -rf -- "^  (?:-h, |-V, )?(-[-a-z]+)(?: [A-Z]\S+)?  +(.*)\$" "\$1\t\$2")'
complete -c bloscfs -n 'not __bloscfs_in_list' -a '-ro\t"mount read-only" -rw\t"mount for writing"'
complete -c bloscfs -x -l unmount -d "commit everything, then unmount" -a '(__bloscfs_mountpoints)'
complete -c bloscfs -x -l stats -d "show the activity of a mount" -a '(__bloscfs_mountpoints)'

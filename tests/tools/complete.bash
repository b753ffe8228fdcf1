#!/usr/bin/env bash
# What bash offers for a command line, one word a line: complete.bash FOLDER LINE.
source "$1/b2frame.bash"
source "$1/bloscfs.bash"
COMP_LINE=$2 COMP_POINT=${#2}
read -ra COMP_WORDS <<<"$2"
program=${COMP_WORDS[0]}
COMP_CWORD=${#COMP_WORDS[@]}
"_$program" "$program"
printf '%s\n' "${COMPREPLY[@]}"

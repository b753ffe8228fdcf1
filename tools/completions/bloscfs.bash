# Completion of bloscfs in bash. Which options there are its --help says, so that nothing here goes
# stale; values of mount options stand here.

# Mount options, with = where a value follows.
_bloscfs_mount_options() {
  "$1" --help 2>/dev/null | awk '
    /^[^ ]/ { part = $0 }
    part ~ /^Mount options/ && /^  [a-z]/ { print $1 }
    part ~ /^As in mount/ && /^  / { for (i = 1; i <= NF; i++) print $i }'
}

_bloscfs_values() {
  case $1 in
    codec) echo blosclz lz4 lz4hc zlib zstd ndlz:4 ndlz:8 auto auto:ratio auto:speed ;;
    filters) echo none shuffle bitshuffle delta delta+shuffle bytedelta trunc_prec: int_trunc: ;;
    suffix) echo .b2frame .b2f .b2 .b2nd .blp ;;
    sync) echo group strict ;;
    sandbox) echo auto off require ;;
    unsupported) echo error hide raw ;;
    clevel) echo {0..9} ;;
    cache_size) echo 256M 512M 1G ;;
  esac
}

_bloscfs_mountpoints() {
  "$1" --list 2>/dev/null | awk 'NR > 1 { print $1 }'
}

_bloscfs() {
  local program=${1/#\~/$HOME} line=${COMP_LINE:0:COMP_POINT}
  local words cur last name
  # By blanks alone: bash cuts at = and :, too.
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  cur=${words[-1]}
  COMPREPLY=()
  if [[ ${words[-2]} == -o ]]; then
    last=${cur##*,} name=${cur##*,}
    name=${name%%=*}
    if [[ $last != *=* ]]; then
      mapfile -t COMPREPLY < <(compgen -P "${cur%"$last"}" -W "$(_bloscfs_mount_options "$program")" -- "$last")
      compopt -o nospace 2>/dev/null
    elif [[ $name == @(log|cafile|netrc|disk_cache) ]]; then
      return  # readline completes files
    else
      # Only what follows the = is replaced.
      mapfile -t COMPREPLY < <(compgen -W "$(_bloscfs_values "$name")" -- "${last#*=}")
      if [[ $last == *:* ]]; then COMPREPLY=("${COMPREPLY[@]#*:}"); fi
      compopt -o nospace 2>/dev/null
    fi
    [[ ${COMPREPLY[*]} ]] || compopt +o default 2>/dev/null
  elif [[ ${words[-2]} == --@(unmount|stats) ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_bloscfs_mountpoints "$program")" -- "$cur")
    compopt +o default 2>/dev/null
  elif [[ $cur == -* ]]; then
    local options
    options=$("$program" --help 2>/dev/null |
      sed -nE 's/^  (-[A-Za-z])(, (--[a-z]+))?( .*)?$/\1 \3/p; s/^  (--[a-z]+)( .*)?$/\1/p')
    mapfile -t COMPREPLY < <(compgen -W "$options -ro -rw" -- "$cur")
  fi
}

complete -o default -F _bloscfs bloscfs

# Completion of b2frame in bash. Which subcommands and options there are its --help says, so that
# nothing here goes stale; values of options stand here.

# The words that begin the rows of a --help.
_b2frame_words() {
  "$@" --help 2>/dev/null | sed -nE 's/^  (-[A-Za-z], )?([-a-z][-a-z]*)( .*)?$/\2/p'
}

# What --help calls the value of an option; nothing where it has none.
_b2frame_value() {
  local option=$1
  shift
  "$@" --help 2>/dev/null | sed -nE "s/^  (-[A-Za-z], )?$option ([^ ]+)( .*)?\$/\\2/p"
}

_b2frame() {
  local program=${1/#\~/$HOME} line=${COMP_LINE:0:COMP_POINT}
  local words cur prev subcommand choices
  # By blanks alone: bash cuts at = and :, too.
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  cur=${words[-1]} prev=${words[-2]} subcommand=${words[1]}
  COMPREPLY=()
  if ((${#words[@]} <= 2)); then
    choices=$(_b2frame_words "$program")
    [[ $cur == -* ]] || choices=${choices//--*/}
  elif [[ $prev == -* && $prev != -r ]]; then
    case $(_b2frame_value "$prev" "$program" "$subcommand") in
      "NAME[:META]" | "CODEC|auto")
        choices="blosclz lz4 lz4hc zlib zstd ndlz:4 ndlz:8 zfp_accuracy: zfp_precision: zfp_rate:"
        [[ $subcommand != create ]] || choices+=" auto auto:ratio auto:balanced auto:speed" ;;
      LIST)
        local before=
        [[ $cur == *[+,]* ]] && before=${cur%"${cur##*[+,]}"}
        choices="shuffle bitshuffle delta bytedelta trunc_prec: int_trunc: ndcell: ndmean:"
        [[ $before ]] || choices+=" none"
        choices=$(printf "$before%s " $choices) ;;
      'zeros|leave-out') choices="zeros leave-out" ;;
      LEVEL) choices=$(echo {0..9}) ;;
      FILE | OUT | DIR | NAME=FILE) return ;;  # readline completes files
      "") choices= ;;
      *) compopt +o default 2>/dev/null; return ;;
    esac
  fi
  if [[ $cur == -* && ! $choices ]]; then choices=$(_b2frame_words "$program" "$subcommand"); fi
  mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$cur")
  [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *: ]] || compopt -o nospace 2>/dev/null
  # Only what follows the last : is replaced.
  if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*:}"}"}"); fi
}

complete -o default -F _b2frame b2frame

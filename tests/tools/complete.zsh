#!/usr/bin/env zsh
# What a zsh shows on its terminal when two tabs follow a command line: complete.zsh FOLDER LINE.
zmodload zsh/zpty
zpty shell "TERM=dumb PS1='> ' zsh -f -i"
zpty -w shell "stty -echo cols 200 rows 300; LISTMAX=1000; unsetopt beep
  fpath=($1 \$fpath); autoload -Uz compinit; compinit -D -u; print rea''dy"
# The second of these is what its line editor begins with.
zpty -r shell output '*ready*\[?2004h*'
zpty -n -w shell "$2"$'\t\t'
# Typed ahead: the shell reads it when it has shown what there is.
zpty -w shell $'\x15'"print do''ne"
zpty -r shell output '*done*'
print -r -- ${output//$'\r'/}
zpty -d shell

#!/bin/bash
# Plays a ptxas without -split-compile: refuses the option with the message of ptxas, otherwise runs $PTXAS.
for word in "$@"; do
  if [[ $word == -split-compile* ]]; then
    echo "ptxas fatal   : Unknown option '${word%%=*}'" >&2
    exit 255
  fi
done
exec "$PTXAS" "$@"

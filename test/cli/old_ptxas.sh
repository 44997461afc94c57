#!/bin/bash
# Acts as a ptxas of before -split-compile: refuses it in ptxas' words, else runs $PTXAS.
for word in "$@"; do
  if [[ $word == -split-compile* ]]; then
    echo "ptxas fatal   : Unknown option '${word%%=*}'" >&2
    exit 255
  fi
done
exec "$PTXAS" "$@"

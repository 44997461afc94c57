#!/usr/bin/env bash
# From a fresh clone to a verified result: installs what is missing, builds all into build/ (the tests
# too, for `ctest --preset default` after it), then compiles the 4096 x 4096 x 512 bf16 problem for
# Hopper, runs it and compares it with the double-precision product: on the device when there is one,
# otherwise a small instance of it in the simulator.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/install_packages.sh
echo "configuring and building into build/ (about a minute of two cores)"
cmake --preset default > /dev/null
cmake --build --preset default
echo
echo "build/bin/heddle run examples/linear_bf16.heddle"
build/bin/heddle run examples/linear_bf16.heddle
echo "next: ctest --preset default; build/bin/heddle --help; examples/README.md"

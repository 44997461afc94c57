#!/usr/bin/env bash
# From a fresh clone to a verified result: installs missing packages, builds everything in build/
# (with the tests, for tools/run_tests.sh), then compiles the 4096 x 4096 x 512 bf16 problem for
# Hopper, runs it, and compares the result with the double-precision product. It runs on a device if
# there is one, otherwise a small instance runs in the simulator.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/install_packages.sh
echo "configuring and building into build/ (about a minute of two cores)"
cmake --preset default > /dev/null
cmake --build --preset default
echo
echo "build/bin/heddle run examples/linear_bf16.heddle"
build/bin/heddle run examples/linear_bf16.heddle
echo "next: bash tools/run_tests.sh; build/bin/heddle --help; examples/README.md"

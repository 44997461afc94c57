#!/usr/bin/env bash
# After tools/quickstart.sh: installs what only tests need, then runs them all: those of build/, with
# arguments for ctest (-j 8, -R unit), the Python package with NumPy from PyPI, and the pages, which
# Sphinx builds. Some minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/install_packages.sh spin faketime postgresql chromium nginx-light doxygen python3-venv zlib1g-dev
ctest --preset default --no-tests=error "$@"
test/python/in_a_venv
docs/site/in_a_venv build/site

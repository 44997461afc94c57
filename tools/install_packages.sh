#!/usr/bin/env bash
# Installs missing build dependencies of Heddle on Debian 12. Arguments: additional packages
# (zlib1g-dev for the static-llvm preset).
set -euo pipefail
packages=(gcc g++ cmake ninja-build pkg-config python3
          llvm-22 llvm-22-dev llvm-22-tools libffi-dev libjansson-dev libxxhash-dev libzstd-dev libsqlite3-dev
          libcurl4-openssl-dev libmicrohttpd-dev libpq-dev libsodium-dev libcmocka-dev "$@")
missing=()
for package in "${packages[@]}"; do
  if ! dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q "install ok installed"; then
    missing+=("$package")
  fi
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi
echo "installing ${missing[*]}"
root=()
if [ "$(id -u)" != 0 ]; then
  root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${root[@]}" apt-get -q update
"${root[@]}" apt-get -q install -y --no-install-recommends "${missing[@]}"

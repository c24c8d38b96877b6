#!/usr/bin/env bash
# Install a release in a virtual environment, each package with the hash that the lock file names.
#
#   install.sh RELEASE VENV
#
# RELEASE is an unpacked bundle. Nothing is downloaded.
set -euo pipefail
[ $# = 2 ] || { echo "usage: install.sh RELEASE VENV" >&2; exit 2; }
release=$1 venv=$2
shopt -s nullglob
own=("$release"/wheels/gougi-*.whl)
[ "${#own[@]}" = 1 ] || { echo "install.sh: $release/wheels: expected one gougi-*.whl, found ${#own[@]}" >&2; exit 1; }

python3.11 -m venv --clear "$venv"
pip=("$venv/bin/python" -m pip --disable-pip-version-check --no-cache-dir --quiet)
"${pip[@]}" install --no-compile --no-index --find-links "$release/wheels" --require-hashes --requirement "$release/requirements.lock"
"${pip[@]}" install --no-compile --no-index --no-deps "${own[0]}"
# Bytecode is two thirds of an installation's CPU time, and pip would use one core. Files that do not compile are never run.
"$venv/bin/python" -m compileall -q -j 0 "$venv"/lib/python3.11/site-packages >/dev/null || true
"$venv/bin/gougi" --version

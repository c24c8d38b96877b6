#!/usr/bin/env bash
# Make a release, which a machine without Internet access can install. Run this from a checkout, on the user's machine.
#
#   deploy/scripts/bundle.sh OUT.tar
#
# It contains deploy/, the lock file, its wheels for CPython 3.11 on x86-64 Linux, each with its hash, and gougi's own wheel.
# The same checkout gives the same bytes, so the hash identifies a release.
set -euo pipefail
[ $# = 1 ] || { echo "usage: bundle.sh OUT.tar" >&2; exit 2; }
out=$(realpath -m "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=${PYTHON:-$here/.venv/bin/python}
[ -x "$python" ] || { echo "bundle.sh: $python: no such Python; 'make venv' makes it, or set PYTHON" >&2; exit 1; }

work=$(mktemp -d -t gougi-bundle.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir "$work/release"
export SOURCE_DATE_EPOCH=315532800 PIP_DISABLE_PIP_VERSION_CHECK=1

"$python" -m pip download --quiet --require-hashes --only-binary :all: --no-deps \
  --implementation cp --python-version 3.11 --abi cp311 --abi abi3 --abi none \
  --platform manylinux_2_34_x86_64 --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 \
  --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
  --dest "$work/release/wheels" --requirement "$here/requirements.lock"
"$python" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$work/release/wheels" "$here"
cp "$here/requirements.lock" "$work/release/"
cp -r "$here/deploy" "$work/release/"

tar --sort=name --mtime=@315532800 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
  -cf "$work/release.tar" -C "$work/release" .
mkdir -p "$(dirname "$out")"
mv "$work/release.tar" "$out"
echo "$(sha256sum <"$out" | cut -c1-16) $(du -h "$out" | cut -f1) $out"

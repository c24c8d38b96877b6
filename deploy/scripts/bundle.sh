#!/usr/bin/env bash
# Make a release, which a machine without Internet access can install. Run this from a checkout, on the user's machine.
#
#   deploy/scripts/bundle.sh OUT.tar
#
# It is a tar, compressed with gzip, which a machine unpacks in /opt/gougi: release/deploy, and venv with all packages of the
# lock file for CPython 3.11 on x86-64 Linux, whose hashes are checked here, and gougi. install.sh adds Python to it.
# The same checkout gives the same bytes, so the hash identifies a release.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# = 1 ] || { echo "usage: bundle.sh OUT.tar" >&2; exit 2; }
out=$(realpath -m "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=${PYTHON:-$here/.venv/bin/python}
[ -x "$python" ] || die "$python: no such Python; 'make venv' makes it, or set PYTHON"

work=$(mktemp -d -t gougi-bundle.XXXXXX)
trap 'rm -rf "$work"' EXIT
packages=$work/all/venv/lib/python3.11/site-packages programs=$work/all/venv/bin
mkdir -p "$work/all/release" "$packages" "$programs"
export SOURCE_DATE_EPOCH=315532800 PIP_DISABLE_PIP_VERSION_CHECK=1

"$python" -m pip install --quiet --no-compile --require-hashes --only-binary :all: --no-deps \
  --implementation cp --python-version 3.11 --abi cp311 --abi abi3 --abi none \
  --platform manylinux_2_34_x86_64 --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 \
  --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
  --target "$packages" --requirement "$here/requirements.lock"
"$python" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$work" "$here"
"$python" -m zipfile --extract "$work"/gougi-*.whl "$packages"
# pip's own programs name the Python of this machine; the jars are for Java.
rm -rf "${packages:?}/bin" "$packages/ray/jars"
for program in gougi=gougi.__main__ ray=ray.scripts.scripts; do
  printf '#!%s/bin/python\nimport sys\nfrom %s import main\nsys.exit(main())\n' "$VENV" "${program#*=}" >"$programs/${program%=*}"
done
chmod 0755 "$programs"/*
# Bytecode fits one version of Python only. Files that do not compile are never run.
if "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then
  "$python" -m compileall -q -j 0 -s "$work/all" -p "${VENV%/*}" --invalidation-mode unchecked-hash "$packages" >/dev/null || true
fi
cp -r "$here/deploy" "$work/all/release/"

tar --sort=name --mtime=@315532800 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C "$work/all" -c . |
  gzip --no-name --fast >"$work/release.tar"
mkdir -p "$(dirname "$out")"
mv "$work/release.tar" "$out"
echo "$(sha256sum <"$out" | cut -c1-16) $(du -h "$out" | cut -f1) $out"

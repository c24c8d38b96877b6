#!/usr/bin/env bash
# Make a machine the source of an image, as root: a machine that starts from it installs nothing if the release is the same.
#
#   image.sh RELEASE.tar
#
# deploy/image.pkr.hcl runs it on a machine of AWS.
set -euo pipefail
[ $# = 1 ] || { echo "usage: image.sh RELEASE.tar" >&2; exit 2; }
rm -rf /opt/gougi
install -d -m 0755 /opt/gougi
tar -xzf "$1" -C /opt/gougi --no-same-owner
/opt/gougi/release/deploy/scripts/install.sh
# For the CPU level of this machine. Another one compiles again, or takes the head's.
runuser -u gougi -- env GOUGI_CACHE_DIR=/var/cache/gougi /opt/gougi/venv/bin/gougi warm
sha256sum <"$1" | cut -d ' ' -f 1 >/opt/gougi/release.sha256

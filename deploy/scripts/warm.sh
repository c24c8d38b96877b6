#!/usr/bin/env bash
# Compile the searcher for this machine's CPU, once, before several processes need it. A worker of the AWS fleet first tries
# the code that its head compiled (boot.sh fetches it). Code for another CPU or other versions is refused; then it compiles.
set -euo pipefail
gougi=${GOUGI:-/opt/gougi/venv/bin/gougi}
state=${STATE:-/var/lib/gougi}

theirs=$state/code/searcher.pack ours=$state/kept/code/searcher.pack
if [ -r "$theirs" ] && "$gougi" warm --unpack "$theirs"; then exit 0; fi
[ "${FLEET_ROLE:-}" = head ] || exec "$gougi" warm
"$gougi" warm
# keep-records.sh copies it to the bucket, for workers that join later.
if [ ! -e "$ours" ]; then
  mkdir -p "${ours%/*}"
  "$gougi" warm --pack "$ours" || echo "warm.sh: the compiled code stays here" >&2
fi

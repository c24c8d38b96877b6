#!/usr/bin/env bash
# Dismiss this machine's node processes, and wait until the master has dealt their work to others (at most 5 s). Run it
# before the unit or the container that runs Ray is stopped. Nodes report their state in $GOUGI_RUN_DIR
# (cluster/machine/presence.py).
set -euo pipefail
shopt -s nullglob
run=${GOUGI_RUN_DIR:?}

pids=()
for file in "$run"/node-*.json; do
  pid=${file##*/node-}
  pid=${pid%.json}
  # Only live processes of this user: a file may outlive its process.
  if [ -O "/proc/$pid" ] && kill -TERM "$pid" 2>/dev/null; then pids+=("$pid"); fi
done
for _ in {1..50}; do
  left=0
  for pid in "${pids[@]}"; do
    if [ -d "/proc/$pid" ] && ! grep -qsE '"state": ?"dismissed"' "$run/node-$pid.json"; then left=$((left + 1)); fi
  done
  [ "$left" = 0 ] && exit 0
  sleep 0.1
done
echo "drain.sh: $left of ${#pids[@]} nodes were not dismissed within 5 s" >&2

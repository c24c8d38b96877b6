#!/usr/bin/env bash
# Exit code 0 if Ray's port on this machine answers.
#
#   healthcheck.sh head | node
set -euo pipefail
case "${1:-}" in
  head) port=6379 ;;
  node) port=6380 ;;
  *) echo "usage: healthcheck.sh head | node" >&2; exit 2 ;;
esac
read -r -a addresses <<<"$(hostname -I)"
exec timeout 2 bash -c "exec 3<>/dev/tcp/${RAY_NODE_ADDRESS:-${addresses[0]}}/$port"

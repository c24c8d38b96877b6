#!/usr/bin/env bash
# The entry point of gougi's container.
#
#   container.sh head              Ray's head
#   container.sh node ADDRESS N    a worker: compiles the searcher, then joins the head with N node processes
#   container.sh health            check that Ray answers here (head or worker)
#   container.sh COMMAND…          anything else: gougi COMMAND…
#
# The token is in a file, RAY_AUTH_TOKEN_PATH. After SIGTERM a worker first dismisses its node processes.
set -euo pipefail
scripts=$(dirname "$(realpath "${BASH_SOURCE[0]}")")

case "${1:-}" in
  head) exec "$scripts/ray.sh" head ;;
  health)
    "$scripts/healthcheck.sh" node
    ;;
  node)
    # Bash is process 1 here. It gets only the signals that it has a trap for, and only during `wait`. It passes SIGTERM on
    # after the nodes are dismissed; while the searcher compiles there are none.
    child='' ended=''
    pass_on() { [ -z "$ended" ] || [ -z "$child" ] || kill -TERM "$child" 2>/dev/null || true; }
    trap 'ended=yes; "$scripts/drain.sh" || true; pass_on' TERM
    await() {
      while kill -0 "$child" 2>/dev/null; do wait "$child" || true; done
      wait "$child" # bash remembers how it ended
    }
    "$scripts/warm.sh" &
    child=$!
    pass_on # a signal that came before the process was known
    await || exit
    [ -z "$ended" ] || exit 143
    "$scripts/ray.sh" "$@" &
    child=$!
    pass_on
    await
    ;;
  *) exec "${GOUGI:-/opt/gougi/venv/bin/gougi}" "$@" ;;
esac

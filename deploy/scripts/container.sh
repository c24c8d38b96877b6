#!/usr/bin/env bash
# What a container of gougi is.
#
#   container.sh head              Ray's head
#   container.sh node ADDRESS N    a worker: compiles the searcher, then joins the head with N node processes
#   container.sh health            whether Ray here answers (head or worker)
#   container.sh COMMAND…          anything else: gougi COMMAND…
#
# The token is a file, RAY_AUTH_TOKEN_PATH. SIGTERM to a worker sends its node processes away first.
set -euo pipefail
scripts=$(dirname "$(realpath "${BASH_SOURCE[0]}")")

case "${1:-}" in
  head) exec "$scripts/ray.sh" head ;;
  health)
    "$scripts/healthcheck.sh" node
    ;;
  node)
    # Bash is process 1 here, which hears only the signals that it has a trap for, and only in `wait`. It passes SIGTERM on
    # when the nodes are dismissed; while the searcher is compiled there are none.
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

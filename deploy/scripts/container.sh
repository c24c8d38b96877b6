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
    "$scripts/warm.sh"
    "$scripts/ray.sh" "$@" &
    ray=$!
    # Bash is process 1 here: it hears SIGTERM in `wait`, and passes it on when the nodes are dismissed.
    trap '"$scripts/drain.sh" || true; kill -TERM "$ray"' TERM
    while kill -0 "$ray" 2>/dev/null; do wait "$ray" || true; done
    code=0
    wait "$ray" || code=$? # bash remembers how it ended
    exit "$code"
    ;;
  *) exec "${GOUGI:-/opt/gougi/venv/bin/gougi}" "$@" ;;
esac

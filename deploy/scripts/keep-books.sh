#!/usr/bin/env bash
# On the head, before keep-records.sh and after the master has ended: copy the books that learn from games for it.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -d "$STATE/books" ] || exit 0
# The timer and the master's end may run this at the same time.
mkdir -p "$STATE/kept"
exec 9>"$STATE/kept/.books"
flock 9
exec "$VENV/bin/python" "$(dirname "${BASH_SOURCE[0]}")/copy_books.py" "$STATE/books" "$STATE/kept/books"

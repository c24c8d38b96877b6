#!/usr/bin/env bash
# On the head, after the master has ended: copy the books that learn from games, for keep-records.sh.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -d "$STATE/books" ] || exit 0
exec "$VENV/bin/python" "$(dirname "${BASH_SOURCE[0]}")/copy_books.py" "$STATE/books" "$STATE/kept/books"

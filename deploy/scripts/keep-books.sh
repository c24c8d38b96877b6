#!/usr/bin/env bash
# On the head, when the master has ended: whole copies of the books that learn from games; keep-records.sh takes them.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -d "$STATE/books" ] || exit 0
exec "$VENV/bin/python" "$(dirname "${BASH_SOURCE[0]}")/copy_books.py" "$STATE/books" "$STATE/kept/books"

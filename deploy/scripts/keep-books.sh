#!/usr/bin/env bash
# On the head, when the master has ended: books that learn from games go to the bucket. (Records and logs: gougi fleet keep.)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
read_facts
[ -d "$STATE/books" ] || exit 0
copies=$STATE/books-copied
trap 'rm -rf "$copies"' EXIT
code=0
"$VENV/bin/python" "$(dirname "${BASH_SOURCE[0]}")/copy_books.py" "$STATE/books" "$copies" || code=$?
# Shorter than the unit's TimeoutStopSec; what does not get there goes the next time, for the books here are the newer ones.
again 40 aws s3 sync "$copies/" "s3://$FLEET_BUCKET/books/" --region "$FLEET_REGION" --only-show-errors
exit "$code"

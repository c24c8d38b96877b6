#!/usr/bin/env bash
# On the head, when the master has ended: the end of its last game and of its log go to the bucket, then the books that
# learn from games.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
read_facts
here=$(dirname "${BASH_SOURCE[0]}")
code=0
"$here/keep-records.sh" || code=$?
[ -d "$STATE/books" ] || exit "$code"
copies=$STATE/books-copied
trap 'rm -rf "$copies"' EXIT
"$VENV/bin/python" "$here/copy_books.py" "$STATE/books" "$copies" || code=$?
# Shorter than the unit's TimeoutStopSec; what does not get there goes the next time, for the books here are the newer ones.
options=(--region "$FLEET_REGION" --only-show-errors)
again 40 aws s3 sync "$copies/" "s3://$FLEET_BUCKET/$FLEET_NAME/books/" "${options[@]}" || code=$?
exit "$code"

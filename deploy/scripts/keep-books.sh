#!/usr/bin/env bash
# On the head, when the master has ended: the end of its last game and of its log go to the bucket, for gougi fleet keep,
# which copies these, may have ended before it; then the books that learn from games.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
read_facts
code=0
options=(--region "$FLEET_REGION" --only-show-errors)
if [ -d "$STATE/records" ]; then
  only=("${options[@]}" --exclude '*')
  aws s3 sync "$STATE/records/" "s3://$FLEET_BUCKET/$FLEET_NAME/records/" "${only[@]}" --include '*.csa' || code=$?
  aws s3 sync "$STATE/records/" "s3://$FLEET_BUCKET/$FLEET_NAME/logs/" "${only[@]}" --include 'gougi-*.jsonl*' || code=$?
fi
[ -d "$STATE/books" ] || exit "$code"
copies=$STATE/books-copied
trap 'rm -rf "$copies"' EXIT
"$VENV/bin/python" "$(dirname "${BASH_SOURCE[0]}")/copy_books.py" "$STATE/books" "$copies" || code=$?
# Shorter than the unit's TimeoutStopSec; what does not get there goes the next time, for the books here are the newer ones.
again 40 aws s3 sync "$copies/" "s3://$FLEET_BUCKET/$FLEET_NAME/books/" "${options[@]}" || code=$?
exit "$code"

#!/usr/bin/env bash
# On the head: game records, logs and books to the bucket. Every five minutes (gougi-records.timer), when the master has
# ended, and at a shutdown.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
read_facts
code=0
only=(--region "$FLEET_REGION" --only-show-errors)
if [ -d "$STATE/records" ]; then
  aws s3 sync "$STATE/records/" "s3://$FLEET_BUCKET/$FLEET_NAME/records/" "${only[@]}" --exclude '*' --include '*.csa' || code=$?
  aws s3 sync "$STATE/records/" "s3://$FLEET_BUCKET/$FLEET_NAME/logs/" "${only[@]}" --exclude '*' --include 'gougi-*.jsonl*' || code=$?
fi
if [ -d "$STATE/kept/books" ]; then
  aws s3 sync "$STATE/kept/books/" "s3://$FLEET_BUCKET/$FLEET_NAME/books/" "${only[@]}" || code=$?
fi
exit "$code"

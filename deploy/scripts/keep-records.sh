#!/usr/bin/env bash
# On the head: copy game records, logs, books and the compiled searcher to the bucket. Runs every five minutes
# (gougi-records.timer), after the master has ended, and at a shutdown.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
read_facts
status=0
only=(--region "$FLEET_REGION" --only-show-errors)
if [ -d "$STATE/records" ]; then
  aws s3 sync "$STATE/records/" "s3://$FLEET_BUCKET/$FLEET_NAME/records/" "${only[@]}" --exclude '*' --include '*.csa' || status=$?
  aws s3 sync "$STATE/records/" "s3://$FLEET_BUCKET/$FLEET_NAME/logs/" "${only[@]}" --exclude '*' --include 'gougi-*.jsonl*' || status=$?
fi
if [ -d "$STATE/kept/books" ]; then
  aws s3 sync "$STATE/kept/books/" "s3://$FLEET_BUCKET/$FLEET_NAME/books/" "${only[@]}" || status=$?
fi
if [ -d "$STATE/kept/code" ]; then
  aws s3 sync "$STATE/kept/code/" "s3://$FLEET_BUCKET/$FLEET_NAME/code/" "${only[@]}" || status=$?
fi
exit "$status"

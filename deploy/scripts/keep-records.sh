#!/usr/bin/env bash
# On the head: game records and logs to the bucket. Every five minutes (gougi-records.timer), and when the master has ended.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
read_facts
[ -d "$STATE/records" ] || exit 0
code=0
only=(--region "$FLEET_REGION" --only-show-errors --exclude '*')
aws s3 sync "$STATE/records/" "s3://$FLEET_BUCKET/$FLEET_NAME/records/" "${only[@]}" --include '*.csa' || code=$?
aws s3 sync "$STATE/records/" "s3://$FLEET_BUCKET/$FLEET_NAME/logs/" "${only[@]}" --include 'gougi-*.jsonl*' || code=$?
exit "$code"

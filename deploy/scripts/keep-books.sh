#!/usr/bin/env bash
# On the head, when the master has ended: books that learn from games go to the bucket. (Records and logs: gougi fleet keep.)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
read_facts
[ ! -d "$STATE/books" ] || aws s3 sync "$STATE/books/" "s3://$FLEET_BUCKET/books/" --region "$FLEET_REGION" --only-show-errors

#!/usr/bin/env bash
# A machine's first boot, as root, after the release was unpacked: install it, and start the units of the machine's role.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
read_facts

case "$FLEET_ROLE" in
  head)
    units=(gougi-head.service gougi-keep.service gougi-records.timer gougi-stop.timer)
    [ -z "$FLEET_PASSWORD_PARAMETER" ] || units+=(gougi-master.service)
    ;;
  node) units=(gougi-node.service gougi-spot-watch.service) ;;
  *) die "FLEET_ROLE: expected head or node, not $FLEET_ROLE" ;;
esac

"$(dirname "${BASH_SOURCE[0]}")/install.sh"

if [ "$FLEET_ROLE" = node ]; then
  # The code that the head compiled, if it has reached the bucket; warm.sh tries it.
  aws s3 sync --only-show-errors --region "$FLEET_REGION" "s3://$FLEET_BUCKET/$FLEET_NAME/code/" "$STATE/code/" ||
    note "no compiled code from the bucket"
fi

systemctl daemon-reload
systemctl enable --now --no-block "${units[@]}"
note "$FLEET_NAME: $FLEET_ROLE installed; started ${units[*]}"

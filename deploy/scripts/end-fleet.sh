#!/usr/bin/env bash
# On the head, as root: the fleet has done its work. No workers any more, and the head shuts itself down; the next
# `gougi fleet up` starts both again.
#
#   end-fleet.sh             now
#   end-fleet.sh when-due    only where AWS has carried out the scheduled action that ends the workers
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
read_facts

if [ "${1:-}" = when-due ]; then
  # No answer is no reason to end: then AWS still ends the workers by itself.
  left=$(aws autoscaling describe-scheduled-actions --region "$FLEET_REGION" --auto-scaling-group-name "$FLEET_ASG" \
    --scheduled-action-names stop --query 'length(ScheduledUpdateGroupActions)' --output text)
  [ "$left" = 0 ] || exit 0
fi
again 60 aws autoscaling set-desired-capacity --region "$FLEET_REGION" --auto-scaling-group-name "$FLEET_ASG" \
  --desired-capacity 0 || note "the workers could not be ended; AWS ends them at the time that was set"
systemctl poweroff

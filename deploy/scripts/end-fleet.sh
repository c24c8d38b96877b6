#!/usr/bin/env bash
# On the head, as root: the fleet has done its work. No workers any more, and the head shuts itself down; the next
# `gougi fleet up` starts both again.
#
#   end-fleet.sh             now
#   end-fleet.sh when-due    only where AWS has carried out the scheduled action that ends the workers
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
read_facts

when=${1:-}

# No answer is no reason to end: then AWS still ends the workers by itself.
is_due() {
  local left
  left=$(aws autoscaling describe-scheduled-actions --region "$FLEET_REGION" --auto-scaling-group-name "$FLEET_ASG" \
    --scheduled-action-names stop --query 'length(ScheduledUpdateGroupActions)' --output text)
  [ "$left" = 0 ]
}

if [ "$when" = when-due ]; then
  is_due || exit 0
  # An apply that starts the clock anew removes the action before it makes the next one.
  sleep 60
  is_due || exit 0
fi
if again 60 aws autoscaling set-desired-capacity --region "$FLEET_REGION" --auto-scaling-group-name "$FLEET_ASG" \
  --desired-capacity 0; then
  # Not due yet, it would stay, and end the next run after what was left of this one's time. Without it the next apply
  # makes another.
  [ "$when" = when-due ] || again 60 aws autoscaling delete-scheduled-action --region "$FLEET_REGION" \
    --auto-scaling-group-name "$FLEET_ASG" --scheduled-action-name stop || note "the clock could not be taken away"
else
  note "the workers could not be ended; AWS ends them at the time that was set"
fi
# The player resigns or logs out, and its last record and its books go to the bucket.
systemctl stop gougi-master.service || note "the player could not be stopped"
systemctl start gougi-records.service || note "not all records are in the bucket"
systemctl poweroff

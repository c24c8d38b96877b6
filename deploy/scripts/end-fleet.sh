#!/usr/bin/env bash
# On the head, as root, when the fleet has done its work: set the number of workers to 0, then shut the head down. The next
# `gougi fleet up` starts both again.
#
#   end-fleet.sh             now
#   end-fleet.sh when-due    only if AWS has carried out the scheduled action that ends the workers
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
read_facts

when=${1:-}

# If AWS does not answer, do nothing: its own scheduler still ends the workers.
is_due() {
  local left
  left=$(aws autoscaling describe-scheduled-actions --region "$FLEET_REGION" --auto-scaling-group-name "$FLEET_ASG" \
    --scheduled-action-names stop --query 'length(ScheduledUpdateGroupActions)' --output text)
  [ "$left" = 0 ]
}

if [ "$when" = when-due ]; then
  is_due || exit 0
  # An apply that restarts the clock removes the action before it makes the next one.
  sleep 60
  is_due || exit 0
fi
if again 60 aws autoscaling set-desired-capacity --region "$FLEET_REGION" --auto-scaling-group-name "$FLEET_ASG" \
  --desired-capacity 0; then
  # If it is not due yet, it would stay and end the next run when this run's time is over. After its removal the next
  # apply makes a new one.
  [ "$when" = when-due ] || again 60 aws autoscaling delete-scheduled-action --region "$FLEET_REGION" \
    --auto-scaling-group-name "$FLEET_ASG" --scheduled-action-name stop || note "the clock could not be taken away"
else
  note "the workers could not be ended; AWS ends them at the time that was set"
fi
# The player resigns or logs out. Its last record and its books go to the bucket.
systemctl stop gougi-master.service || note "the player could not be stopped"
systemctl start gougi-records.service || note "not all records are in the bucket"
systemctl poweroff

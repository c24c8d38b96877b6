#!/usr/bin/env bash
# When gougi-node is stopped: dismiss the nodes, then end everything that would outlive Ray (the unit has KillMode=process).
# If Ray ended by itself, there is no MAINPID; then the nodes go on searching and join the next raylet.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -n "${MAINPID:-}" ] || exit 0
"$(dirname "${BASH_SOURCE[0]}")/drain.sh" || note "not all nodes were sent away"
processes=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/cgroup.procs
while read -r pid; do
  if [ "$pid" != "$MAINPID" ] && [ "$pid" != "$$" ]; then kill -KILL "$pid" 2>/dev/null || true; fi
done <"$processes"

#!/usr/bin/env bash
# When gougi-node is stopped: send the nodes away, then end all that would outlive Ray (the unit has KillMode=process). Not
# when Ray has ended by itself, which leaves no MAINPID: then the nodes search on, and join the next one.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -n "${MAINPID:-}" ] || exit 0
"$(dirname "${BASH_SOURCE[0]}")/drain.sh" || note "not all nodes were sent away"
processes=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/cgroup.procs
while read -r pid; do
  if [ "$pid" != "$MAINPID" ] && [ "$pid" != "$$" ]; then kill -KILL "$pid" 2>/dev/null || true; fi
done <"$processes"

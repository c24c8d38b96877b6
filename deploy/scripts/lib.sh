# shellcheck shell=bash
# What the scripts of a machine share; sourced, not run. Sets strict mode.
set -euo pipefail

VENV=/opt/gougi/venv
STATE=/var/lib/gougi
RUN=/run/gougi
# For those who source this.
export VENV STATE RUN

note() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }
die() { note "$*"; exit 1; }

# What terraform said of this machine; see deploy/cloud-init.
read_facts() {
  [ -r /etc/gougi/fleet.env ] || die "/etc/gougi/fleet.env: cannot read it; cloud-init writes it"
  # shellcheck source=/dev/null
  . /etc/gougi/fleet.env
}

# This machine's address inside the fleet, as Ray finds it too.
own_address() {
  local addresses
  read -r -a addresses <<<"$(hostname -I)"
  [ "${#addresses[@]}" -gt 0 ] || die "this machine has no address"
  printf '%s' "${addresses[0]}"
}

# Try something again and again, with longer pauses: again SECONDS COMMAND…
again() {
  local until=$((SECONDS + $1)) pause=1
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$until" ] || return 1
    sleep "$pause"
    pause=$((pause < 16 ? pause * 2 : 16))
  done
}

# shellcheck shell=bash
# Functions that the scripts share. Source it. It sets strict mode.
set -euo pipefail

VENV=/opt/gougi/venv
STATE=/var/lib/gougi
RUN=/run/gougi
# For the scripts that source this.
export VENV STATE RUN

note() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }
die() { note "$*"; exit 1; }

# Read the facts that terraform wrote for this machine; see deploy/cloud-init.
read_facts() {
  [ -r /etc/gougi/fleet.env ] || die "/etc/gougi/fleet.env: cannot read it; cloud-init writes it"
  # shellcheck source=/dev/null
  . /etc/gougi/fleet.env
}

# Print this machine's address inside the fleet, the same that Ray finds.
own_address() {
  local addresses
  read -r -a addresses <<<"$(hostname -I)"
  [ "${#addresses[@]}" -gt 0 ] || die "this machine has no address"
  printf '%s' "${addresses[0]}"
}

# Retry a command with growing pauses: again SECONDS COMMAND…
again() {
  local until=$((SECONDS + $1)) pause=1
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$until" ] || return 1
    sleep "$pause"
    pause=$((pause < 16 ? pause * 2 : 16))
  done
}

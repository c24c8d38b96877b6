#!/usr/bin/env bash
# The player, on the head: the games that the configuration names, then it ends (and systemd starts it again).
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# Missing, it is not yet there (gougi-setup is tried again); gougi itself would call that a fault of the configuration, and
# its exit code 2 would be the last word.
password=${CREDENTIALS_DIRECTORY:-$RUN}/csa-password # systemd gives it to this unit alone
[ -r "$password" ] || die "$password: no password there that can be read"
# What follows from the workers: threads and table. Written by terraform.
set -a
# shellcheck source=/dev/null
[ ! -r /etc/gougi/master.env ] || . /etc/gougi/master.env
set +a
GOUGI_CLUSTER_ADDRESS="$(own_address):6379"
export GOUGI_CLUSTER_ADDRESS
export GOUGI_CLUSTER_REPORT_PORT=6390 GOUGI_RECORDS_FOLDER="$STATE/records"
export GOUGI_CSA_PASSWORD_FILE="$password" GOUGI_CONFIG=/etc/gougi/gougi.toml
exec "$VENV/bin/gougi" play

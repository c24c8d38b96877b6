#!/usr/bin/env bash
# The player, on the head. It plays the games of the configuration and ends; systemd starts it again.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# A missing file may still come, because gougi-setup is retried. gougi itself would report a faulty configuration and exit
# with 2, after which systemd does not start it again.
password=${CREDENTIALS_DIRECTORY:-$RUN}/csa-password # systemd gives it to this unit alone
[ -r "$password" ] || die "$password: no password there that can be read"
# Threads and table of a node, which depend on the workers. Terraform writes it.
set -a
# shellcheck source=/dev/null
[ ! -r /etc/gougi/master.env ] || . /etc/gougi/master.env
set +a
GOUGI_CLUSTER_ADDRESS="$(own_address):6379"
export GOUGI_CLUSTER_ADDRESS
export GOUGI_CLUSTER_REPORT_PORT=6390 GOUGI_RECORDS_FOLDER="$STATE/records"
export GOUGI_CSA_PASSWORD_FILE="$password" GOUGI_CONFIG=/etc/gougi/gougi.toml
exec "$VENV/bin/gougi" play

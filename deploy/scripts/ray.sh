#!/usr/bin/env bash
# Run Ray on this machine in the foreground.
#
#   ray.sh head              the head: no search
#   ray.sh node ADDRESS N    a worker that joins the head at ADDRESS with N node processes
#
# All ports are fixed: terraform/locals.tf opens exactly these inside the fleet. RAY_AUTH_MODE, RAY_AUTH_TOKEN_PATH and the
# health checks come from the environment (systemd/ray.env).
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ "${RAY_AUTH_MODE:-}" = token ] || die "RAY_AUTH_MODE is not token: Ray would let everybody in"
# systemd gives the token to Ray's head.
[ -z "${CREDENTIALS_DIRECTORY:-}" ] || export RAY_AUTH_TOKEN_PATH=$CREDENTIALS_DIRECTORY/ray-token
# Terraform's settings for this number of machines replace those of systemd/ray.env.
set -a
# shellcheck source=/dev/null
[ ! -r /etc/gougi/master.env ] || . /etc/gougi/master.env
set +a
# gougi-setup makes it. If that fails it is retried, and so is this.
[ -r "${RAY_AUTH_TOKEN_PATH:-}" ] || die "${RAY_AUTH_TOKEN_PATH:-RAY_AUTH_TOKEN_PATH}: no token there that can be read"

common=(
  --node-ip-address "${RAY_NODE_ADDRESS:-$(own_address)}"
  --node-manager-port 6380 --object-manager-port 6381 --runtime-env-agent-port 6382
  --dashboard-agent-grpc-port 6383 --dashboard-agent-listen-port 6384 --metrics-export-port 6385
  --min-worker-port 10002 --max-worker-port 10999
  --num-cpus 0 --object-store-memory 80000000
  --disable-usage-stats --block
)
case "${1:-} $#" in
  "head 1")
    set -- --head --port 6379 --include-dashboard=false --temp-dir "${RAY_FOLDER:-$STATE/ray}" --resources '{"searcher": 0}'
    ;;
  "node 3") set -- --address "$2:6379" --resources "{\"searcher\": $3}" ;;
  *) echo "usage: ray.sh head | ray.sh node ADDRESS N" >&2; exit 2 ;;
esac
exec "${RAY:-$VENV/bin/ray}" start "$@" "${common[@]}"

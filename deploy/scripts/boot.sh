#!/usr/bin/env bash
# A machine's first boot, as root, after the release was unpacked to /opt/gougi/release: install it, and start the units of
# the machine's role.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
read_facts
release=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

case "$FLEET_ROLE" in
  head)
    units=(gougi-head.service gougi-keep.service gougi-records.timer gougi-stop.timer)
    [ -z "$FLEET_PASSWORD_PARAMETER" ] || units+=(gougi-master.service)
    ;;
  node) units=(gougi-node.service gougi-spot-watch.service) ;;
  *) die "FLEET_ROLE: expected head or node, not $FLEET_ROLE" ;;
esac

# Amazon Linux comes with an older Python.
command -v python3.11 >/dev/null || again 120 dnf --quiet --assumeyes install python3.11
# gougi runs the player and the searcher, gougi-ray Ray's head, gougi-keep the service on the head that calls AWS.
for user in gougi gougi-ray gougi-keep; do
  id "$user" >/dev/null 2>&1 || useradd --system --home-dir "$STATE" --shell /sbin/nologin "$user"
done
"$release/deploy/scripts/install.sh" "$release" "$VENV"

install -d -m 0755 /etc/gougi
install -m 0644 "$release/deploy/systemd/ray.env" /etc/gougi/ray.env
install -m 0644 "$release/deploy/systemd/gougi.tmpfiles.conf" /etc/tmpfiles.d/gougi.conf
install -m 0644 "$release"/deploy/systemd/*.service "$release"/deploy/systemd/*.timer /etc/systemd/system/
cp -r "$release"/deploy/systemd/gougi-*.service.d /etc/systemd/system/
systemd-tmpfiles --create /etc/tmpfiles.d/gougi.conf

if [ "$FLEET_ROLE" = node ]; then
  # The code that the head compiled, if it has reached the bucket; warm.sh tries it.
  aws s3 sync --only-show-errors --region "$FLEET_REGION" "s3://$FLEET_BUCKET/$FLEET_NAME/code/" "$STATE/code/" ||
    note "no compiled code from the bucket"
fi

systemctl daemon-reload
systemctl enable --now --no-block "${units[@]}"
note "$FLEET_NAME: $FLEET_ROLE installed; started ${units[*]}"

#!/usr/bin/env bash
# As root, in an unpacked release: Python, the users, and the units. A machine's first boot runs it, and image.sh.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
units=$(cd "$(dirname "${BASH_SOURCE[0]}")/../systemd" && pwd)

# Amazon Linux comes with an older Python. dnf waits for one that is at work already.
command -v python3.11 >/dev/null || again 120 dnf --quiet --assumeyes install python3.11
python3.11 -m venv --without-pip "$VENV"
packages=$VENV/lib/python3.11/site-packages
# A release that another Python made has no bytecode.
[ -d "$packages/gougi/__pycache__" ] || python3.11 -m compileall -q -j 0 "$packages" >/dev/null || true
"$VENV/bin/gougi" --version

# gougi runs the player and the searcher, gougi-ray Ray's head, gougi-keep the service on the head that calls AWS.
for user in gougi gougi-ray gougi-keep; do
  id "$user" >/dev/null 2>&1 || useradd --system --home-dir "$STATE" --shell /sbin/nologin "$user"
done
install -d -m 0755 /etc/gougi
install -m 0644 "$units/ray.env" /etc/gougi/ray.env
install -m 0644 "$units/gougi.tmpfiles.conf" /etc/tmpfiles.d/gougi.conf
install -m 0644 "$units"/*.service "$units"/*.timer /etc/systemd/system/
cp -r "$units"/gougi-*.service.d /etc/systemd/system/
systemd-tmpfiles --create /etc/tmpfiles.d/gougi.conf

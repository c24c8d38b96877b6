"""The machines' image: a Debian 12 root filesystem with the programs of Amazon Linux 2023, configured for our stand-in
for AWS.

Amazon Linux 2023 has systemd 252, cloud-init 22.2 and AWS's command line 2; Debian 12 has systemd 252, cloud-init 22.4
and AWS's command line 2.9. Python 3.11 is in this image: no repository of Amazon Linux is available here.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from benchmarks.boot.aws import GATEWAY, METADATA, NAMES, Instance

BASE = ("ca-certificates", "dbus", "iproute2", "libpam-systemd", "procps", "systemd-sysv")
PACKAGES = ("awscli", "cloud-init", "python3.11-venv")
"""Packages that debootstrap cannot install, because it does not resolve virtual packages."""
ADDRESS = "/etc/systemd/system/address.service"
"""Gives the machine its address. systemd-networkd would wait for udev, which is not in a container."""
ADDRESS_UNIT = """[Unit]
DefaultDependencies=no
Before=network-pre.target network.target network-online.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=ip link set lo up
ExecStart=ip link set host0 up
ExecStart=ip address add {address}/16 dev host0
ExecStart=ip route add {metadata}/32 dev host0 scope link
ExecStart=ip route add default via {gateway}
[Install]
WantedBy=sysinit.target network-online.target
"""
CERTIFICATE = "/etc/aws.pem"

# The names of AWS's services resolve to the stand-in, and its certificate is trusted, so no program on the machine
# needs to know. cloud-init does not treat a container as an EC2 machine: it reads its user data from a file.
FILES = {
    "/etc/cloud/ds-identify.cfg": "policy: enabled\n",
    "/etc/cloud/cloud.cfg.d/90_seed.cfg": "datasource_list: [NoCloud]\nnetwork: {config: disabled}\nlocale: C.UTF-8\n",
    "/etc/systemd/system.conf.d/aws.conf": f"[Manager]\nDefaultEnvironment=AWS_CA_BUNDLE={CERTIFICATE}\n",
    "/etc/hosts": f"127.0.0.1 localhost\n{GATEWAY} {' '.join(NAMES)}\n",
    "/etc/hostname": "",
    "/etc/resolv.conf": "",
    "/etc/machine-id": "",
}


def make(folder: Path) -> Path:
    """The root filesystem below ``folder``; if missing, it is built from Debian's packages, which takes minutes.

    Raises:
        subprocess.CalledProcessError: debootstrap or apt failed; their output is in ``folder``/image.log.
    """
    root = folder / "debian-12"
    if not root.exists():
        unfinished = folder / "debian-12.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        apt = ["chroot", str(unfinished), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"]
        commands = (
            ["debootstrap", "--variant=minbase", f"--include={','.join(BASE)}", "bookworm", str(unfinished)],
            [*apt, "update"],
            [*apt, "install", "--yes", "--no-install-recommends", *PACKAGES],
            [*apt, "clean"],
        )
        with (folder / "image.log").open("wb") as log:
            for command in commands:
                subprocess.run(command, stdout=log, stderr=log, check=True)
        unfinished.rename(root)
    return root


def configure(root: Path, certificate: Path, instance: Instance) -> None:
    """Write a machine's own settings into its root filesystem: its address, which DHCP would assign, and its user
    data."""
    seed = "/var/lib/cloud/seed/nocloud"
    files = {
        **FILES,
        CERTIFICATE: certificate.read_text(),
        f"{seed}/user-data": instance.user_data,
        f"{seed}/meta-data": f"instance-id: {instance.id}\nlocal-hostname: {instance.hostname}\n",
        ADDRESS: ADDRESS_UNIT.format(address=instance.address, gateway=GATEWAY, metadata=METADATA),
    }
    for name, text in files.items():
        path = root / name[1:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["systemctl", f"--root={root}", "enable", Path(ADDRESS).name], check=True, capture_output=True)

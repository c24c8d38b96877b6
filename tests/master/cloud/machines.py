"""A head, a worker, AWS and a stranger as hosts of this machine, with the files and scripts of real machines.

Differences from a machine of the fleet: nothing is installed (this environment and this checkout take the release's
place), there is one user, and AWS's command line is `tests.master.cloud.aws_cli`.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.cluster.namespaces import Host, Network
from tests.master.cloud.stand_in import CREDENTIALS, clean
from tests.master.command import ROOT
from worker.files import cache_folder

TOKEN, PASSWORD = "/gougi/gougi/ray-token", "/gougi/csa-password"
SCRIPTS = "/opt/gougi/release/deploy/scripts"
_MACHINE = """
mkdir {folder}/etc {folder}/work
mount -t overlay overlay -o lowerdir=/etc,upperdir={folder}/etc,workdir={folder}/work /etc
for place in /opt /run /var/lib /var/cache; do mount -t tmpfs none $place; done
mkdir -p /opt/gougi/bin /etc/gougi /run/gougi/nodes /var/lib/gougi/records /var/lib/gougi/ray
grep -v ^gougi: /etc/passwd >/etc/passwd.new; grep -v ^gougi: /etc/group >/etc/group.new
mv /etc/passwd.new /etc/passwd; mv /etc/group.new /etc/group
echo gougi:x:0:0::/var/lib/gougi:/bin/sh >>/etc/passwd; echo gougi:x:0: >>/etc/group
ln -s {prefix} /opt/gougi/venv; ln -s {root} /opt/gougi/release
printf '#!/bin/sh\\nexec {python} -m tests.master.cloud.aws_cli "$@"\\n' >/opt/gougi/bin/aws
chmod +x /opt/gougi/bin/aws
cat >/etc/gougi/fleet.env
"""


def why_not() -> str:
    """The reason why there can be no such hosts here; empty: there can."""
    return "" if shutil.which("nft") else "nft is not on the PATH (Debian: nftables)"


class Site:
    """The hosts; ``close`` them."""

    def __init__(self, log: Path) -> None:
        self.network = Network()
        self.aws, self.head, self.worker, self.stranger = (self.network.add() for _ in range(4))
        self._log = log.open("ab")
        self.log = log
        self.url = f"http://{self.aws.address}:443"
        self._services: list[subprocess.Popen[bytes]] = []

    def open(self) -> None:
        """Start AWS with the parameters that terraform and the owner made, and write the machines' files."""
        self.begin(self.aws, [sys.executable, "-m", "moto.server", "-H", "0.0.0.0", "-p", "443"])
        for host, role in ((self.head, "head"), (self.worker, "node")):
            facts = {
                "FLEET_NAME": "gougi",
                "FLEET_ROLE": role,
                "FLEET_REGION": "us-east-1",
                "FLEET_HEAD": self.head.address,
                "FLEET_TOKEN_PARAMETER": TOKEN,
                "FLEET_PASSWORD_PARAMETER": PASSWORD if role == "head" else "",
            }
            script = _MACHINE.format(folder=self.network.folder, prefix=sys.prefix, root=ROOT, python=sys.executable)
            text = "".join(f"{name}={value}\n" for name, value in facts.items())
            self.run(host, ["sh", "-ec", script], text)

    def environment(self) -> dict[str, str]:
        """The environment of the units: ``ray.env``, and credentials in place of the machine's own role."""
        lines = (ROOT / "deploy" / "systemd" / "ray.env").read_text().splitlines()
        ray = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
        ray["GOUGI_CACHE_DIR"] = str(cache_folder())
        return clean(
            {
                **ray,
                **CREDENTIALS,
                "AWS_ENDPOINT_URL": self.url,
                "PATH": f"/opt/gougi/bin:{os.environ['PATH']}",
                "PYTHONPATH": os.pathsep.join(sys.path),
                "PYTHONSAFEPATH": "1",
            }
        )

    def run(self, host: Host, command: list[str], text: str = "", *, log: bool = True) -> str:
        """Run it to its end; its output goes to the log too."""
        done = subprocess.run(
            [*host.enter(), *command],
            input=text,
            env=self.environment(),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        if log:
            self._log.write((done.stdout + done.stderr).encode())
            self._log.flush()
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    def begin(self, host: Host, command: list[str]) -> None:
        """A service, for the life of the site; its output goes to the log."""
        self._services.append(
            subprocess.Popen(
                [*host.enter(), *command],
                env=self.environment(),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        )

    def answers(self, host: Host, address: str, port: int, timeout_s: float = 60.0) -> None:
        """Wait until that port answers ``host``."""
        deadline = time.monotonic() + timeout_s
        while str(port) not in self.scan(host, address, [port]).split():
            assert time.monotonic() < deadline, f"{address}:{port} does not answer"
            time.sleep(0.2)

    def scan(self, host: Host, address: str, ports: list[int]) -> str:
        """The ports that answer ``host``, separated by blanks."""
        words = [sys.executable, "-m", "tests.master.cloud.machines", address, *map(str, ports)]
        return self.run(host, words).strip()

    def listening(self, host: Host) -> list[int]:
        """The TCP ports with a listener there, except on loopback."""
        found = set()
        for table in ("tcp", "tcp6"):
            for line in self.run(host, ["cat", f"/proc/self/net/{table}"]).splitlines()[1:]:
                local, _, state = line.split()[1:4]
                address, port = local.split(":")
                if state == "0A" and address not in ("0100007F", "00000000000000000000000001000000"):
                    found.add(int(port, 16))
        return sorted(found)

    def close(self) -> None:
        self.network.close()
        for service in self._services:
            service.wait(10)
        self._log.close()


def _scan(address: str, ports: list[int]) -> list[int]:
    """Ports of ``address`` that accept a connection. All are tried at once, for half a second."""
    tried = {}
    for port in ports:
        connection = socket.socket()
        connection.setblocking(False)
        connection.connect_ex((address, port))
        tried[port] = connection
    time.sleep(0.5)
    found = []
    for port, connection in tried.items():
        try:
            connection.getpeername()
            found.append(port)
        except OSError:
            pass
        connection.close()
    return found


if __name__ == "__main__":
    print(*_scan(sys.argv[1], [int(word) for word in sys.argv[2:]]))

"""A machine: systemd as process 1 of a container, with its own disk, network and console (systemd-nspawn)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from benchmarks.boot import image
from benchmarks.boot.aws import Instance

_IMAGE_SCRIPT = Path(__file__).resolve().parents[2] / "deploy" / "scripts" / "image.sh"


class MachineError(Exception):
    """A machine failed; the text says which one and how."""


PATIENCE = 5
"""How many times longer than on an idle machine everything may take."""
REBOOT = 133
"""Exit code of systemd-nspawn --keep-unit if the machine requests a reboot."""

# Each systemd is the root of its own control groups, even if the host uses the old hierarchy.
_IN_GROUPS = """
for folder in $(awk '$3 == "cgroup2" || $4 ~ /name=systemd/ { print $2 }' /proc/mounts); do
  mkdir -p "$folder/$0"
  echo $$ >"$folder/$0/cgroup.procs"
done
exec "$@"
"""


class Machine:
    """One machine, from its first boot on. ``close`` it.

    Args:
        name: of at most 11 characters; a cable is named after it.
        root: the image, which is not changed.
        folder: for the disk and the console's log.
        certificate: of AWS's stand-in.
        instance: the machine as AWS knows it.
    """

    def __init__(self, name: str, root: Path, folder: Path, certificate: Path, instance: Instance) -> None:
        self.name = name
        self.instance = instance
        self.console = folder / f"{name}.console"
        self.disk = folder / f"{name}.disk"
        upper, work = folder / f"{name}.upper", folder / f"{name}.work"
        for path in (self.disk, upper, work):
            path.mkdir(parents=True)
        layers = f"lowerdir={root},upperdir={upper},workdir={work}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, str(self.disk)], check=True)
        image.configure(self.disk, certificate, instance)
        self._nspawn: subprocess.Popen[bytes] | None = None

    def provision(self, release: Path) -> None:
        """Before its first boot: install a release there, as for an image. Raises subprocess.CalledProcessError."""
        shutil.copy(release, self.disk / "release.tar")
        shutil.copy(_IMAGE_SCRIPT, self.disk / "image.sh")
        words = ["systemd-nspawn", "--register=no", "--keep-unit", "--quiet", "--private-network", "--pipe"]
        with self.console.open("ab") as console:
            command = [*words, f"--directory={self.disk}", "/image.sh", "/release.tar"]
            subprocess.run(
                ["sh", "-ec", _IN_GROUPS, f"gougi-{self.name}", *command],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                check=True,
            )

    def boot(self) -> None:
        """Switch it on."""
        command = [
            "systemd-nspawn",
            "--boot",
            "--register=no",
            "--keep-unit",
            "--console=read-only",
            f"--directory={self.disk}",
            f"--machine={self.name}",
            "--network-bridge=fleet",
            "--resolv-conf=off",
            "--link-journal=no",
            # Without these systemd leaves out IPAddressDeny, in silence.
            "--capability=CAP_BPF,CAP_NET_ADMIN,CAP_PERFMON",
            "--system-call-filter=bpf",
        ]
        # As on a real machine: its own cgroup hierarchy, and kernel settings that root can write.
        settings = {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1", "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "1"}
        with self.console.open("ab") as console:
            self._nspawn = subprocess.Popen(
                ["sh", "-ec", _IN_GROUPS, f"gougi-{self.name}", *command],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                env={"PATH": os.environ["PATH"], **settings},
                start_new_session=True,
            )

    @property
    def runs(self) -> bool:
        """Whether it is switched on."""
        return self._nspawn is not None and self._nspawn.poll() is None

    @property
    def init(self) -> int:
        """Its process 1, as seen from here. Raises MachineError: it has none, no longer or not yet."""
        assert self._nspawn is not None
        children = Path(f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children")
        words = children.read_text().split() if self.runs else []
        if not words:
            raise MachineError(f"{self.name}: it is off")
        return int(words[0])

    def run(self, *command: str, code: int | None = 0, timeout_s: float = 60.0 * PATIENCE) -> str:
        """Run a command there as root and return its output.

        Args:
            code: the expected exit code; None: any.

        Raises:
            MachineError: the exit code is different.
        """
        enter = ["nsenter", "--target", str(self.init), "--all", "--", "env", "-i", f"PATH={os.defpath}:/usr/sbin"]
        done = subprocess.run(
            [*enter, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s, check=False
        )
        if code is not None and done.returncode != code:
            said = (done.stdout + done.stderr).strip()
            raise MachineError(f"{self.name}: {' '.join(command)}: exit code {done.returncode}: {said[-2000:]}")
        return done.stdout.strip()

    def systemctl(self, *words: str) -> str:
        """Run systemctl on the machine and return its output; any exit code is accepted."""
        return self.run("systemctl", *words, code=None, timeout_s=120.0 * PATIENCE)

    def journal(self, unit: str) -> str:
        """The journal of a unit since the machine was made."""
        return self.run("journalctl", "--no-pager", "--quiet", f"--unit={unit}", "--output=short-monotonic")

    def wait_off(self, timeout_s: float) -> int:
        """Wait until it has switched itself off; 0, or `REBOOT` if it has to be switched on again.

        Raises:
            MachineError: it is still on.
        """
        assert self._nspawn is not None
        try:
            return self._nspawn.wait(timeout_s * PATIENCE)
        except subprocess.TimeoutExpired as error:
            raise MachineError(f"{self.name}: still on after {timeout_s * PATIENCE:.0f} s") from error

    def close(self) -> None:
        """Pull the plug."""
        if self._nspawn is not None and self.runs:
            os.kill(self.init, signal.SIGKILL)
            self._nspawn.wait(30)
        deadline = time.monotonic() + 20
        while subprocess.run(["umount", str(self.disk)], check=False, capture_output=True).returncode:
            if time.monotonic() > deadline:
                return
            time.sleep(0.2)

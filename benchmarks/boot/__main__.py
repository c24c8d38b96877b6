"""A head and a worker of the fleet, from `gougi fleet up` to its end, on machines that really boot.

    python -m benchmarks.boot [--folder F] [--release TAR]

Real: terraform, its user data, cloud-init, the release and its installation, systemd with our units as process 1 of
each machine, AWS's command line, Ray, the searcher, a game on a practice server. Stand-ins: AWS is moto, with TLS and
AWS's own names; the metadata service; Debian 12 for Amazon Linux 2023; a container for a machine
(`benchmarks.boot.machine`).

Root, debootstrap, systemd-nspawn and terraform with the provider's mirror are needed, and the first time Debian's
packages and a package index. Machines and stand-ins are in a network of their own: nothing reaches out. The run leaves
``folder``, with each machine's console and journal in ``last/``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.boot import image
from benchmarks.boot.scenario import Scenario

_INSIDE = "BOOT_INSIDE"
_ROOT = Path(__file__).resolve().parents[2]
_PROGRAMS = ("debootstrap", "systemd-nspawn", "terraform", "openssl", "ip", "unshare", "nsenter")


def main(
    folder: Annotated[
        Path, typer.Option(help="Folder for the image, the release and the logs of the last run.")
    ] = Path("/var/tmp/gougi-boot"),
    release: Annotated[
        Path | None, typer.Option(help="Release that the machines install. Default: made of this checkout.")
    ] = None,
) -> None:
    """Boot a fleet and check it; exit code 1 if a check fails."""
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if os.geteuid() != 0 or missing:
        raise SystemExit(f"benchmarks.boot: needs root, and on the PATH: {' '.join(missing or _PROGRAMS)}")
    folder.mkdir(parents=True, exist_ok=True)
    if _INSIDE not in os.environ:
        image.make(folder)
        if release is None:
            release = folder / "release.tar"
            bundle = [_ROOT / "deploy" / "scripts" / "bundle.sh", release]
            subprocess.run(bundle, env={**os.environ, "PYTHON": sys.executable}, check=True)
        words = [sys.executable, "-m", "benchmarks.boot", "--folder", str(folder), "--release", str(release.absolute())]
        done = subprocess.run(["unshare", "--net", "--mount", *words], env={**os.environ, _INSIDE: "yes"}, check=False)
        raise SystemExit(done.returncode)
    assert release is not None
    last = folder / "last"
    shutil.rmtree(last, ignore_errors=True)
    last.mkdir()
    raise SystemExit(0 if Scenario(folder / "debian-12", release, last).run() else 1)


if __name__ == "__main__":
    typer.run(main)

"""A machine's whole first boot in a mount namespace: the commands of cloud-init, `boot.sh`, `install.sh`, users and
units.

Real: the scripts, the user, the folders, the virtual environment. Stand-ins: AWS's command line, which gives a release
with one small package, and systemctl and shutdown, which record their arguments. Machines that boot systemd and a
whole release: ``python -m benchmarks.boot``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from tests.deploy.machine import stand_in
from tests.deploy.rendered import DEPLOY, rendered

VENV = "/opt/gougi/venv"
INSIDE = """
cp -a /etc {tmp}/etc
mount --bind {tmp}/etc /etc
sed -Ei '/^gougi(-ray|-keep)?:/d' /etc/passwd /etc/group /etc/shadow /etc/gshadow
for place in /opt /run /var/lib /var/cache; do mount -t tmpfs tmpfs $place; done
install -D -m 0644 {tmp}/fleet.env /etc/gougi/fleet.env
code=0
for boot in first second; do
  code=0
  PATH={tmp}/bin:$PATH {tmp}/first-boot || code=$?
  [ "$code" = 0 ] || [ -e {tmp}/again ] || break
  touch {tmp}/up
done
ls /etc/systemd/system >{tmp}/units
stat -c '%a %U %n' /var/lib/gougi/* /var/cache/gougi /run/gougi/* /etc/gougi/* >{tmp}/files || true
exit $code
"""


class FirstBoot:
    """A machine before its first boot; its release can be damaged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scripts = folder / "all" / "release" / "deploy" / "scripts"
        shutil.copytree(DEPLOY, self.scripts.parent)
        package = folder / "all" / "venv" / "lib" / "python3.11" / "site-packages" / "gougi"
        package.mkdir(parents=True)
        (package / "__main__.py").write_text("print('gougi 1.0 in', __import__('sys').prefix)\n")
        stand_in(folder / "all" / "venv", "gougi", f"cd / && exec {VENV}/bin/python -m gougi")
        stand_in(folder, "systemctl", f'echo "$*" >>{folder}/asked')
        stand_in(folder, "shutdown", f'echo "shutdown $*" >>{folder}/asked')
        stand_in(folder, "aws", f'echo "$*" >>{folder}/fetched; cp {folder}/release.tar "${{@: -1}}"')
        stand_in(folder, "sleep", "")
        (folder / "bin" / "python3.11").symlink_to(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]

    def run(self, sha: str = "", **facts: str) -> subprocess.CompletedProcess[str]:
        """Boot. ``sha``: the expected hash of the release, if it should differ."""
        with tarfile.open(self.folder / "release.tar", "w:gz") as archive:
            archive.add(self.folder / "all", ".")
        own = hashlib.sha256((self.folder / "release.tar").read_bytes()).hexdigest()
        files = yaml.safe_load(rendered(release_sha=sha or own, **facts))["write_files"]
        for file, name in zip(files, ("fleet.env", "first-boot"), strict=True):
            (self.folder / name).write_text(file["content"])
            (self.folder / name).chmod(int(file["permissions"], 8))
        script = ["unshare", "--mount", "bash", "-euc", INSIDE.format(tmp=self.folder)]
        if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
            pytest.skip("no mount namespaces here (not root): boot.sh is not run")
        return subprocess.run(
            script, capture_output=True, text=True, check=False, timeout=100, env={"PATH": os.environ["PATH"]}
        )

    def said(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> FirstBoot:
    return FirstBoot(tmp_path)


@pytest.mark.slow
def test_a_worker(machine: FirstBoot) -> None:
    ran = machine.run()
    assert ran.returncode == 0, ran.stderr
    assert f"gougi 1.0 in {VENV}" in ran.stdout
    assert machine.said("asked") == [
        "daemon-reload",
        "enable --now --no-block gougi-node.service gougi-spot-watch.service",
    ]
    assert any("/gougi/code/" in line for line in machine.said("fetched")), "no code that the head compiled"
    units = set(machine.said("units"))
    assert {path.name for path in (DEPLOY / "systemd").glob("gougi-*")} <= units
    files = machine.said("files")
    assert {"750 gougi /run/gougi/nodes", "644 root /etc/gougi/ray.env"} <= set(files)


@pytest.mark.parametrize(("password", "player"), [("", False), ("/gougi/floodgate", True)])
def test_a_head_starts_the_player_only_if_it_has_a_password(machine: FirstBoot, password: str, player: bool) -> None:
    (machine.scripts / "install.sh").write_text("#!/bin/sh\n")
    assert machine.run(role="head", password=password).returncode == 0
    started = "enable --now --no-block gougi-head.service gougi-keep.service gougi-records.timer gougi-stop.timer"
    assert machine.said("asked")[-1] == started + " gougi-master.service" * player


def test_a_boot_that_failed_is_tried_again(machine: FirstBoot) -> None:
    install = machine.scripts / "install.sh"
    install.write_text(f"#!/bin/sh\n[ -e {machine.folder}/up ]\n")
    (machine.folder / "again").touch()
    assert machine.run(role="head").returncode == 0
    assert machine.said("asked")[:2] == ["shutdown -P +240", "daemon-reload"]


@pytest.mark.parametrize(("role", "asked"), [("node", ["shutdown -P +0"]), ("head", ["shutdown -P +240"])])
def test_another_release_than_terraforms_is_not_installed(machine: FirstBoot, role: str, asked: list[str]) -> None:
    assert machine.run(sha="0" * 64, role=role).returncode == 1
    assert machine.said("asked") == asked
    assert machine.said("files") == ["644 root /etc/gougi/fleet.env"]

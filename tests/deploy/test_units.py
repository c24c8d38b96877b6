"""The systemd units, as systemd itself checks them."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from cluster.drivers.ray_cluster import _ENVIRONMENT
from tests.deploy.machine import stand_in
from tests.deploy.rendered import DEPLOY, tool

UNITS = sorted(path.name for pattern in ("*.service", "*.timer") for path in (DEPLOY / "systemd").glob(pattern))
SERVICES = [name for name in UNITS if name.endswith(".service")]
MOST_EXPOSED = "26"
"""Limit for `systemd-analyze security`, in tenths: 0 (safe) to 100. Without our hardening a service has 96."""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine's file system, with the parts that its units need."""
    system = Path("/lib/systemd/system")
    if not system.is_dir():
        pytest.skip("systemd is not installed: units are not checked here")
    shutil.copytree(system, tmp_path / "lib" / "systemd" / "system", symlinks=True)
    units = tmp_path / "etc" / "systemd" / "system"
    shutil.copytree(DEPLOY / "systemd", units)
    shutil.copytree(DEPLOY, tmp_path / "opt" / "gougi" / "release" / "deploy")
    gougi = tmp_path / "opt" / "gougi" / "venv" / "bin" / "gougi"
    for program in (gougi, tmp_path / "bin" / "sh", tmp_path / "usr" / "bin" / "systemctl"):
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    return tmp_path


def _verify(machine: Path, *units: str) -> str:
    """Let systemd verify the units and return its complaints; empty if all is well."""
    command = [tool("systemd-analyze"), "verify", f"--root={machine}", "--man=no", *units]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.stderr + (f"exit code {ran.returncode}" if ran.returncode else "")


def test_systemd_accepts_the_units(machine: Path) -> None:
    assert _verify(machine, *UNITS) == ""


@pytest.mark.parametrize("unit", UNITS)
def test_no_unit_is_given_up_because_another_failed_once(unit: str) -> None:
    """If a service in `Requires=` fails once, the job that waits for it ends, and no Restart= brings it back."""
    text = (DEPLOY / "systemd" / unit).read_text()
    assert re.findall(r"^(?:Requires|Requisite|BindsTo|PartOf)=.*$", text, re.MULTILINE) == []
    named = set(re.findall(r"gougi-[a-z-]+\.(?:service|timer)", text))
    assert named <= set(UNITS), "systemd reports no unit that is wanted and missing"


@pytest.mark.parametrize("code", ["10", "0", "1", "9", "KILL"])
@pytest.mark.parametrize(
    ("unit", "then"),
    [
        ("gougi-spot-watch.service", "--no-block stop gougi-node.service"),  # no node joins a machine that was released
        ("gougi-keep.service", "--no-block start gougi-end.service"),  # nor ends a fleet after a slow stop
    ],
)
def test_units_after_the_end_of_a_service(tmp_path: Path, unit: str, then: str, code: str) -> None:
    text = (DEPLOY / "systemd" / unit).read_text()
    (line,) = re.findall(r"^ExecStopPost=\+(.*)$", text, re.MULTILINE)
    stand_in(tmp_path, "systemctl", f'echo "$*" >>{tmp_path}/asked')
    env = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "EXIT_STATUS": code}
    # As systemd reads it: words in quotes, and $$ for $.
    words = [word.replace("$$", "$") for word in shlex.split(line)]
    assert subprocess.run(words, env=env, check=False).returncode == 0
    said = tmp_path / "asked"
    assert (said.read_text().splitlines() if said.exists() else []) == ([then] if code == "10" else [])


def test_fetching_books_may_take_long() -> None:
    for path in (DEPLOY / "systemd").glob("*.service"):
        text = path.read_text()
        if "/fetch-files.sh" in text:
            (limit,) = re.findall(r"^TimeoutStartSec=(\d+)$", text, re.MULTILINE)
            assert int(limit) >= 900, path


def _exposed(machine: Path, *services: str) -> subprocess.CompletedProcess[str]:
    options = ["--offline=true", f"--root={machine}", f"--threshold={MOST_EXPOSED}", "--no-pager"]
    return subprocess.run(
        [tool("systemd-analyze"), "security", *options, *services], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("service", SERVICES)
def test_the_services_are_hardened(machine: Path, service: str) -> None:
    ran = _exposed(machine, service)
    assert ran.returncode == 0, ran.stdout


def _exposing(machine: Path, service: str) -> set[str]:
    """The names of systemd's findings about a service: its capabilities, its system calls, the folders it sees."""
    options = ["--offline=true", f"--root={machine}", "--json=short", "--no-pager"]
    ran = subprocess.run(
        [tool("systemd-analyze"), "security", *options, service], capture_output=True, text=True, check=True
    )
    return {str(fact["json_field"]) for fact in json.loads(ran.stdout) if fact["set"] is False}


# The rights that root's services need, and no other service may have.
ROOTS = {
    "gougi-setup.service": {
        "CapabilityBoundingSet_CAP_CHOWN_FSETID_SETFCAP",
        "CapabilityBoundingSet_CAP_DAC_FOWNER_IPC_OWNER",
        "ProtectKernelTunables",
        "SystemCallFilter_privileged",
    },
    "gougi-files.service": {
        "CapabilityBoundingSet_CAP_CHOWN_FSETID_SETFCAP",
        "CapabilityBoundingSet_CAP_DAC_FOWNER_IPC_OWNER",
        "SystemCallFilter_privileged",
    },
    "gougi-end.service": {"CapabilityBoundingSet_CAP_SYS_BOOT"},
    "gougi-stop.service": {"CapabilityBoundingSet_CAP_SYS_BOOT"},
}


@pytest.mark.parametrize("service", [*ROOTS, "gougi-node.service"])
def test_roots_services_can_do_their_work_and_no_more(machine: Path, service: str) -> None:
    asked = set().union(*ROOTS.values())
    assert _exposing(machine, service) & asked == ROOTS.get(service, set())


def test_no_unit_sets_a_value_that_the_hardening_sets_after_it() -> None:
    """A drop-in is read after the unit's own file, so a setting of both has no effect there."""

    def keys(path: Path) -> set[str]:
        return set(re.findall(r"^(\w+)=", path.read_text(), re.MULTILINE))

    hardening = keys(DEPLOY / "systemd" / "gougi-.service.d" / "hardening.conf")
    many = {"ReadWritePaths"}  # adds to the list
    for service in (DEPLOY / "systemd").glob("*.service"):
        assert not (keys(service) & hardening) - many, service.name


def test_a_service_without_hardening_is_found(machine: Path) -> None:
    shutil.rmtree(machine / "etc" / "systemd" / "system" / "gougi-.service.d")
    assert _exposed(machine, "gougi-node.service").returncode != 0


def test_ray_on_a_machine_has_the_variables_of_the_image() -> None:
    image = re.findall(r"\b(RAY_\w+)=(\S+)", (DEPLOY / "Dockerfile").read_text())
    assert {"RAY_AUTH_MODE", "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S"} <= dict(image).keys()
    assert dict(image)["RAY_USAGE_STATS_ENABLED"] == _ENVIRONMENT["RAY_USAGE_STATS_ENABLED"] == "0"
    machine = (DEPLOY / "systemd" / "ray.env").read_text().splitlines()
    assert [f"{name}={value}" for name, value in image if f"{name}={value}" not in machine] == []

"""Two operators of one fleet: one at a time, and each gets what he was shown."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from master.cloud.lock import NAME, FolderBusy, Holder, locked
from master.cloud.plan import read_plan
from master.cloud.terraform import Terraform, TerraformError, find
from tests.master.cloud.two_operators import MODULE
from tests.master.cloud.two_operators import ROOT as ROOT_MODULE
from tests.master.command import ROOT

needs_terraform = pytest.mark.skipif(shutil.which("terraform") is None, reason="terraform is not on the PATH")

HOLD = """
import sys, time
from pathlib import Path
from master.cloud.lock import locked
with locked(Path(sys.argv[1]), "gougi fleet scale 7"):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def held(folder: Path, seconds: float) -> subprocess.Popen[str]:
    """Another process that has the folder for so long."""
    words = [sys.executable, "-c", HOLD, str(folder), str(seconds)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.slow
@needs_terraform
def test_interleavings(tmp_path: Path) -> None:
    seeds = range(12)
    words = [sys.executable, "-m", "tests.master.cloud.two_operators", str(tmp_path), *map(str, seeds)]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=280)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    rows = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith('{"seed')]
    assert len(rows) == len(seeds)
    assert [row for row in rows if row["faults"]] == []
    # Else nothing was tried: some were refused, some waited, and some that waited were obeyed too.
    for what, least in (("refused", 1), ("waited", 1), ("applied", 6)):
        assert sum(row[what] for row in rows) >= least, what


def test_who_comes_second_hears_who_is_there(tmp_path: Path) -> None:
    other = held(tmp_path, 60)
    try:
        with pytest.raises(FolderBusy) as raised, locked(tmp_path, "gougi fleet down"):
            pytest.fail("both are in")
    finally:
        other.kill()
        other.wait()
    said = str(raised.value)
    assert said.startswith(f"{tmp_path} is in use: ")
    assert f"runs `gougi fleet scale 7` (process {other.pid}) since " in said
    assert said.endswith("; --lock-wait S waits for its end")
    assert len(said.splitlines()) == 1


def test_who_waits_gets_it_when_the_other_ends(tmp_path: Path) -> None:
    other, told = held(tmp_path, 1.0), list[str]()
    with locked(tmp_path, "gougi fleet up", 60, told.append):
        assert other.wait(30) == 0
        assert json.loads((tmp_path / NAME).read_text())["command"] == "gougi fleet up"
    (line,) = told
    assert f"(process {other.pid})" in line and line.endswith("; waiting up to 60 s")


def test_who_is_killed_holds_nothing(tmp_path: Path) -> None:
    other = held(tmp_path, 60)
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert (tmp_path / NAME).exists(), "the kernel's lock is gone, not the file"
    with locked(tmp_path, "gougi fleet up"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_stays_empty_goes_again(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "fleet"
    with locked(folder, "gougi fleet up"):
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / NAME).stat().st_mode & 0o777 == 0o600
    assert not folder.exists()
    with locked(folder, "gougi fleet up"):
        (folder / "state").touch()
    assert [path.name for path in folder.iterdir()] == ["state"]


def test_the_file_of_somebody_who_has_ended_is_not_believed(tmp_path: Path) -> None:
    """A killed command leaves its name; it is never told as who has the folder now."""
    gone = Holder("ann", Holder.here("x").host, 2**22 + 1, "gougi fleet up", 0.0)
    assert not gone.may_live
    other = held(tmp_path, 60)
    try:
        (tmp_path / NAME).write_text(json.dumps(asdict(gone)))
        with pytest.raises(FolderBusy, match="another program holds its lock"), locked(tmp_path, "x"):
            pytest.fail("both are in")
    finally:
        other.kill()
        other.wait()


def test_another_host_is_named() -> None:
    there = Holder("ann", "far.example", 7, "gougi fleet up --nodes 3", time.time() - 150)
    assert there.may_live
    words = there.words(time.time())
    assert words.startswith("ann runs `gougi fleet up --nodes 3` on far.example (process 7) since ")
    assert words.endswith(" (2 min)")


# Where the lock does not reach: another machine, or terraform by hand


@pytest.fixture
def fleet(tmp_path: Path) -> Terraform:
    (tmp_path / "module").mkdir()
    (tmp_path / "main.tf").write_text(ROOT_MODULE)
    (tmp_path / "module" / "main.tf").write_text(MODULE)
    terraform = Terraform(find(), tmp_path)
    terraform.init()
    return terraform


@needs_terraform
@pytest.mark.parametrize("begun", [False, True])
def test_a_plan_that_is_out_of_date_is_refused_in_plain_words(fleet: Terraform, begun: bool) -> None:
    if begun:
        fleet.plan("first", {"nodes": 1})
        fleet.apply("first")
    fleet.plan("mine", {"nodes": 3})
    fleet.plan("theirs", {"nodes": 2})
    fleet.apply("theirs")
    with pytest.raises(TerraformError, match=r"somebody else has changed it meanwhile\. Nothing was done; run the"):
        fleet.apply("mine")
    assert fleet.output()["fleet"]["nodes"] == 2


@needs_terraform
def test_another_terraform_at_work_is_told_in_plain_words(fleet: Terraform, tmp_path: Path) -> None:
    module = tmp_path / "module" / "main.tf"
    module.write_text(module.read_text().replace("sleep 0.05", f"touch {tmp_path}/begun; sleep 60"))
    fleet.plan("theirs", {"nodes": 1})
    words = [find(), "apply", "-input=false", "theirs"]
    other = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "begun").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        with pytest.raises(TerraformError, match=r"another terraform is changing this fleet \(\S+@\S+, since 20"):
            fleet.plan("mine", {"nodes": 3})
    finally:
        os.killpg(other.pid, signal.SIGKILL)
        other.wait()


def test_what_was_not_agreed_to_is_named() -> None:
    def plan(*addresses: str) -> object:
        return {
            "resource_changes": [
                {"address": address, "type": "t", "mode": "managed", "change": {"actions": ["delete"]}}
                for address in addresses
            ]
        }

    shown, rest = read_plan(plan("t.a", "t.b")), read_plan(plan("t.b", "t.c"))
    assert rest.beyond(shown) == ("t.c",)
    assert read_plan(plan("t.b")).beyond(shown) == ()

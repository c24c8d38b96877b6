"""The operator's folder: root module, release, and its lock."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from master.cloud.folder import LOCK, ROOT_MODULE, FleetFolder, FolderBusy, FolderError, root_module
from master.cloud.plan import FleetLocation, read_plan
from master.config import FleetConfig
from tests.master.command import ROOT

OUTPUT = {"name": "gougi", "region": "us-east-1", "bucket": "games", "bucket_is_own": True}
LOCATION = FleetLocation("gougi", "us-east-1", "games", bucket_is_own=True)


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """The parts of a checkout that a folder needs; its bundle.sh makes a file."""
    (tmp_path / "terraform").mkdir()
    (tmp_path / "terraform" / "variables.tf").touch()
    scripts = tmp_path / "deploy" / "scripts"
    scripts.mkdir(parents=True)
    (scripts / "bundle.sh").write_text("echo a release >$1\n")
    return tmp_path / "terraform"


def settings(module: Path, **more: object) -> FleetConfig:
    return FleetConfig(module=str(module), **more)  # type: ignore[arg-type]


def test_the_root_module_passes_everything_on() -> None:
    given = FleetConfig(region="eu-west-1", name="mine", variables={"spot_percent": 50, "tags": {"who": "me"}})
    root = root_module(given, "../terraform", "/r.tar", "/c.toml", stand_in=False)
    assert root["provider"]["aws"] == {"region": "eu-west-1"}
    fleet = root["module"]["fleet"]
    assert fleet["nodes"] == "${var.nodes}"
    assert (fleet["name"], fleet["spot_percent"], fleet["tags"]) == ("mine", 50, {"who": "me"})
    assert "csa_port" not in fleet
    assert root_module(given, "m", "r", "c", stand_in=False, port=4082)["module"]["fleet"]["csa_port"] == 4082
    assert "price_cap_usd" not in fleet
    capped = given.model_copy(update={"price_cap_usd": 20.0})
    assert root_module(capped, "m", "r", "c", stand_in=False)["module"]["fleet"]["price_cap_usd"] == 20
    assert root["output"] == {"fleet": {"value": "${module.fleet}"}}


def test_a_fleet_stays_in_its_zone(tmp_path: Path, module: Path) -> None:
    """AWS may offer other zones meanwhile. Its owner can still move it, and a new fleet goes to a zone with room."""
    folder = FleetFolder(tmp_path / "fleet")

    def zone(there: FleetLocation | None, **more: object) -> object:
        (module / "variables.tf").write_text('variable "availability_zone" {}\n')
        folder.prepare(settings(module, **more), tmp_path / "gougi.toml", rebuild=False, there=there)
        return json.loads((folder.path / ROOT_MODULE).read_text())["module"]["fleet"].get("availability_zone")

    assert zone(None) is None
    location = read_plan({"output_changes": {"fleet": {"after": OUTPUT | {"zone": "us-east-1c"}}}}).location
    assert zone(location) == "us-east-1c"
    assert zone(location, variables={"availability_zone": "us-east-1d"}) == "us-east-1d"
    assert zone(read_plan({"output_changes": {"fleet": {"after": OUTPUT | {"zone": None}}}}).location) is None


def test_text_means_itself() -> None:
    given = FleetConfig(variables={"tags": {"a": '${file("/etc/shadow")}', "b": ["%{ if true }"]}})
    tags = root_module(given, "./m", "r", "c", stand_in=False)["module"]["fleet"]["tags"]
    assert tags == {"a": '$${file("/etc/shadow")}', "b": ["%%{ if true }"]}


def test_a_folder_is_made_ready_and_only_its_owner_reads_it(tmp_path: Path, module: Path) -> None:
    folder = FleetFolder(tmp_path / "state" / "fleet")
    assert not folder.exists
    folder.prepare(settings(module), None, rebuild=False)
    assert folder.exists
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    fleet = json.loads((folder.path / ROOT_MODULE).read_text())["module"]["fleet"]
    assert os.path.samefile(folder.path / fleet["source"], module)
    assert Path(fleet["release_file"]).parent == folder.path
    assert fleet["config_file"] == str(tmp_path / "deploy" / "gougi.toml")


def bundles(module: Path, text: str) -> None:
    """Make releases with this content from now on."""
    (module.parent / "deploy" / "scripts" / "bundle.sh").write_text(f"echo {text} >$1\n")


def release(folder: FleetFolder) -> str:
    """The release in the root module."""
    root = json.loads((folder.path / ROOT_MODULE).read_text())
    return Path(root["module"]["fleet"]["release_file"]).read_text().strip()


def test_a_release_is_made_once_or_when_asked_for(tmp_path: Path, module: Path) -> None:
    folder = FleetFolder(tmp_path / "fleet")
    for text, rebuild in (("first", False), ("second", False), ("third", True)):
        bundles(module, text)
        folder.prepare(settings(module), None, rebuild=rebuild)
    assert release(folder) == "third"
    (module.parent / "deploy" / "scripts" / "bundle.sh").write_text("echo half >$1; echo no network >&2; exit 1\n")
    with pytest.raises(FolderError, match="the release cannot be made: no network"):
        folder.prepare(settings(module), None, rebuild=True)
    assert release(folder) == "third", "the running fleet was made with it"
    assert not list(folder.path.glob("*.new.tar"))


def test_a_new_release_counts_once_its_plan_is_applied(tmp_path: Path, module: Path) -> None:
    folder = FleetFolder(tmp_path / "fleet")
    bundles(module, "old")
    folder.prepare(settings(module), None, rebuild=False)
    there = folder.keep_release(LOCATION)
    bundles(module, "new")
    folder.prepare(settings(module), None, rebuild=True, there=there)
    assert release(folder) == "new"
    folder.prepare(settings(module), None, rebuild=False, there=there)
    assert release(folder) == "old", "nobody confirmed the new one"
    folder.prepare(settings(module), None, rebuild=True, there=there)
    there = folder.keep_release(LOCATION)
    folder.prepare(settings(module), None, rebuild=False, there=there)
    assert release(folder) == "new"
    assert [path.read_text() for path in folder.path.glob("release*")] == ["new\n"]


def test_another_machine_gets_the_release_that_the_fleet_has(tmp_path: Path, module: Path) -> None:
    folder, there = FleetFolder(tmp_path / "fleet"), replace(LOCATION, release="release-0123.tar")
    asked: list[str] = []

    def fetch(name: str, path: Path) -> bool:
        asked.append(name)
        path.write_text("as in the bucket")
        return True

    folder.prepare(settings(module), None, rebuild=False, there=there, fetch=fetch)
    assert release(folder) == "as in the bucket" and asked == ["release-0123.tar"]


def test_a_release_from_elsewhere_is_not_removed(tmp_path: Path, module: Path) -> None:
    (tmp_path / "mine.tar").write_text("mine")
    (module / "variables.tf").write_text('variable "release_file" {\n}\n')
    folder = FleetFolder(tmp_path / "fleet")
    wanted = settings(module, variables={"release_file": str(tmp_path / "mine.tar")})
    folder.prepare(wanted, None, rebuild=False)
    assert folder.keep_release(LOCATION) == LOCATION and release(folder) == "mine"


def prepared(folder: FleetFolder, wanted: FleetConfig) -> None:
    folder.prepare(wanted, None, rebuild=False)
    assert wanted.name in (folder.path / "gougi.tf.json").read_text()
    raise KeyError  # as terraform, which finds an error in it


def test_a_plan_that_fails_leaves_the_root_module_as_it_was(tmp_path: Path, module: Path) -> None:
    folder = FleetFolder(tmp_path / "fleet")
    with pytest.raises(KeyError), folder.root_module_of_success():
        prepared(folder, settings(module))
    written = (folder.path / "gougi.tf.json").read_bytes()
    with pytest.raises(KeyError), folder.root_module_of_success():
        prepared(folder, settings(module, name="another"))
    assert (folder.path / "gougi.tf.json").read_bytes() == written


def test_what_is_missing_is_said(tmp_path: Path, module: Path) -> None:
    folder = FleetFolder(tmp_path / "fleet")
    with pytest.raises(FolderError, match="/nowhere: no terraform module: run gougi from a checkout"):
        folder.prepare(FleetConfig(module="/nowhere"), None, rebuild=False)
    (module.parent / "deploy" / "scripts" / "bundle.sh").write_text("echo no such Python >&2; touch $1; exit 1\n")
    (module / "variables.tf").write_text('variable "nodes" {\n}\nvariable "tags" {\n}\n')
    twice = settings(module, variables={"nodes": 3})
    with pytest.raises(FolderError, match=r"variables\.nodes: the number is `\[fleet\] nodes`"):
        folder.prepare(twice, None, rebuild=False)
    misspelt = settings(module, variables={"tagz": {}})
    with pytest.raises(
        FolderError, match=r"my\.toml: \[fleet\] variables\.tagz: no such variable; .* has: nodes, tags$"
    ):
        folder.prepare(misspelt, tmp_path / "my.toml", rebuild=False)
    with pytest.raises(FolderError, match="the release cannot be made: no such Python"):
        folder.prepare(settings(module), None, rebuild=False)
    assert not list(folder.path.glob("release*"))


# The lock

HOLD = """
import sys, time
from pathlib import Path
from master.cloud.folder import FleetFolder
with FleetFolder(Path(sys.argv[1])).locked("gougi fleet scale 7"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_operator_at_a_time_and_a_killed_one_holds_no_lock(tmp_path: Path) -> None:
    words = [sys.executable, "-c", HOLD, str(tmp_path)]
    folder = FleetFolder(tmp_path)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        with pytest.raises(FolderBusy) as raised, folder.locked("gougi fleet down"):
            pytest.fail("both are in")
        assert str(raised.value) == (
            f"{tmp_path} is in use: `gougi fleet scale 7` (process {other.pid}) is not done yet; "
            "try again when it has ended"
        )
        other.send_signal(signal.SIGKILL)
    with folder.locked("gougi fleet up"):
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
        assert "fleet up" in (tmp_path / LOCK).read_text()


def test_a_folder_that_stays_empty_goes_again(tmp_path: Path) -> None:
    folder = FleetFolder(tmp_path / "state" / "fleet")
    with folder.locked("gougi fleet up"):
        assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert not folder.path.exists()
    with folder.locked("gougi fleet up"):
        (folder.path / "something").touch()
    assert folder.path.exists()


KILLED = """
import subprocess, sys, time
from pathlib import Path
from master.cloud.folder import FleetFolder
folder = FleetFolder(Path(sys.argv[1]))
with folder.locked("gougi fleet up"):
    subprocess.Popen(["sleep", "1"], pass_fds=[folder.lock], start_new_session=True)
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_terraform_of_a_command_that_was_killed_is_waited_for(tmp_path: Path) -> None:
    folder, told = FleetFolder(tmp_path), list[str]()
    words = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        other.send_signal(signal.SIGKILL)
        other.wait()
        with folder.locked("gougi fleet status", told.append) as killed:
            assert killed == f"`gougi fleet up` (process {other.pid})"
    assert told == [f"{killed} was killed; its terraform is still at work, and is waited for"]
    with folder.locked("gougi fleet status") as killed:
        assert killed == ""

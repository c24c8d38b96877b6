"""The operator's folder, the archive and the configuration's section."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from master.cloud.archive import Archive, ArchiveError, FolderArchive, S3Archive, in_folder, open_archive
from master.cloud.folder import ROOT_MODULE, FleetFolder, FolderError, root_module
from master.cloud.plan import FleetLocation, read_plan
from master.config import FleetConfig

OUTPUT = {"name": "gougi", "region": "us-east-1", "bucket": "games", "bucket_is_own": True}
LOCATION = FleetLocation("gougi", "us-east-1", "games", bucket_is_own=True)


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A checkout as far as a folder needs it; its bundle.sh says how often it ran."""
    (tmp_path / "terraform").mkdir()
    (tmp_path / "terraform" / "variables.tf").touch()
    scripts = tmp_path / "deploy" / "scripts"
    scripts.mkdir(parents=True)
    # Each release says how many there were.
    (scripts / "bundle.sh").write_text('at=$(dirname "$0"); echo made >>"$at/count"; cat "$at/count" >"$1"\n')
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
    assert root["output"] == {"fleet": {"value": "${module.fleet}"}}


def test_prices_of_the_list_go_to_terraform_and_the_users_stand_over_them() -> None:
    given = FleetConfig(variables={"usd_per_hour": {"c7i.large": 1.0, "endpoint": 0.1}})
    listed = {"c7i.large": 2.0, "x9.large": 3.0}
    fleet = root_module(given, "./m", "r", "c", stand_in=False, prices=listed)["module"]["fleet"]
    assert fleet["usd_per_hour"] == {"c7i.large": 1.0, "x9.large": 3.0, "endpoint": 0.1}


def test_a_fleet_stays_in_its_zone(tmp_path: Path, module: Path) -> None:
    """AWS may offer something else meanwhile. Its owner can still move it, and a new fleet goes where there is room."""
    folder = FleetFolder(tmp_path / "fleet")

    def zone(**more: object) -> object:
        (module / "variables.tf").write_text('variable "availability_zone" {}\n')
        folder.prepare(settings(module, **more), tmp_path / "gougi.toml", rebuild=False)
        return json.loads((folder.path / ROOT_MODULE).read_text())["module"]["fleet"].get("availability_zone")

    assert zone() is None
    location = read_plan({"output_changes": {"fleet": {"after": OUTPUT | {"zone": "us-east-1c"}}}}).location
    folder.set_location(location)
    assert zone() == "us-east-1c"
    assert zone(variables={"availability_zone": "us-east-1d"}) == "us-east-1d"
    assert zone(name="another") is None
    folder.set_location(read_plan({"output_changes": {"fleet": {"after": OUTPUT | {"zone": None}}}}).location)
    assert zone() is None
    folder.set_location(None)
    assert zone() is None


def test_text_means_itself() -> None:
    given = FleetConfig(variables={"tags": {"a": '${file("/etc/shadow")}', "b": ["%{ if true }"]}})
    tags = root_module(given, "./m", "r", "c", stand_in=False)["module"]["fleet"]["tags"]
    assert tags == {"a": '$${file("/etc/shadow")}', "b": ["%%{ if true }"]}


def test_a_folder_is_made_ready_and_only_its_owner_reads_it(tmp_path: Path, module: Path) -> None:
    folder = FleetFolder(tmp_path / "state" / "fleet")
    assert not folder.exists
    folder.prepare(settings(module), None, rebuild=False)
    assert folder.exists and folder.nodes is None
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    fleet = json.loads((folder.path / ROOT_MODULE).read_text())["module"]["fleet"]
    assert os.path.samefile(folder.path / fleet["source"], module)
    assert fleet["release_file"] == str(folder.path / "release.tar")
    assert fleet["config_file"] == str(tmp_path / "deploy" / "gougi.toml")


def test_a_number_that_was_scaled_to_stays(tmp_path: Path, module: Path) -> None:
    folder = FleetFolder(tmp_path / "fleet")
    folder.prepare(settings(module, nodes=2), None, rebuild=False)
    folder.set_nodes(16)
    folder.prepare(settings(module, nodes=2), None, rebuild=False)
    assert FleetFolder(folder.path).nodes == 16


def test_a_plan_has_a_file_of_its_own_that_others_cannot_read(tmp_path: Path) -> None:
    folder = FleetFolder(tmp_path)
    first, second = folder.new_plan(), folder.new_plan()
    assert first != second
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    folder.drop_plans()
    assert list(tmp_path.iterdir()) == []


def test_a_release_is_made_once_or_when_asked_for(tmp_path: Path, module: Path) -> None:
    folder = FleetFolder(tmp_path / "fleet")
    for rebuild in (False, False, True):
        folder.prepare(settings(module), None, rebuild=rebuild)
    assert (folder.path / "release.tar").read_text() == "made\nmade\n"
    (module.parent / "deploy" / "scripts" / "bundle.sh").write_text("echo half >$1; echo no network >&2; exit 1\n")
    with pytest.raises(FolderError, match="the release cannot be made: no network"):
        folder.prepare(settings(module), None, rebuild=True)
    assert (folder.path / "release.tar").read_text() == "made\nmade\n", "the fleet that runs was made with it"
    assert not list(folder.path.glob("*.new.tar"))


def test_a_new_release_counts_once_its_plan_is_applied(tmp_path: Path, module: Path) -> None:
    folder = FleetFolder(tmp_path / "fleet")
    release = folder.path / "release.tar"
    folder.prepare(settings(module), None, rebuild=False)
    folder.restore_release()
    assert release.read_text() == "made\n"
    folder.set_location(LOCATION)
    for settle in (folder.restore_release, folder.keep_release):
        for _ in range(2):
            release.write_text("that of the fleet")
            (module.parent / "deploy" / "scripts" / "bundle.sh").write_text("echo new >$1\n")
            folder.prepare(settings(module), None, rebuild=True)
            folder.prepare(settings(module), None, rebuild=True)
            assert release.read_text() == "new\n"
            settle()
            folder.restore_release()
            wanted = "new\n" if settle == folder.keep_release else "that of the fleet"
            assert release.read_text() == wanted
    folder.prepare(settings(module), None, rebuild=True)
    (folder.path / "fleet.json").write_text("")
    folder.restore_release()
    assert release.read_text() == "new\n", "there may be a fleet: its end needs what it was made with"
    folder.set_location(None)
    (module.parent / "deploy" / "scripts" / "bundle.sh").write_text("echo newest >$1\n")
    folder.prepare(settings(module), None, rebuild=True)
    folder.restore_release()
    assert release.read_text() == "newest\n", "no fleet was made with the one before"
    assert [path.name for path in folder.path.glob("release*")] == ["release.tar"]


def prepared(folder: FleetFolder, wanted: FleetConfig) -> None:
    folder.prepare(wanted, None, rebuild=False)
    assert wanted.name in (folder.path / "gougi.tf.json").read_text()
    raise KeyError  # as terraform, which finds a fault in it


def test_a_plan_that_fails_leaves_the_root_module_as_it_was(tmp_path: Path, module: Path) -> None:
    folder = FleetFolder(tmp_path / "fleet")
    with pytest.raises(KeyError), folder.root_module_of_success():
        prepared(folder, settings(module))
    written = (folder.path / "gougi.tf.json").read_bytes()
    with pytest.raises(KeyError), folder.root_module_of_success():
        prepared(folder, settings(module, name="another"))
    assert (folder.path / "gougi.tf.json").read_bytes() == written


def test_a_root_module_of_ones_own_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text("# mine")
    folder = FleetFolder(tmp_path)
    folder.prepare(FleetConfig(module="/nowhere"), None, rebuild=False)
    assert not (tmp_path / ROOT_MODULE).exists()


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
    assert not (folder.path / "release.tar").exists()
    (folder.path / "nodes.auto.tfvars.json").write_text("many")
    with pytest.raises(FolderError, match=r'expected \{"nodes": N\}'):
        _ = folder.nodes


def test_prices_are_kept_by_region_and_type(tmp_path: Path) -> None:
    folder = FleetFolder(tmp_path / "fleet")
    assert folder.prices("us-east-1") == {}
    folder.keep_prices("us-east-1", {"c7i.large": 1.0, "x9.large": 2.0})
    folder.keep_prices("eu-west-1", {"c7i.large": 5.0})
    folder.keep_prices("us-east-1", {"x9.large": 3.0})
    assert FleetFolder(folder.path).prices("us-east-1") == {"c7i.large": 1.0, "x9.large": 3.0}
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    for wrong in ("[]", "{", '{"us-east-1": 3}', '{"us-east-1": {"a": []}}'):
        (folder.path / "prices.json").write_text(wrong)
        with pytest.raises(FolderError, match=r"prices\.json: not what gougi fleet wrote there"):
            folder.prices("us-east-1")


# The archive


@pytest.fixture(params=["folder", "s3"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> object:
    if request.param == "folder":
        yield FolderArchive(tmp_path / "archive")
        return
    with mock_aws():
        s3 = boto3.client("s3", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
        s3.create_bucket(Bucket="games")
        s3.put_bucket_versioning(Bucket="games", VersioningConfiguration={"Status": "Enabled"})
        yield S3Archive(s3, "games", "mine")


def test_things_are_put_replaced_listed_and_purged(archive: Archive) -> None:
    assert archive.get("records/a.csa") is None
    for key, data in (("records/a.csa", b"1"), ("records/a.csa", b"2"), ("logs/b.jsonl", b"3")):
        archive.put(key, data)
    assert archive.get("records/a.csa") == b"2"
    assert archive.keys("") == ["logs/b.jsonl", "records/a.csa"]
    assert archive.keys("records/") == ["records/a.csa"]
    archive.purge("records/")
    assert archive.keys("") == ["logs/b.jsonl"]
    archive.purge("")
    assert archive.keys("") == []


@mock_aws
def test_a_bucket_is_empty_of_versions_too() -> None:
    s3 = boto3.client("s3", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    s3.create_bucket(Bucket="games")
    s3.put_bucket_versioning(Bucket="games", VersioningConfiguration={"Status": "Enabled"})
    archive = S3Archive(s3, "games", "")
    archive.put("a", b"1")
    archive.put("a", b"2")
    s3.delete_object(Bucket="games", Key="a")
    archive.purge("")
    s3.delete_bucket(Bucket="games")  # AWS refuses it where anything is left


def test_what_s3_does_not_remove_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with mock_aws():
        s3 = boto3.client("s3", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
        s3.create_bucket(Bucket="games")
        archive = S3Archive(s3, "games", "")
        archive.put("a", b"1")
        refused = {"Errors": [{"Key": "a", "Code": "SlowDown", "Message": "Please reduce your request rate."}]}
        monkeypatch.setattr(s3, "delete_objects", lambda **_: refused)
        with pytest.raises(ArchiveError, match="a cannot be removed: Please reduce"):
            archive.purge("")


@mock_aws
def test_a_bucket_that_is_not_there() -> None:
    s3 = boto3.client("s3", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    with pytest.raises(ArchiveError, match="s3://nowhere/a: there is no such bucket"):
        S3Archive(s3, "nowhere", "").put("a", b"1")


@pytest.mark.parametrize("name", ["", "s3://", "ftp://host/x"])
def test_names_that_are_no_archive(name: str) -> None:
    with pytest.raises(ArchiveError, match="expected s3://BUCKET/PREFIX or a folder"):
        open_archive(name)


def test_a_disk_that_refuses(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ArchiveError, match="file/a: File exists"):
        FolderArchive(tmp_path / "file").put("a", b"1")


@pytest.mark.parametrize("key", ["../evil", "records/../../evil", "/etc/evil", "records//evil", "records/", "a/.", ""])
def test_a_key_that_lies_outside_the_folder_is_refused(tmp_path: Path, key: str) -> None:
    assert not in_folder(key)
    with pytest.raises(ArchiveError, match="no path inside it"):
        FolderArchive(tmp_path / "archive" / "of").put(key, b"")
    assert not list(tmp_path.rglob("*"))


@pytest.mark.parametrize("key", ["records/game.csa", "..a/b..", "book.db"])
def test_a_key_of_ours_lies_in_the_folder(key: str) -> None:
    assert in_folder(key)

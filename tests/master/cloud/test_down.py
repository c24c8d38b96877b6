"""`gougi fleet down` after terraform has lost its outputs or ran out of time: AWS's stand-in, simulated terraform."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest

from master.cloud import operator as operators
from master.cloud.agreed import TAG
from master.cloud.folder import ROOT_MODULE, FleetFolder
from master.cloud.kept import InBucket, Kept, read_state
from master.cloud.operator import Operator
from master.cloud.plan import FleetLocation
from master.cloud.terraform import Step, TerraformError
from master.commands import fleet_down as command
from master.commands.common import CommandError
from master.config import FleetConfig

pytestmark = pytest.mark.slow

REGION, BUCKET = "eu-west-1", "mine-games"
OURS = [{"Key": TAG, "Value": "mine"}]
LOCATION = FleetLocation("mine", REGION, BUCKET, bucket_is_own=True)
BUCKET_ADDRESS, HEAD_ADDRESS = "module.fleet.aws_s3_bucket.this[0]", "module.fleet.aws_instance.this[0]"


class Played:
    """Terraform with a fleet of a bucket and a head; its outputs are gone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.managed = [BUCKET_ADDRESS, HEAD_ADDRESS]
        self.force = False
        self.fails = ""
        self.asked: list[str] = []
        self.s3 = boto3.client("s3", region_name=REGION)

    def init(self) -> None:
        pass

    def state(self) -> str:
        resources = [
            {
                "module": "module.fleet",
                "mode": "managed",
                "type": address.split(".")[2],
                "name": "this",
                "instances": [{"index_key": 0, "attributes": {"arn": f"arn:aws:s3:::{BUCKET}"}}],
            }
            for address in self.managed
        ]
        return json.dumps({"version": 4, "outputs": {}, "resources": resources})

    def plan(self, _file: str, _variables: dict[str, int], *, destroy: bool = False) -> Any:
        self.asked.append("plan")
        if not destroy:
            usd = {"head": 0.2, "node": None, "all": None}
            after = {"name": "mine", "region": REGION, "bucket": BUCKET, "bucket_is_own": True, "usd_per_hour": usd}
            made = {
                "address": HEAD_ADDRESS,
                "type": "aws_instance",
                "mode": "managed",
                "change": {"actions": ["create"]},
            }
            return {"resource_changes": [made], "output_changes": {"fleet": {"after": after}}}
        kinds = {address: address.split(".")[2] for address in self.managed}
        return {
            "resource_changes": [
                {
                    "address": address,
                    "type": kind,
                    "mode": "managed",
                    "change": {"actions": ["delete"], "before": {"force_destroy": self.force}},
                }
                for address, kind in kinds.items()
            ]
        }

    def apply(self, _file: str, _tell: Callable[[Step], None]) -> None:
        if self.fails:
            raise TerraformError(self.fails)
        self.managed = [BUCKET_ADDRESS]
        if self.keys() and not self.force:
            raise TerraformError("terraform apply: this\nand that\nand 2 errors more")
        for key in self.keys():
            self.s3.delete_object(Bucket=BUCKET, Key=key)
        self.s3.delete_bucket(Bucket=BUCKET)
        self.managed = []

    def keys(self) -> list[str]:
        return [entry["Key"] for entry in self.s3.list_objects_v2(Bucket=BUCKET).get("Contents", ())]


@pytest.fixture
def played(aws: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    """A fleet whose state is the played terraform's."""
    monkeypatch.setenv("GOUGI_FLEET_REGION", REGION)
    monkeypatch.setenv("GOUGI_FLEET_NAME", "mine")
    terraform = Played(tmp_path)
    terraform.s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    terraform.s3.put_bucket_tagging(Bucket=BUCKET, Tagging={"TagSet": OURS})
    terraform.s3.put_object(Bucket=BUCKET, Key="mine/records/game.csa", Body=b"V3.0")
    terraform.s3.put_object(Bucket=BUCKET, Key="mine/config/gougi.toml", Body=b"")
    monkeypatch.setattr(operators, "find", lambda _named: "terraform")
    monkeypatch.setattr(operators, "Terraform", lambda _program, _folder, _environment, _lock: terraform)
    monkeypatch.setattr(InBucket, "state", lambda _self: read_state(terraform.state().encode()))
    (tmp_path / ROOT_MODULE).write_text('{"module": {"fleet": {"release_file": ""}}}')
    owner(terraform).keeper.make()
    return terraform


def owner(played: Played) -> Operator:
    return Operator(FleetConfig(folder=str(played.folder), region=REGION, name="mine"), None)


def down(played: Played) -> int:
    return command.down(yes=True, wait=0, folder=str(played.folder))


def game(played: Played) -> bytes:
    return (played.folder / "bucket" / "records" / "game.csa").read_bytes()


def test_of_a_users_own_bucket_only_the_machines_reports_go(
    played: Played, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    owner(played).keeper.write(Kept(location=replace(LOCATION, bucket_is_own=False)))
    for key in ("mine/fleet/machines/i-1.json", "other/fleet/machines/i-1.json", "photos/cat.jpg"):
        played.s3.put_object(Bucket=BUCKET, Key=key, Body=b"x")
    played.managed = [HEAD_ADDRESS]
    monkeypatch.setattr(played, "apply", lambda _file, _tell: played.managed.clear())
    assert down(played) == 0
    assert sorted(played.keys()) == [
        *("mine/config/gougi.toml", "mine/records/game.csa", "other/fleet/machines/i-1.json", "photos/cat.jpg")
    ]
    assert f"the bucket {BUCKET} stays" in capsys.readouterr().out


def test_a_book_of_the_fleet_before_stays_beside_the_new_one(played: Played) -> None:
    books = played.folder / "bucket" / "books"
    books.mkdir(parents=True)
    (books / "learned.sqlite").write_bytes(b"weeks")
    (books / "learned.sqlite.1").write_bytes(b"years")
    played.s3.put_object(Bucket=BUCKET, Key="mine/books/learned.sqlite", Body=b"a day")
    owner(played).keeper.write(Kept(location=LOCATION))
    played.managed = [BUCKET_ADDRESS]
    assert down(played) == 0
    found = {path.name: path.read_bytes() for path in books.iterdir()}
    assert found == {"learned.sqlite": b"a day", "learned.sqlite.1": b"years", "learned.sqlite.2": b"weeks"}


def test_the_bucket_names_the_fleets_place_from_the_first_change_on(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FleetFolder, "prepare", lambda *_, **__: None)
    monkeypatch.setattr(Operator, "strays", lambda _self, _state: ())
    operator = owner(played)
    planned = operator.plan(1, tell=lambda _text: None)
    assert operator.location() is None
    played.fails = "no way"
    with pytest.raises(TerraformError):
        operator.apply(planned, lambda _step: None)
    assert owner(played).location() == LOCATION


def test_remains_are_found_and_removed_in_the_fleets_region(
    played: Played, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    owner(played).keeper.write(Kept(location=LOCATION))
    ec2 = boto3.client("ec2", region_name=REGION)
    tags = [{"ResourceType": "volume", "Tags": OURS}]
    volume = ec2.create_volume(AvailabilityZone="eu-west-1a", Size=1, TagSpecifications=tags)["VolumeId"]
    with monkeypatch.context() as patched:
        patched.setattr(Operator, "strays", lambda _self, _state: ())
        with pytest.raises(CommandError, match="1 thing of the fleet mine left"):
            down(played)
    assert f"left: Volumes {volume}" in capsys.readouterr().out
    assert down(played) == 0
    shown = capsys.readouterr().out
    assert f"removed: Volumes {volume}" in shown and "nothing is left of the fleet mine" in shown
    assert owner(played).location() is None


def test_a_signal_to_end_leaves_the_bucket_as_it_is(
    played: Played, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Even if terraform fails, after which the end would continue by emptying it."""
    owner(played).keeper.write(Kept(location=LOCATION))
    apply = played.apply

    def signalled(file: str, tell: Callable[[Step], None]) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.05)
        apply(file, tell)

    monkeypatch.setattr(played, "apply", signalled)
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)  # another test of this process may have it ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            down(played)
    finally:
        signal.signal(signal.SIGTERM, before)
    keys = played.keys()
    assert "mine/records/game.csa" in keys and played.asked.count("plan") == 1
    assert "terraform apply: this" in capsys.readouterr().err


def test_a_bucket_that_is_left_of_an_end_that_was_interrupted_is_emptied(played: Played) -> None:
    owner(played).keeper.write(Kept(location=LOCATION))
    played.managed = [BUCKET_ADDRESS]
    assert down(played) == 0
    assert game(played) == b"V3.0"
    assert not played.managed
    assert played.asked == ["plan", "plan"]


def test_while_a_machine_may_write_to_the_bucket_it_is_not_emptied(played: Played) -> None:
    owner(played).keeper.write(Kept(location=LOCATION))
    played.fails = "BucketNotEmpty, and the head cannot be ended"
    with pytest.raises(CommandError, match="the head cannot be ended"):
        down(played)
    assert len(played.keys()) == 2


def test_a_bucket_that_goes_full_is_copied_before_and_nothing_outside_the_folder_is_written(
    played: Played, capsys: pytest.CaptureFixture[str]
) -> None:
    owner(played).keeper.write(Kept(location=LOCATION))
    played.s3.put_object(Bucket=BUCKET, Key="mine/records/../../evil", Body=b"")
    played.force = True
    assert down(played) == 0
    assert game(played) == b"V3.0"
    assert not (played.folder / "evil").exists()
    assert "not copied: 'records/../../evil'" in capsys.readouterr().out


def test_of_a_state_that_is_lost_the_fleet_is_removed_by_its_tag_and_its_games_are_copied(
    played: Played, capsys: pytest.CaptureFixture[str]
) -> None:
    owner(played).keeper.write(Kept(location=LOCATION))
    played.managed = []
    assert down(played) == 0
    assert game(played) == b"V3.0"
    assert [each["Name"] for each in played.s3.list_buckets()["Buckets"]] == [owner(played).keeper.name]
    assert "- remove   arn:aws:s3:::mine-games" in capsys.readouterr().out

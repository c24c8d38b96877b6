"""Prices that `gougi fleet plan` gives terraform: the same whether AWS's price list answers this time or not."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from master.cloud.aws import AwsError
from master.cloud.cloud import Cloud
from master.cloud.folder import ROOT_MODULE
from master.cloud.operator import Operator, UnheededLimit
from master.commands import fleet as command
from master.commands.common import CommandError
from master.config import FleetConfig


class Market(Cloud):
    """The price list; without ``usd`` it does not answer."""

    usd: ClassVar[dict[str, float]] = {}
    asked: ClassVar[list[str]] = []

    def account(self) -> str:
        return "123456789012"

    @property
    def region(self) -> str:
        if self._region is None:
            raise AwsError("ec2: no region")
        return self._region

    def on_demand_price(self, kind: str, region: str) -> float | None:
        self.asked.append(kind)
        if not self.usd:
            raise AwsError("AWS's price list: AWS wants fewer requests")
        return self.usd.get(kind)


class Planned:
    """Terraform, as far as a plan asks for it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, int]]] = []
        self.applied: list[str] = []

    def init(self) -> None: ...

    def plan(self, file: str, variables: dict[str, int], *, destroy: bool) -> Any:
        assert not destroy
        self.asked.append((file, variables))
        made = {"address": "t.a", "type": "t", "mode": "managed", "change": {"actions": ["create"]}}
        return {"resource_changes": [made]}

    def apply(self, file: str, _tell: object) -> None:
        self.applied.append(file)


class Owner(Operator):
    def __init__(self, folder: Path, region: str = "us-east-1") -> None:
        (folder / "release.tar").touch()
        variables = {"release_file": str(folder / "release.tar")}
        settings = FleetConfig(
            folder=str(folder / "state"), region=region, instance_types=("x9.large",), variables=variables
        )
        super().__init__(settings, None)
        self.played = Planned()
        self._terraform = self.played  # type: ignore[assignment]
        self.told: list[str] = []

    def cloud(self, region: str | None = None) -> Cloud:
        return Market(region or self._settings.region or None)

    def priced(self) -> Any:
        """The price that the written root module gives terraform."""
        self.plan(None, tell=self.told.append)
        root = json.loads((self.folder.path / ROOT_MODULE).read_text())
        return root["module"]["fleet"].get("usd_per_hour")


@pytest.fixture(autouse=True)
def _market(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Market, "usd", {"x9.large": 7.0, "c7i.xlarge": 0.2})
    monkeypatch.setattr(Market, "asked", [])


def test_a_list_that_does_not_answer_changes_nothing_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Owner(tmp_path)
    assert first.priced() == {"x9.large": 7.0, "c7i.xlarge": 0.2}
    assert len(first.told) == 1  # that terraform plans
    monkeypatch.setattr(Market, "usd", {})
    second = Owner(tmp_path)
    assert second.priced() == {"x9.large": 7.0, "c7i.xlarge": 0.2}
    assert second.told[0] == (
        "AWS's price list: AWS wants fewer requests; what it said last counts for c7i.xlarge, x9.large; "
        "terraform/prices.json for the rest"
    )


def test_a_list_that_never_answered_is_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Market, "usd", {})
    owner = Owner(tmp_path)
    assert owner.priced() is None
    assert owner.told[0] == "AWS's price list: AWS wants fewer requests; terraform/prices.json for the rest"


@pytest.mark.parametrize("name", ["price_cap_usd", "idle_hours"])
def test_a_limit_that_the_head_would_not_heed_is_refused(name: str, tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    owner._settings = owner._settings.model_copy(update={name: 20.0})
    with pytest.raises(UnheededLimit, match=rf"gougi\.toml: \[fleet\] {name} is 0 there, and not 20"):
        owner.plan(1, tell=owner.told.append)
    (tmp_path / "head.toml").write_text(f"[fleet]\n{name} = 5\n")
    owner._settings.variables["config_file"] = str(tmp_path / "head.toml")
    with pytest.raises(UnheededLimit, match=rf"head\.toml: \[fleet\] {name} is 5 there, and not 20"):
        owner.plan(1, tell=owner.told.append)
    assert not owner.played.asked


def test_a_root_module_of_ones_own_gets_no_prices_and_needs_no_region(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "main.tf").touch()
    Owner(tmp_path, region="").plan(1, tell=lambda _text: None)
    assert Market.asked == []
    assert not (tmp_path / "state" / "prices.json").exists()


def test_without_a_region_there_are_no_prices(tmp_path: Path) -> None:
    assert Owner(tmp_path, region="").priced() is None
    assert Market.asked == []


def test_where_nobody_can_be_asked_nothing_is_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    owner = Owner(tmp_path)
    with pytest.raises(CommandError, match="there is no terminal to ask on: --yes"):
        command._change(owner, "up", lambda: pytest.fail("planned"), yes=False, wait_s=0, lock_wait_s=0)
    assert not owner.folder.exists


def test_a_number_is_kept_when_its_plan_is_applied(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    with owner.alone("gougi fleet plan", 0, owner.told.append):
        owner.plan(7, tell=owner.told.append)
        assert list(owner.folder.path.glob("plan-*"))
    assert owner.folder.nodes is None
    assert not list(owner.folder.path.glob("plan-*"))
    with owner.alone("gougi fleet up", 0, owner.told.append):
        first = owner.plan(7, tell=owner.told.append)
        second = owner.plan(3, tell=owner.told.append)
        with pytest.raises(ValueError, match="not the plan that was made last"):
            owner.apply(first, lambda _step: None)
        assert owner.played.applied == []
        owner.apply(second, lambda _step: None)
    files = [file for file, _ in owner.played.asked]
    assert owner.played.applied == files[-1:]
    assert len(set(files)) == 3
    assert owner.played.asked[-1][1] == {"nodes": 3}
    assert owner.folder.nodes == 3
    assert owner.nodes(None) == 3


def test_what_a_killed_command_left_goes_with_the_next(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    with owner.alone("gougi fleet up", 0, owner.told.append):
        owner.folder.set_nodes(1)
    left = owner.folder.new_plan()
    with owner.alone("gougi fleet up", 0, owner.told.append):
        assert not left.exists()

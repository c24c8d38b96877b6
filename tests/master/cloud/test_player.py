"""The head's login data is checked before anything is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from master.cloud import operator as operators
from master.cloud.aws import AwsError
from master.cloud.cloud import Cloud
from master.cloud.operator import Operator
from master.cloud.player import check_player, csa_port
from master.commands.common import BAD_INPUT, FAILED, CommandError
from master.commands.fleet_shared import clear_errors
from master.config import FleetConfig
from master.csa.login import LoginError

SECRET = "/gougi/floodgate"
CSA = '[csa]\nserver = "wdoor.c.u-tokyo.ac.jp:4081"\ngame = "floodgate-300-10F"\nname = "gougi"\n'


@pytest.fixture
def ssm(aws: None) -> Any:
    return boto3.client("ssm", region_name="us-east-1")


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Plan a fleet with that configuration, up to the step after the login check; returns the output."""

    class AfterTheCheck(Exception):
        pass

    def next_step(*_: object, **__: object) -> None:
        raise AfterTheCheck

    monkeypatch.setattr(operators, "find", lambda _named: "terraform")
    monkeypatch.setattr(operators.FleetFolder, "prepare", next_step)
    monkeypatch.setenv("GOUGI_CSA_GAME", "of-this-machine")  # not the head's

    def planned(text: str) -> list[str]:
        file = tmp_path / "gougi.toml"
        file.write_text(text)
        lines: list[str] = []
        settings = FleetConfig(folder=str(tmp_path / "fleet"), region="us-east-1", csa_password_parameter=SECRET)
        with pytest.raises(AfterTheCheck), clear_errors():
            Operator(settings, file).plan(1, tell=lines.append)
        return lines

    return planned


def put(ssm: Any, password: str) -> None:
    ssm.put_parameter(Name=SECRET, Value=password, Type="SecureString")


@pytest.mark.slow
def test_all_is_well(ssm: Any, plan: Callable[[str], list[str]]) -> None:
    put(ssm, "trip\n")  # as aws ssm put-parameter takes it from a file
    assert plan(CSA) == []


@pytest.mark.slow
def test_a_warning_is_told(ssm: Any, plan: Callable[[str], list[str]]) -> None:
    put(ssm, "trip")
    (line,) = plan(CSA.replace("floodgate-300-10F", "floodgate-1-1F"))
    assert line.startswith("warning: ") and "floodgate is not known to pair floodgate-1-1F" in line


@pytest.mark.slow
@pytest.mark.parametrize(
    ("password", "says"), [("two words", "its character 4 is a space"), ("secret-one,", "ends in a comma")]
)
def test_a_password_that_cannot_be_sent(
    ssm: Any, plan: Callable[[str], list[str]], tmp_path: Path, password: str, says: str
) -> None:
    put(ssm, password)
    with pytest.raises(CommandError, match=says) as caught:
        plan(CSA)
    assert caught.value.code == BAD_INPUT
    assert password not in str(caught.value)
    assert not (tmp_path / "fleet").exists(), "nothing is made"


@pytest.mark.slow
def test_a_password_that_is_nowhere(ssm: Any, plan: Callable[[str], list[str]]) -> None:
    with pytest.raises(CommandError, match=f"no parameter {SECRET} in us-east-1: aws ssm put-parameter") as caught:
        plan(CSA)
    assert caught.value.code == FAILED


@pytest.mark.slow
def test_a_password_that_the_operator_may_not_read(ssm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the rights of docs/reference/aws.md it can be seen, not read."""
    cloud = Cloud("us-east-1")
    service = cloud.service("ssm")

    def denied(**_: object) -> None:
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "GetParameter")

    monkeypatch.setattr(service, "get_parameter", denied)
    with pytest.raises(AwsError, match=f"no parameter {SECRET}"):
        cloud.secret(SECRET)
    put(ssm, "trip")
    assert cloud.secret(SECRET) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (CSA.replace("floodgate-300", "floodgate300"), "did you mean floodgate-300-10F"),
        (CSA.replace('name = "gougi"', 'name = "a player"'), "name"),
        (CSA.replace("wdoor.c.u-tokyo.ac.jp:4081", ""), "server is empty"),
        (CSA.replace(":4081", ":port"), "server"),
        ("[csa]\nserver = 1\n", "server: 1 is not a text"),
        ("[csa", "Expected"),
    ],
)
def test_login_data_that_cannot_work(plan: Callable[[str], list[str]], text: str, says: str) -> None:
    """AWS is not even asked."""
    with pytest.raises(CommandError, match=rf"gougi\.toml: .*{says}") as caught:
        plan(text)
    assert caught.value.code == BAD_INPUT


def test_the_port_of_the_server(tmp_path: Path) -> None:
    file = tmp_path / "gougi.toml"
    for text, port in (
        (CSA, 4081),
        ('[csa]\nserver = "example.org:4082"\n', 4082),
        ('[csa]\nserver = "example.org:x"\n', None),
        ("", None),
        ("[", None),
    ):
        file.write_text(text)
        assert csa_port(file) == port


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LoginError, match=r"none\.toml: no such file"):
        check_player(tmp_path / "none.toml", None)

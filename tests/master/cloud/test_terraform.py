"""Terraform as a child process, and our messages for its errors: a small program stands for it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from master.cloud.aws import advice
from master.cloud.kept import read_state
from master.cloud.plan import Change, read_plan
from master.cloud.terraform import (
    Diagnostic,
    Step,
    Terraform,
    TerraformError,
    TerraformKilled,
    explain,
    find,
    parse_line,
)
from master.commands.fleet_shared import apply
from tests.master.command import ROOT
from tests.waiting import wait_for


def program(folder: Path, *lines: str, code: int = 0, error: str = "") -> Terraform:
    path = folder / "terraform"
    said = "\n".join(lines)
    path.write_text(f"#!/bin/sh\necho \"$@\" >> calls\ncat <<'END'\n{said}\nEND\necho '{error}' >&2\nexit {code}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Terraform(str(path), folder)


def diagnostic(summary: str, detail: str = "") -> str:
    return json.dumps({"type": "diagnostic", "diagnostic": {"severity": "error", "summary": summary, "detail": detail}})


def test_the_first_program_on_the_path_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TerraformError, match="neither terraform nor tofu is on the PATH: install one"):
        find()
    with pytest.raises(TerraformError, match="there is no program 'terraform-2'"):
        find("terraform-2")
    for name in ("tofu", "terraform"):
        (tmp_path / name).touch(0o755)
        assert find() == str(tmp_path / name)


def test_lines_of_progress_are_understood() -> None:
    hook = {"resource": {"addr": "aws_vpc.this"}, "action": "create", "elapsed_seconds": 3}
    assert parse_line(json.dumps({"type": "apply_complete", "hook": hook})) == Step("aws_vpc.this", "create", "done", 3)
    assert parse_line(diagnostic("No", "way")) == Diagnostic("error", "No", "way")
    for line in ("", "null", "[]", "no json", '{"type": "version"}', '{"type": "apply_start", "hook": 3}'):
        assert parse_line(line) is None


def test_progress_is_told_and_a_plan_serves_once(tmp_path: Path) -> None:
    hook = {"resource": {"addr": "aws_vpc.this"}, "action": "create"}
    terraform = program(tmp_path, json.dumps({"type": "apply_start", "hook": hook}))
    (tmp_path / "the.plan").touch()
    steps: list[Step] = []
    terraform.apply("the.plan", steps.append)
    assert steps == [Step("aws_vpc.this", "create", "begins", 0)]
    assert not (tmp_path / "the.plan").exists()
    assert (tmp_path / "calls").read_text().split() == ["apply", "-input=false", "-json", "the.plan"]


_APPLIES = """
import signal, sys
from pathlib import Path
from master.cloud.terraform import Terraform
signal.signal(signal.SIGINT, signal.default_int_handler)
folder = Path(sys.argv[1])
Terraform(str(folder / "terraform"), folder).apply("the.plan")
"""


def script(folder: Path, text: str) -> Path:
    path = folder / "terraform"
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_ctrl_c_at_a_terminal_reaches_terraform_once(tmp_path: Path) -> None:
    script(tmp_path, "trap 'echo told >> told' INT; touch begun; for _ in {1..10}; do sleep 0.1; done; touch ended")
    command = [sys.executable, "-c", _APPLIES, str(tmp_path)]
    gougi = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_for((tmp_path / "begun").exists)
    os.killpg(gougi.pid, signal.SIGINT)  # as a terminal does: all of its foreground
    assert "KeyboardInterrupt" in gougi.communicate(timeout=60)[1]
    assert (tmp_path / "told").read_text() == "told\n"
    assert (tmp_path / "ended").exists()


def test_a_signal_to_end_waits_until_terraform_is_done() -> None:
    """A supervisor may have signalled terraform too: two signals would end it without its state."""
    done: list[bool] = []

    class Applies:
        def apply(self, _wanted: object, _tell: object) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.05)
            done.append(True)

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        apply(Applies(), SimpleNamespace(changes=()))  # type: ignore[arg-type]
    assert done and signal.getsignal(signal.SIGTERM) == before


def test_terraform_is_waited_for_even_if_nobody_reads_the_progress(tmp_path: Path) -> None:
    hook = {"resource": {"addr": "aws_vpc.this"}, "action": "create"}
    line = json.dumps({"type": "apply_start", "hook": hook})
    path = script(tmp_path, f"echo '{line}'; echo '{line}'; sleep 0.3; touch ended")
    told = 0

    def gone(_step: Step) -> None:
        nonlocal told
        told += 1
        raise SystemExit(1)

    with pytest.raises(SystemExit):
        Terraform(str(path), tmp_path).apply("the.plan", gone)
    assert (tmp_path / "ended").exists() and told == 1


@pytest.mark.parametrize(
    ("error", "says"),
    [
        ("No valid credential sources found", "no AWS credentials: set AWS_PROFILE"),
        ("operation error STS: GetCallerIdentity: ExpiredToken: is expired", "have expired: log in again"),
        ("api error VcpuLimitExceeded: You have requested more vCPU capacity", "quota of vCPUs is used up"),
        ("api error InsufficientInstanceCapacity: We currently do not have", "no such machines free"),
        # As a group's activities state them.
        (
            "AuthFailure.ServiceLinkedRoleCreationNotPermitted: The provided credentials do not have permission to "
            "create the service-linked role for EC2 Spot Instances.",
            "create-service-linked-role --aws-service-name spot.amazonaws.com",
        ),
        ("Max spot instance count exceeded. Launching EC2 instance failed.", "quota of vCPUs is used up"),
        (
            "You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket",
            "quota of vCPUs is used up",
        ),
        ("We currently do not have sufficient c7i.4xlarge capacity in the Availability Zone", "no such machines free"),
        ("UnfulfillableCapacity - Unable to fulfill capacity due to your request", "no such machines free"),
        ("Your requested instance type (c7i.4xlarge) is not supported in your requested Availability Zone", "zone"),
        ("UnauthorizedOperation: You are not authorized", "may not do that"),
        ("api error IncorrectInstanceState: The instance 'i-1' is not in a state", "run the command again in a minute"),
        ("api error InvalidIPAddress.InUse: Address 10.81.0.10 is in use.", "run the command again in a minute"),
        ("dial tcp: lookup ec2.mars-1.amazonaws.com: no such host", "cannot be reached"),
    ],
)
def test_known_errors_name_the_remedy(tmp_path: Path, error: str, says: str) -> None:
    terraform = program(tmp_path, diagnostic("creating EC2 Instance", error), code=1)
    with pytest.raises(TerraformError) as raised:
        terraform.apply("the.plan")
    (line,) = str(raised.value).splitlines()
    assert line.startswith("terraform apply: ")
    assert says in line and error in line


def test_errors_that_are_not_known_are_told_as_they_are() -> None:
    assert explain([Diagnostic("error", "Odd", "thing", "aws_vpc.this")], "") == "aws_vpc.this: Odd thing"
    many = [Diagnostic("error", f"No {number}") for number in range(5)]
    assert explain(many, "").splitlines() == ["No 0", "No 1", "No 2", "and 2 errors more"]
    assert explain([], "\x1b[31m│ Error: no such thing\x1b[0m\n│\n") == "Error: no such thing"
    assert explain([], "") == "without a word"


def test_an_error_without_json_is_told_too(tmp_path: Path) -> None:
    with pytest.raises(TerraformError, match="terraform init: Error: Failed to query available provider packages"):
        program(tmp_path, code=1, error="Error: Failed to query available provider packages").init()


def test_terraform_goes_on_if_the_command_is_killed(tmp_path: Path) -> None:
    """It writes to a file: a pipe without a reader would end it before it has recorded its resources."""
    line = json.dumps({"type": "apply_start", "hook": {"resource": {"addr": "aws_vpc.this"}}})
    script(tmp_path, f"touch begun; for _ in {{1..5}}; do sleep 0.1; echo '{line}' || exit 1; done; touch ended")
    gougi = subprocess.Popen([sys.executable, "-c", _APPLIES, str(tmp_path)], cwd=ROOT)
    wait_for((tmp_path / "begun").exists)
    gougi.kill()
    gougi.wait()
    wait_for((tmp_path / "ended").exists)


def test_a_terraform_that_was_killed_is_told_apart(tmp_path: Path) -> None:
    script(tmp_path, "kill -KILL $$")
    with pytest.raises(TerraformKilled):
        Terraform(str(tmp_path / "terraform"), tmp_path).apply("the.plan")


def test_nothing_is_known_of_other_words() -> None:
    assert advice("the cat sat on the keyboard") == ""


# Another owner changes the fleet too: on another machine, or with terraform by hand

needs_terraform = pytest.mark.skipif(shutil.which("terraform") is None, reason="terraform is not on the PATH")
MODULE = """
variable "nodes" { type = number }
resource "terraform_data" "node" {
  count = var.nodes
  provisioner "local-exec" { command = "sleep 0.05" }
}
output "nodes" { value = length(terraform_data.node) }
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Terraform:
    (tmp_path / "main.tf").write_text(MODULE)
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
    with pytest.raises(
        TerraformError, match=r"somebody changed the fleet after this plan was made\. Nothing was done; run the"
    ):
        fleet.apply("mine")
    assert read_state((fleet.folder / "terraform.tfstate").read_bytes()).output == {"nodes": 2}


@needs_terraform
def test_another_terraform_at_work_is_told_in_plain_words(fleet: Terraform, tmp_path: Path) -> None:
    module = tmp_path / "main.tf"
    module.write_text(module.read_text().replace("sleep 0.05", f"touch {tmp_path}/begun; sleep 60"))
    fleet.plan("theirs", {"nodes": 1})
    words = [find(), "apply", "-input=false", "theirs"]
    other = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_for((tmp_path / "begun").exists)
        with pytest.raises(TerraformError, match=r"another terraform is changing this fleet: run .* Who: \S+@"):
            fleet.plan("mine", {"nodes": 3})
    finally:
        os.killpg(other.pid, signal.SIGKILL)
        other.wait()


# Plans


def change(address: str, *actions: str, **more: object) -> dict[str, object]:
    kind = address.split(".")[0]
    return {"address": address, "type": kind, "mode": "managed", "change": {"actions": list(actions), **more}}


def test_a_plan_is_read() -> None:
    raw = {
        "resource_changes": [
            change("aws_vpc.a", "create"),
            change("aws_vpc.b", "no-op"),
            change("aws_instance.c", "delete", "create"),
            change("aws_instance.d", "create", "delete"),
            change("aws_vpc.e", "delete"),
            {**change("data.aws_ami.f", "read"), "mode": "data"},
            change(
                "aws_ssm_parameter.g",
                "update",
                before={"size": 1, "value": "old", "text": "x" * 50, "same": 1},
                after={"size": 2, "value": "new", "text": "y" * 50, "same": 1},
                after_sensitive={"value": True},
                before_sensitive={},
            ),
        ],
        "output_changes": {"fleet": {"after": {"usd_per_hour": {"all": 1.5}, "stop_after_hours": 12}}},
    }
    plan = read_plan(raw)
    assert plan.summary() == "1 to create, 1 to change, 1 to destroy, 2 to replace"
    assert plan.lines() == [
        "- destroy  aws_vpc.e",
        "± replace  aws_instance.c",
        "± replace  aws_instance.d",
        "~ change   aws_ssm_parameter.g  (size: 1 -> 2)",
        "+ create   aws_vpc.a",
    ]
    assert plan.usd_per_hour == {"all": 1.5}
    assert plan.stop_after_hours == 12
    assert plan.changes[0] == Change("aws_vpc.a", "aws_vpc", "create")


def test_a_plan_without_changes() -> None:
    plan = read_plan({"resource_changes": [change("aws_vpc.b", "no-op")]})
    assert plan.empty and plan.summary() == "nothing to do" and plan.lines() == [] and plan.usd_per_hour == {}


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

"""Two operators of one fleet, at once: real `gougi fleet` processes on one folder, real terraform, AWS played.

The fleet is a few ``terraform_data`` resources, which terraform makes without anybody's help. A seed says who asks for
what and when, what they answer and after how long, and who is killed. `history` looks whether each got what was shown.

    python -m tests.master.cloud.two_operators FOLDER SEED…

prints a line of JSON for each seed. It forks, and so is a process of its own with one thread.
"""

from __future__ import annotations

import json
import os
import pty
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from master.cli import run
from master.cloud import end
from master.cloud import operator as operators
from master.cloud.cloud import Cloud
from master.cloud.remains import Remains

ROOT: Final = """
variable "nodes" { type = number }
module "fleet" {
  source = "./module"
  nodes  = var.nodes
}
output "fleet" { value = module.fleet }
"""
MODULE: Final = """
variable "nodes" { type = number }
resource "terraform_data" "head" { input = "head" }
resource "terraform_data" "group" { input = var.nodes }
resource "terraform_data" "node" {
  count = var.nodes
  provisioner "local-exec" { command = "sleep 0.05" }
}
output "name" { value = "gougi" }
output "region" { value = "us-east-1" }
output "nodes" { value = terraform_data.group.output }
output "asg_name" { value = "gougi-workers" }
output "head_instance_id" { value = "i-head" }
output "bucket" { value = "mine" }
output "bucket_is_own" { value = true }
output "session_command" { value = "a shell" }
output "parameters" { value = { csa_password = null } }
output "usd_per_hour" { value = { head = 1, node = 1, beside = 0, all = 1 + var.nodes } }
"""
FIRST: Final = 2
"""Nodes that the fleet has at the beginning."""
_DONE: Final = re.compile(r"^(create|update|delete) (\S+): done", re.MULTILINE)
_SHOWN: Final = re.compile(r"^[+~±-] (create|change|destroy|replace) +(\S+)", re.MULTILINE)
_STEPS: Final = {
    "create": ("create",),
    "change": ("update",),
    "destroy": ("delete",),
    "replace": ("delete", "create"),
}
_LONGEST_S: Final = 100.0


class Played(Cloud):
    """AWS says who one is, and lists no prices."""

    def account(self) -> str:
        return "123456789012"


@dataclass
class Operator:
    """One command, and what is done with it. ``answer``: ``y``, ``n``, ``interrupt``, ``kill`` or ``kill in apply``."""

    words: list[str]
    begins_s: float
    at_prompt_of_other: bool
    answer: str
    answers_s: float
    pid: int = 0
    code: int | None = None
    output: str = ""
    answered_at: float | None = None
    prompt_at: float | None = None
    ended_at: float = 0.0
    _terminal: int = -1
    _file: Path = field(default_factory=Path)

    def start(self, folder: Path) -> None:
        master, slave = pty.openpty()
        handle, name = tempfile.mkstemp(dir=folder.parent)
        self._terminal, self._file = master, Path(name)
        self.pid = os.fork()
        if not self.pid:
            os.setsid()
            for target, source in ((0, slave), (1, handle), (2, handle)):
                os.dup2(source, target)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            # The command puts others in their place: they leave the descriptors open when they go.
            sys.stdin = open(0, closefd=False)  # noqa: SIM115 - until the end
            sys.stdout, sys.stderr = (open(fd, "w", closefd=False) for fd in (1, 2))  # noqa: SIM115
            code = run(["fleet", *self.words, "--dir", str(folder)])
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        os.close(slave)
        os.close(handle)

    def step(self, now: float) -> None:
        """See whether it asks or has ended, and answer when it is time."""
        self.output = self._file.read_text()
        if self.prompt_at is None and "[y/N]" in self.output:
            self.prompt_at = now
        due = self.prompt_at is not None and now >= self.prompt_at + self.answers_s
        if due and self.answered_at is None:
            self.answered_at = now
            match self.answer:
                case "interrupt":
                    os.kill(self.pid, signal.SIGINT)
                case "kill":
                    os.kill(self.pid, signal.SIGKILL)
                case _:
                    os.write(self._terminal, b"n\n" if self.answer == "n" else b"y\n")
        if self.answer == "kill in apply" and ": begins" in self.output:
            os.kill(self.pid, signal.SIGKILL)
        ended, status = os.waitpid(self.pid, os.WNOHANG)
        if ended:
            self.code, self.ended_at = os.waitstatus_to_exitcode(status), now
            self.output = self._file.read_text()
            os.close(self._terminal)

    @property
    def shown(self) -> set[tuple[str, str]]:
        """The changes in the plans that it was shown: steps and addresses."""
        return {(step, where) for action, where in _SHOWN.findall(self.output) for step in _STEPS[action]}

    @property
    def done(self) -> set[tuple[str, str]]:
        """The changes that terraform made in its name."""
        return set(_DONE.findall(self.output))

    @property
    def refused(self) -> bool:
        return " is in use: " in self.output and "; --lock-wait S" in self.output


def cast(seed: int) -> list[Operator]:
    """Choose the actions of both operators."""
    dice = random.Random(seed)
    cast = []
    for number in range(2):
        nodes = str(dice.randrange(8))
        asked = [["scale", nodes], ["up", "--nodes", nodes]] * 3 + [["down"]] * 2 + [["plan", "--nodes", nodes]]
        words = dice.choice(asked)
        words = [*words, *(["--wait", "0"] if words[0] != "plan" else [])]
        if dice.random() < 0.4:
            words += ["--lock-wait", "60"]
        answer = dice.choice(["y"] * 8 + ["n", "interrupt", "kill", "kill in apply"])
        begins_s = dice.uniform(0.0, 0.8) * number
        cast.append(Operator(words, begins_s, dice.random() < 0.5, answer, dice.uniform(0.0, 0.4)))
    return cast


def play(folder: Path, seed: int) -> list[Operator]:
    """Let them at it, to the end of both."""
    one, two = pair = cast(seed)
    began = time.monotonic()
    one.start(folder)
    while any(each.code is None for each in pair):
        now = time.monotonic() - began
        assert now < _LONGEST_S, [each.output for each in pair]
        time_is = one.prompt_at is not None or one.code is not None if two.at_prompt_of_other else now >= two.begins_s
        if not two.pid and time_is:
            two.start(folder)
        for each in pair:
            if each.pid and each.code is None:
                each.step(now)
        time.sleep(0.01)
    return pair


def faults(folder: Path, pair: list[Operator]) -> list[str]:
    """Describe each fault of a run in a line."""
    found = []
    killed = any(each.answer.startswith("kill") and each.answered_at is not None for each in pair)
    in_apply = any(each.answer == "kill in apply" and each.answered_at is not None for each in pair)
    for number, each in enumerate(pair):
        who, other = " ".join(each.words), pair[1 - number]
        if extra := each.done - each.shown:
            found.append(f"{who}: did what was not shown: {sorted(extra)}")
        if each.done and (each.answered_at is None or each.answer not in ("y", "kill in apply")):
            found.append(f"{who}: answered {each.answer}, and it was done")
        if each.code == 0 and each.answer == "y" and each.words[0] != "plan" and each.done != each.shown:
            found.append(f"{who}: ended well, and did not do all: {sorted(each.shown - each.done)}")
        if "Traceback" in each.output:
            found.append(f"{who}: {each.output}")
        if each.refused:
            if each.code != 1 or each.shown:
                found.append(f"{who}: was refused with exit code {each.code} after a plan")
            if f"`gougi fleet {other.words[0]}" not in each.output or f"(process {other.pid})" not in each.output:
                found.append(f"{who}: does not know who has the folder: {each.output}")
    left = sorted(path.name for path in folder.iterdir() if "plan" in path.name or path.name.endswith(".lock"))
    if left and not killed:
        found.append(f"left in the folder: {left}")
    if not in_apply:
        found += _agrees(folder, pair)
    return found


def _agrees(folder: Path, pair: list[Operator]) -> list[str]:
    """Terraform has what the last one who was obeyed asked for, and so has the file for the next plan."""
    state = json.loads((folder / "terraform.tfstate").read_text())["resources"]
    nodes = sum(len(each["instances"]) for each in state if each["name"] == "node")
    obeyed = [each for each in pair if each.done]
    last = max(obeyed, key=lambda each: each.ended_at).words if obeyed else ["scale", str(FIRST)]
    kept = json.loads((folder / "nodes.auto.tfvars.json").read_text())["nodes"]
    if last[0] == "down":
        return [f"left after its end: {state}"] if state else []
    number = int(last[2] if last[0] == "up" else last[1])
    return [] if nodes == kept == number else [f"{nodes} nodes are there, {kept} are kept, {number} were asked for"]


def main(words: list[str]) -> None:
    base = Path(words[0])
    operators.Operator.cloud = lambda _self, _region=None: Played("us-east-1")  # type: ignore[method-assign, assignment, misc]
    end.remains = lambda *_words, **_more: Remains((), ())  # type: ignore[attr-defined]
    os.environ["AWS_REGION"] = "us-east-1"
    first = base / "first"
    (first / "module").mkdir(parents=True)
    (first / "main.tf").write_text(ROOT)
    (first / "module" / "main.tf").write_text(MODULE)
    # In a child too: what begins a thread here may hold a lock at the next fork, for ever.
    child = os.fork()
    if not child:
        os._exit(run(["fleet", "up", "--nodes", str(FIRST), "--yes", "--wait", "0", "--dir", str(first)]))
    if os.waitpid(child, 0)[1]:
        sys.exit("the first fleet cannot be made")
    assert threading.active_count() == 1
    for seed in map(int, words[1:]):
        folder = base / str(seed) / "fleet"
        shutil.copytree(first, folder)
        pair = play(folder, seed)
        said = {
            "seed": seed,
            "faults": faults(folder, pair),
            "refused": sum(each.refused for each in pair),
            "waited": sum("; waiting up to" in each.output for each in pair),
            "applied": sum(bool(each.done) for each in pair),
            "pair": [{name: asdict(each)[name] for name in ("words", "answer", "code")} for each in pair],
        }
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

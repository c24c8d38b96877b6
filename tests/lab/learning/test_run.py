"""The ledger of a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from lab.learning.ledger import Done, Kind, Ledger, LedgerError, from_json
from lab.learning.run import _OURS, _follow, run_command
from tests.lab.learning.ledgers import with_generation, with_match

EMPTY = Ledger("0" * 64)


def test_it_comes_back_from_json() -> None:
    ledger = with_match(with_generation(with_generation(EMPTY), verdict="H0"), 1, "other").with_piece(2, 7.5)
    assert from_json(json.loads(json.dumps(ledger.as_json()))) == ledger


def test_the_time_of_pieces_that_were_broken_off_counts() -> None:
    ledger = EMPTY.begun(1).with_piece(1, 10.0).with_piece(1, 5.0)
    assert ledger.spent_s == 15
    ledger = ledger.with_step(1, Done(Kind.GAMES, "", (), 1.0, {}))
    assert ledger.generations[0].steps[0].spent_s == 16 and ledger.spent_s == 16


def test_begun_twice_is_begun_once() -> None:
    ledger = with_generation(EMPTY)
    assert ledger.begun(1) is ledger
    assert ledger.begun(2).generations[1].teacher == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 1}, "version 1, expected 2"),
        ({"generations": [{}]}, "no ledger of gougi learn"),
        ({"generations": [{"number": 2, "teacher": 0, "steps": [], "spent_s": 0}]}, "not numbered from 1"),
        ({"generations": 5}, "no ledger"),
    ],
)
def test_an_invalid_ledger_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(LedgerError, match=words):
        from_json({**EMPTY.as_json(), **change})
    with pytest.raises(LedgerError, match="no ledger"):
        from_json([])


SCRIPT = """
import math, os, signal
from lab.learning.run import run_command
os.register_at_fork({when}=lambda: signal.raise_signal(signal.{name}))
ended = run_command(["--version"], math.inf)
print(ended.interrupted)
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("when", ["before", "after_in_parent"])
def test_a_signal_while_the_child_is_made_is_heard(when: str, name: str) -> None:
    """In its hooks around a fork Python prints a KeyboardInterrupt, and continues."""
    script = SCRIPT.format(when=when, name=name)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.splitlines()[-1:]) == (0, ["True"]), ran.stderr


def test_a_run_may_have_a_month() -> None:
    ended = run_command(["--version"], 720 * 3600.0)
    assert (ended.code, ended.interrupted) == (0, False)


@pytest.mark.parametrize("after_s", [0, 0.01, 0.03])
def test_ctrl_c_while_the_child_starts_is_no_traceback(after_s: float) -> None:
    """Python starts for some 20 ms before any line of ours runs."""
    child = subprocess.Popen(
        [*_OURS, "selfplay", "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
        preexec_fn=_follow(os.getpid()),
    )
    time.sleep(after_s)
    child.send_signal(signal.SIGINT)
    _, complaints = child.communicate(timeout=60)
    assert (child.returncode, complaints) == (130, b"")

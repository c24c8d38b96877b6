"""The end of the fleet, run for real against programs that record their arguments."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.deploy.machine import facts_at, script_at, stand_in

# Answers each question for the scheduled action with the next word of the file `left`; requests that `refuses` names
# fail.
AWS = r"""
at=$(dirname "$(dirname "$0")")
echo "$2" >>"$at/asked"
! grep -qsx -- "$2" "$at/refuses" || exit 1
[ "$2" = describe-scheduled-actions ] || exit 0
head -n 1 "$at/left"
sed -i 1d "$at/left"
"""

ZERO, TAKE, OFF = "set-desired-capacity", "delete-scheduled-action", "poweroff"
CLOSE = ["stop gougi-master.service", "start gougi-records.service", OFF]
LOOK, WAIT = "describe-scheduled-actions", "sleep 60"


def _end(folder: Path, *arguments: str, left: str = "", refuses: str = "") -> list[str]:
    """Run `end-fleet.sh` and return its requests, in order."""
    facts_at(folder, FLEET_REGION="r", FLEET_ASG="workers")
    library = script_at(folder, "lib.sh")
    library.write_text(library.read_text().replace("SECONDS + $1", "SECONDS"))  # `again` does not try twice
    (folder / "left").write_text("\n".join(left.split()) + "\n")
    (folder / "refuses").write_text(refuses)
    stand_in(folder, "aws", AWS)
    stand_in(folder, "sleep", f'echo "sleep $1" >>{folder}/asked')
    stand_in(folder, "systemctl", f'echo "$*" >>{folder}/asked')
    env = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    ran = subprocess.run([script_at(folder, "end-fleet.sh"), *arguments], env=env, timeout=60, check=False)
    assert ran.returncode == 0
    return (folder / "asked").read_text().splitlines()


def test_the_clock_goes_with_the_fleet_that_ends_before_its_time(tmp_path: Path) -> None:
    assert _end(tmp_path) == [ZERO, TAKE, *CLOSE]


def test_the_clock_stays_if_the_workers_do(tmp_path: Path) -> None:
    assert _end(tmp_path, refuses=ZERO) == [ZERO, *CLOSE]


def test_a_clock_that_cannot_be_taken_away_holds_nothing_up(tmp_path: Path) -> None:
    assert _end(tmp_path, refuses=TAKE) == [ZERO, TAKE, *CLOSE]


@pytest.mark.parametrize(
    ("left", "asked"),
    [
        ("1", [LOOK]),
        ("0 1", [LOOK, WAIT, LOOK]),  # an apply was replacing the clock
        ("0 0", [LOOK, WAIT, LOOK, ZERO, *CLOSE]),
    ],
)
def test_the_time_is_over_only_if_the_action_stays_away(tmp_path: Path, left: str, asked: list[str]) -> None:
    assert _end(tmp_path, "when-due", left=left) == asked


def test_no_answer_is_no_reason_to_end(tmp_path: Path) -> None:
    assert _end(tmp_path, "when-due", refuses=LOOK) == [LOOK]

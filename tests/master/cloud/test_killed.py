"""`gougi fleet` is killed at a random moment, alone or with its terraform: the next command repairs the damage."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.master.cloud.killed import KilledOwner, kill_again_and_again, left
from tests.master.cloud.stand_in import moto, why_not

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_a_killed_command_leaves_nothing_that_the_next_one_does_not_mend(tmp_path: Path) -> None:
    """Another one in each run; ``python -m benchmarks.killed`` kills many."""
    if why := why_not():
        pytest.skip(why)
    seed = random.randrange(1 << 30)
    with moto() as url:
        owner = KilledOwner(tmp_path, url)
        lines = kill_again_and_again(owner, 1, seed)
        assert left(url) == [], (seed, lines)

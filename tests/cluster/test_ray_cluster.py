"""What needs no Ray of Ray's keeper."""

from __future__ import annotations

import os
from pathlib import Path

from cluster.ray_cluster import remove_leftovers


def test_what_killed_masters_left_is_removed(tmp_path: Path) -> None:
    mine, foreign, stale = f"gougi-{os.getpid()}-abc", "gougi-notes-abc", f"gougi-{2**31 - 1}-abc"
    for name in (mine, foreign, stale):
        (tmp_path / name / "session").mkdir(parents=True)
    remove_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([mine, foreign])

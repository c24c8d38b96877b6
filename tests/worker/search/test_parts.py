"""The search without one of its parts: asked for by name, with code of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from worker.search import parts

ASK = "from worker.jit import cache_dir; from worker.search import parts; print(parts.PROBCUT, cache_dir().name)"


def ask(without: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ASK],
        env={**os.environ, "GOUGI_WITHOUT": without},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_all_parts_are_in() -> None:
    assert len(parts.PARTS) == 33
    assert all(getattr(parts, name.upper()) for name in parts.PARTS)


def test_a_part_left_out_has_a_cache_of_its_own() -> None:
    whole, without = ask("").stdout.split(), ask("probcut,singular").stdout.split()
    assert (whole[0], without[0]) == ("True", "False")
    assert whole[1] != without[1]


def test_an_unknown_part_is_refused_by_name() -> None:
    result = ask("probcut,castling")
    assert result.returncode != 0
    assert "GOUGI_WITHOUT names no part of the search: castling" in result.stderr

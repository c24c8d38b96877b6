"""The levels of the analysis: games and positions of two searchers are not mixed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import analysis
from benchmarks.analysis import claim


def test_another_search_needs_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim(tmp_path, 50_000)
    claim(tmp_path, 50_000)
    with pytest.raises(ValueError, match="of another network, search or number of nodes"):
        claim(tmp_path, 60_000)
    monkeypatch.setattr(analysis, "source_digest", lambda: "another search")
    with pytest.raises(ValueError, match="of another network, search or number of nodes"):
        claim(tmp_path, 50_000)

"""The levels of the analysis: games and positions of two searchers are not mixed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import analysis
from benchmarks.analysis import claim


def test_another_search_needs_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim(tmp_path, 50_000)
    claim(tmp_path, 50_000)
    with pytest.raises(ValueError, match="of another network, search or number of nodes: give another folder"):
        claim(tmp_path, 60_000)
    with monkeypatch.context() as patch:
        patch.setattr(analysis, "sources", lambda: "another search")
        with pytest.raises(ValueError, match="of another network, search or number of nodes: give another folder"):
            claim(tmp_path, 50_000)
    (tmp_path / "settings.json").unlink()
    (tmp_path / "games.jsonl").touch()
    with pytest.raises(ValueError, match="of another network, search or number of nodes: give another folder"):
        claim(tmp_path, 50_000)

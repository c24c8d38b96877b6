"""The folder of a run: a crash loses no result and counts none twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.tuning.folder import TuningFolder
from lab.tuning.state import GameSettings, TuningError, TuningRun
from tests.lab.tuning.runs import OPENINGS, played, settings


@pytest.fixture
def folder(tmp_path: Path) -> TuningFolder:
    """A folder with five pairs of a run."""
    folder = TuningFolder(tmp_path / "run")
    with folder.held():
        assert folder.begin(settings().to_json(), "code") == ""
        folder.keep_openings(list(OPENINGS))
        run, _ = folder.run(settings(), mend=True)
        play(folder, run, 5)
    return folder


def play(folder: TuningFolder, run: TuningRun, count: int) -> None:
    for _ in range(count):
        pair = run.take_pair()
        assert pair is not None
        result = played(pair)
        folder.append(result)
        run.take(result)


def test_an_interrupted_run_continues(folder: TuningFolder) -> None:
    again, _ = folder.run(settings(), mend=True)
    assert (again.games, again.spsa.taken) == (10, 5)
    play(folder, again, 7)
    assert again.finished
    whole = TuningRun(settings(), folder.known_openings())
    while (pair := whole.take_pair()) is not None:
        whole.take(played(pair))
    assert folder.run(settings(), mend=False)[0].spsa.path == again.spsa.path == whole.spsa.path


def test_half_a_line_is_cut_off_and_its_pair_played_again(folder: TuningFolder) -> None:
    whole = folder.results.read_bytes()
    folder.results.write_bytes(whole[:-7])
    assert folder.run(settings(), mend=False)[0].games == 8
    assert folder.results.read_bytes() == whole[:-7]
    run, notice = folder.run(settings(), mend=True)
    assert "the last line was damaged and is dropped" in notice
    play(folder, run, 1)
    assert folder.results.read_bytes() == whole


def test_other_settings_are_refused_by_name_and_other_sources_told(folder: TuningFolder) -> None:
    assert folder.begin(settings().to_json(), "code") == ""
    assert "the sources are not those" in folder.begin(settings().to_json(), "other")
    with pytest.raises(TuningError, match=r"iterations was 12 and is 13\)"):
        folder.begin(settings(13).to_json(), "code")
    with pytest.raises(TuningError, match="nodes was 100 and is 200"):
        folder.begin(settings(games=GameSettings(("0" * 64,), nodes=200)).to_json(), "code")
    other = settings().to_json()
    other["spsa"]["parameters"][1]["high"] = 2000
    with pytest.raises(TuningError, match=r"\(parameters\.NULL_BASE\.high was 1004 and is 2000\)"):
        folder.begin(other, "code")
    other = settings().to_json()
    other["spsa"]["parameters"].reverse()
    with pytest.raises(TuningError, match=r"LATE_MOVES\.after was '' and is 'NULL_BASE'"):
        folder.begin(other, "code")


def test_a_folder_of_something_else(folder: TuningFolder, tmp_path: Path) -> None:
    assert folder.known() == settings()
    with pytest.raises(TuningError, match="no run of gougi tune in it"):
        TuningFolder(tmp_path).known()
    with pytest.raises(TuningError, match="the run has not begun"):
        TuningFolder(tmp_path).run(settings(), mend=False)
    folder.settings.write_text("{}")
    with pytest.raises(TuningError, match=r"tune\.json: no settings of gougi tune"):
        folder.known()

"""The folder of a run."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from lab.learning.folder import LearnFolder, LearnFolderError, page
from lab.learning.ledger import Done, Generation, Kind, Ledger, from_json
from tests.lab.learning.ledgers import RESULTS, match, with_generation, with_match

FIRST, BEST = b"the first net", b"the best net"


def history(path: Path) -> Path:
    """The ledger of a run whose first generation was promoted."""
    ledger = Ledger(hashlib.sha256(FIRST).hexdigest()).begun(1)
    report = {**RESULTS[Kind.TRAIN], "sha256": hashlib.sha256(BEST).hexdigest()}
    ledger = ledger.with_step(1, Done(Kind.TRAIN, "", (), 1.0, report))
    ledger = ledger.with_step(1, Done(Kind.GATE, "", (), 1.0, match(9, 3, "H1")))
    path.write_text(json.dumps(ledger.as_json()))
    return path


def opened(path: Path) -> LearnFolder:
    path.mkdir()
    return LearnFolder(path)


def test_a_copy_of_a_generation_beside_it_is_left_alone(tmp_path: Path) -> None:
    for name in ("generation-2", "generation-2.bak"):
        (tmp_path / name / Kind.GAMES.value).mkdir(parents=True)
    assert LearnFolder(tmp_path).with_games() == {2}


def test_a_new_run_has_its_first_net_and_comes_back(tmp_path: Path) -> None:
    folder = opened(tmp_path / "run")
    ledger = folder.open(None, FIRST)
    assert folder.best_path.read_bytes() == (folder.path / "nets" / "generation-0.bin").read_bytes() == FIRST
    assert folder.open(None, BEST) == folder.open(FIRST, BEST) == ledger == folder.read()
    with pytest.raises(LearnFolderError, match="began with another net"):
        folder.open(BEST, FIRST)


def test_the_folder_s_name_need_not_be_utf_8(tmp_path: Path) -> None:
    folder = opened(tmp_path / os.fsdecode(b"\x90\x85"))
    done = Done(Kind.GAMES, "", (str(folder.path),), 1.0, RESULTS[Kind.GAMES])
    ledger = folder.open(None, FIRST).begun(1).with_step(1, done)
    folder.keep(ledger)
    assert folder.read() == ledger


def test_promotion(tmp_path: Path) -> None:
    folder = opened(tmp_path / "run")
    folder.open(None, FIRST)
    (folder.path / "generation-1" / "train").mkdir(parents=True)
    (folder.path / "generation-1" / "train" / "nn.bin").write_bytes(BEST)
    for _ in range(2):
        folder.promote(Generation(1, 0))
        assert folder.best_path.read_bytes() == (folder.path / "nets" / "generation-1.bin").read_bytes() == BEST


def test_the_mean_is_promoted_if_several_nets_were_trained(tmp_path: Path) -> None:
    folder = opened(tmp_path / "run")
    folder.open(None, FIRST)
    one = with_generation(Ledger("0" * 64), trainings=2).generations[0]
    (folder.path / "generation-1" / "blend").mkdir(parents=True)
    (folder.path / "generation-1" / "blend" / "nn.bin").write_bytes(BEST)
    folder.promote(one)
    assert folder.best_path.read_bytes() == BEST
    assert one.sha256 == RESULTS[Kind.BLEND]["sha256"]


def test_a_run_of_another_machine_is_taken_over_without_its_games(tmp_path: Path) -> None:
    folder = opened(tmp_path / "run")
    ledger = folder.take_over(history(tmp_path / "learn.json"), BEST, FIRST)
    assert ledger.best == 1 and folder.read() == ledger and not folder.with_games()
    assert folder.best_path.read_bytes() == (folder.path / "nets" / "generation-1.bin").read_bytes() == BEST
    (folder.path / "generation-2" / "games").mkdir(parents=True)
    assert folder.with_games() == {2}

    # The same command continues, also from a file that the run itself wrote.
    begun = ledger.begun(2).with_piece(2, 60.0)
    folder.keep(begun)
    for file in (tmp_path / "learn.json", folder.ledger_path):
        assert folder.take_over(file, BEST, FIRST) == begun
    other = opened(tmp_path / "other")
    other.open(BEST, FIRST)
    with pytest.raises(LearnFolderError, match=r"a run that does not go on from .*learn\.json"):
        other.take_over(tmp_path / "learn.json", BEST, FIRST)


def test_a_generation_that_was_broken_off_elsewhere_begins_anew(tmp_path: Path) -> None:
    """Its games and its net are on the other machine."""
    file = history(tmp_path / "learn.json")
    whole = from_json(json.loads(file.read_text()))
    for broken in (whole.begun(2), with_generation(whole, upto=Kind.COMPARE)):
        file.write_text(json.dumps(broken.as_json()))
        folder = opened(tmp_path / f"run-{len(broken.generations[-1].steps)}")
        for _ in range(2):
            assert folder.take_over(file, BEST, FIRST) == whole
        assert folder.with_nets() == {0, 1}


def test_nets_that_are_not_the_ledgers_are_refused(tmp_path: Path) -> None:
    folder = opened(tmp_path / "run")
    with pytest.raises(LearnFolderError, match="--net is not the best net"):
        folder.take_over(history(tmp_path / "learn.json"), FIRST, FIRST)
    with pytest.raises(LearnFolderError, match="began with another net"):
        folder.take_over(history(tmp_path / "learn.json"), BEST, BEST)
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(LearnFolderError, match=r"broken\.json: "):
        folder.take_over(tmp_path / "broken.json", BEST, FIRST)
    assert not list(folder.path.iterdir())


EMPTY = Ledger("0" * 64)


def test_the_page_has_tables_matches_and_commands() -> None:
    ledger = with_match(with_generation(EMPTY), 1, "yardstick", 40, 0)
    ledger = with_generation(ledger, verdict="H0").begun(3)
    ledger = ledger.with_step(
        3,
        Done(
            Kind.GAMES,
            "",
            ("selfplay", "--out", "run/generation-3/games", "EvalFile=run/nets/1.bin", "a-run/x"),
            1.0,
            {"games": 1, "positions": 2},
        ),
    )
    ledger = ledger.with_step(1, Done(Kind.FROM_SPARRING, "", (), 1.0, RESULTS[Kind.FROM_SPARRING]))
    text = page(ledger, "run")
    row = "| 1 | 0 | 1,200 | 140,000 | 60,000 | 0.00840 | 4.5 | 0.6065, 0.4645 | +100 (-50 to +90) | promoted | 0.1 |"
    assert row in text
    assert "| 2 | 1 |" in text and "| refused |" in text and "| under way |" in text
    assert "| 1 | yardstick | 1,000 nodes | 40 | 40, 0, 0 | 100.0% | +inf (-50 to +inf) |" in text
    assert "gougi selfplay --out generation-3/games EvalFile=nets/1.bin a-run/x\n" in text
    assert "SHA-256 `ffff" in text


def test_a_page_of_nothing() -> None:
    assert page(EMPTY, "run").count("\n|") == 2

"""The ledger of a run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lab.learning.ledger import Done, Kind, Ledger, LedgerError, from_json
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
def test_what_is_no_ledger_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(LedgerError, match=words):
        from_json({**EMPTY.as_json(), **change})
    with pytest.raises(LedgerError, match="no ledger"):
        from_json([])

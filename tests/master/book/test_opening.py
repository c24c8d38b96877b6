"""The choice of a book move: learned moves first, then the files, by the options and the replies."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from master.book.learned import LearnedBook
from master.book.lessons import BookSearch
from master.book.opening import LookAhead, OpeningBook, OpeningSettings, look_ahead
from master.player.instructions import AskBook, BookAnswer
from worker.book import BookError, BookMove, BookSettings
from worker.shogi import STARTPOS, Position

FREE = BookSettings(any_ply=True, eval_diff=1000, eval_limits=(-9999, -9999), depth_limit=0)
TEXT = f"""#YANEURAOU-DB2016 1.00
sfen {STARTPOS}
2g2f 8c8d 40 12 60
7g7f 3c3d 50 12 40
2h6h 3c3d -10 12 5
"""


def question(*moves: str, soft_ms: int = 1000) -> AskBook:
    return AskBook(1, STARTPOS, moves, soft_ms)


def book(tmp_path: Path, learned: LearnedBook | None = None, text: str = TEXT, **more: Any) -> OpeningBook:
    path = tmp_path / "book.db"
    path.write_text(text)
    settings: dict[str, Any] = {"files": (path,), "choice": FREE, "look_ahead": LookAhead.OFF, **more}
    return OpeningBook(OpeningSettings(**settings), learned, random.Random(3))


def played(opening: OpeningBook, *moves: str) -> Counter[str]:
    replies = (opening.reply(question(*moves), None) for _ in range(200))
    return Counter("none" if reply is None else reply.move for reply in replies)


def test_a_file(tmp_path: Path) -> None:
    opening = book(tmp_path, choice=BookSettings(any_ply=True, eval_diff=0, depth_limit=0))
    assert set(played(opening)) == {"2g2f", "7g7f"}  # the first in the file is the reference
    assert set(played(opening, "2g2f", "8c8d")) == {"none"}
    answer = book(tmp_path, look_ahead=LookAhead.WORST, choice=BookSettings(eval_diff=0, depth_limit=0)).reply(
        question(), None
    )
    assert answer == BookAnswer("7g7f", "book.db", 50, 12, ("7g7f", "3c3d"))  # here the best one is


def test_only_the_moves_since_the_last_question_are_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Late in a game, the replay of all moves takes longer than everything else before a search."""
    moves = ("2h3h", "8b7b", "3h2h", "7b8b") * 20
    opening = book(tmp_path)
    opening.reply(question(*moves), None)
    replayed: list[int] = []
    push_all = Position.push_all

    def counted(position: Position, texts: Sequence[str], **more: int) -> None:
        replayed.append(len(texts))
        push_all(position, texts, **more)

    monkeypatch.setattr(Position, "push_all", counted)
    assert opening.reply(question(*moves, "7g7f", "3c3d"), None) is None
    assert sum(replayed) == 2


def test_files_in_their_order(tmp_path: Path) -> None:
    second = tmp_path / "second.db"
    second.write_text(TEXT.replace("2g2f", "9g9f"))
    (tmp_path / "first.db").write_text("#YANEURAOU-DB2016 1.00\n")
    opening = OpeningBook(OpeningSettings((tmp_path / "first.db", second), FREE, LookAhead.OFF), None)
    answer = opening.reply(question(), None)
    assert answer is not None
    assert answer.source == "second.db"


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BookError, match=r"book\.db: line 2"):
        book(tmp_path, text="#YANEURAOU-DB2016 1.00\nrubbish\n")


TO_AND_FRO = ("2h3h", "8b7b", "3h2h", "7b8b", "2h3h", "8b7b")
"""After it, 3h2h brings back the position after its third move."""


def test_no_move_brings_a_position_of_the_game_back(tmp_path: Path) -> None:
    opening = book(tmp_path, text=_at(TO_AND_FRO, "3h2h", "3h4h"))
    assert set(played(opening, *TO_AND_FRO)) == {"3h4h"}
    assert set(played(opening, *TO_AND_FRO[:2])) == {"3h2h", "3h4h"}  # the same position, for the first time


def _at(moves: tuple[str, ...], *candidates: str) -> str:
    position = Position.startpos()
    position.push_all(moves)
    return "\n".join([f"sfen {position.sfen()}", *(f"{move} none 0 20 1" for move in candidates), ""])


def test_look_ahead(tmp_path: Path) -> None:
    """7g7f looks best, until the opponent's reply is considered."""
    text = TEXT + _at(("7g7f",), "8c8d").replace("none 0", "none 200")
    strict = BookSettings(any_ply=True, eval_diff=0, eval_limits=(-9999, -9999), depth_limit=0)
    assert set(played(book(tmp_path, choice=strict, text=_sorted(text), look_ahead=LookAhead.WORST))) == {"2g2f"}


def _sorted(text: str) -> str:
    head, *entries = text.split("sfen ")
    return head + "".join(f"sfen {entry}" for entry in sorted(entries))


@pytest.mark.parametrize(
    ("nps", "soft_ms", "expected"),
    [
        (None, 100, "book.db"),  # the possible length of a search now is not known
        (1e6, 1999, "learned"),
        (1e6, 2000, "book.db"),
        (4e6, 499, "learned"),
        (4e6, 501, "book.db"),
    ],
)
def test_the_longer_searched_move_is_played(tmp_path: Path, nps: float | None, soft_ms: int, expected: str) -> None:
    with LearnedBook(tmp_path / "learned.sqlite") as learned:
        learned.keep(STARTPOS, BookSearch("9g9f", -20, 15, 2.0, ("9g9f", "8c8d")))
        answer = book(tmp_path, learned).reply(question(soft_ms=soft_ms), nps)
    assert answer is not None
    assert answer.source == expected
    if expected == "learned":
        assert answer == BookAnswer("9g9f", "learned", -20, 15, ("9g9f", "8c8d"))


def test_with_a_node_limit_time_says_nothing(tmp_path: Path) -> None:
    with LearnedBook(tmp_path / "learned.sqlite") as learned:
        learned.keep(STARTPOS, BookSearch("9g9f", -20, 15, 0.002))
        for nodes, source in ((1999, "learned"), (2000, "book.db")):
            answer = book(tmp_path, learned, search_nodes=nodes).reply(question(soft_ms=60_000), None)
            assert answer is not None
            assert answer.source == source


def test_a_learned_move_that_would_repeat_is_left_to_the_search(tmp_path: Path) -> None:
    with LearnedBook(tmp_path / "learned.sqlite") as learned:
        learned.keep(_at(TO_AND_FRO).splitlines()[0].removeprefix("sfen "), BookSearch("3h2h", 0, 15, 100.0))
        opening = OpeningBook(OpeningSettings(), learned)
        assert opening.reply(question(*TO_AND_FRO), 1e6) is None
        assert opening.reply(question(*TO_AND_FRO[:2]), 1e6) == BookAnswer("3h2h", "learned", 0, 15)


ANY = BookSettings(any_ply=True, flipped=False)
CANDIDATES = [BookMove("7g7f", value=50, count=60), BookMove("2g2f", value=40, count=30), BookMove("5g5f", value=10)]


class Replies:
    """The opponent's replies to 7g7f and 2g2f."""

    def __init__(self) -> None:
        self._entries = {}
        for move, replies in {
            "7g7f": [BookMove("3c3d", value=-45, count=80), BookMove("8c8d", value=90, count=15)],
            "2g2f": [BookMove("8c8d", value=-30, count=70), BookMove("3c3d", value=300, count=2)],
        }.items():
            position = Position.startpos()
            position.push_usi(move)
            self._entries[position.sfen()] = replies

    def find(self, sfen: str, any_ply: bool = False) -> list[BookMove]:
        return self._entries.get(sfen, [])


@pytest.mark.parametrize(
    ("how", "values"),
    [
        (LookAhead.OFF, [50, 40, 10]),
        (LookAhead.LIKELY, [45, 30, 10]),
        (LookAhead.WORST, [-90, 30, 10]),  # two games in 72 make no likely reply
    ],
)
def test_values(how: LookAhead, values: list[int]) -> None:
    position = Position.startpos()
    found = look_ahead(Replies(), position, CANDIDATES, ANY, how)
    assert [entry.value for entry in found] == values
    assert [entry.move for entry in found] == ["7g7f", "2g2f", "5g5f"]
    assert position.move_number == 1


def test_the_reply_is_the_expected_one() -> None:
    found = look_ahead(Replies(), Position.startpos(), CANDIDATES, ANY, LookAhead.WORST)
    assert [entry.ponder for entry in found] == ["8c8d", "8c8d", None]

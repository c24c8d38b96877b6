"""Books and the opponent's time."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.api import PonderSearch, StartSearch
from master.player.events import Conclusion, MoveComment, MovePlayed, ThinkingBegan
from master.player.inputs import BookReplied, ConnectionLost, GiveUp, Tick
from master.player.instructions import AskBook, BookAnswer, Emit, PlayerSettings, Send
from tests.answers import make_known
from tests.master.player.table import BLACK, ENTERED, MATED, Table, decision
from worker.score import MATE
from worker.shogi import STARTPOS, Position, Repetition, move_to_csa, move_to_usi

WITH_BOOK = PlayerSettings(book_ms=300)
ANSWER = BookAnswer("7g7f", "book.db", 35, 20, ("7g7f", "3c3d", "2g2f"))


def questions(table: Table) -> list[AskBook]:
    return [instruction for instruction in table.all if isinstance(instruction, AskBook)]


def reply(table: Table, answer: BookAnswer | None, after_ms: float = 5, question: int = -1) -> None:
    table.now += after_ms
    table.tell(BookReplied(questions(table)[question].question_id, answer))


def test_the_book_is_asked_before_any_search() -> None:
    table = Table(WITH_BOOK).begin()
    (question,) = questions(table)
    assert (question.sfen, question.moves) == (STARTPOS, ())
    assert question.soft_ms > 0
    assert table.requests == []
    assert table.player.deadline_ms == table.now + 300


def test_a_book_move_goes_out_with_its_score() -> None:
    table = Table(WITH_BOOK).begin()
    reply(table, ANSWER)
    assert table.lines[-1] == "+7776FU,'* 35 -3334FU +2726FU"
    assert table.requests == []
    assert table.player.deadline_ms is None
    assert table.pondered[-1].moves == ("7g7f",)
    table.hear("+7776FU,T1")
    (played,) = (event for event in table.events if isinstance(event, MovePlayed))
    assert played.comment == MoveComment(35, ("-3334FU", "+2726FU"), 20, 0, "book.db")
    table.hear("-3334FU,T1")
    assert len(questions(table)) == 2
    assert questions(table)[1].moves == ("7g7f", "3c3d")


@pytest.mark.parametrize(
    "answer", [None, BookAnswer("7g7e", "book.db", 500), BookAnswer("rubbish", "x"), BookAnswer("resign", "x")]
)
def test_no_move_and_no_legal_move_begin_the_search(answer: BookAnswer | None) -> None:
    table = Table(WITH_BOOK).begin()
    reply(table, answer)
    assert len(table.requests) == 1
    assert table.notes() == ([] if answer is None else ["book_move_refused"])
    assert table.decide("2g2f") == "+2726FU,'* 0"


def test_the_time_that_the_book_took_is_not_there_for_the_search() -> None:
    soft = []
    for after_ms in (0, 250):
        table = Table(WITH_BOOK).begin()
        reply(table, None, after_ms)
        soft.append(table.requests[0].soft_ms)
    assert soft[0] is not None
    assert soft[1] == soft[0] - 250


def test_a_slow_book_is_not_waited_for() -> None:
    table = Table(WITH_BOOK).begin()
    table.now += 299
    assert table.tell(Tick()) == []
    table.now += 1
    table.tell(Tick())
    assert len(table.requests) == 1
    assert table.notes() == ["book_late"]
    before = len(table.all)
    reply(table, ANSWER)  # late
    assert len(table.all) == before
    assert table.decide("2g2f") == "+2726FU,'* 0"
    reply(table, ANSWER)
    assert table.lines[-1] == "+2726FU,'* 0"


def test_a_search_that_then_hangs_ends_by_the_hard_deadline() -> None:
    table = Table(WITH_BOOK).begin()
    reply(table, None)
    assert table.player.deadline_ms is not None
    table.now = table.player.deadline_ms
    table.tell(Tick())
    assert table.notes() == ["fallback_move"]


def test_a_repetition_is_the_searchs_to_say() -> None:
    table = Table(WITH_BOOK).begin()
    for ours, theirs in (("2h3h", "-8272HI"), ("3h2h", "-7282HI"), ("2h3h", "-8272HI")):
        reply(table, BookAnswer(ours, "book.db", 300))
        if table.requests:
            break
        table.hear({"2h3h": "+2838HI,T1", "3h2h": "+3828HI,T1"}[ours], f"{theirs},T1")
    # 3h2h brings back the position after the first two moves' return.
    assert [request.moves for request in table.requests] == [("2h3h", "8b7b", "3h2h", "7b8b")]


def test_neither_mate_nor_declaration_asks_a_book() -> None:
    for sfen, line in ((MATED, "%TORYO"), (ENTERED, "%KACHI")):
        colour = 1 if " w " in sfen else 0
        summary = replace(BLACK, my_colour=colour, to_move=colour, start_sfen=sfen, declaration="Jishogi 1.1", moves=())
        table = Table(WITH_BOOK).begin(summary)
        assert table.lines[-1] == line
        assert questions(table) == []


def test_a_reply_after_the_end_is_not_heard() -> None:
    table = Table(WITH_BOOK).begin()
    table.tell(GiveUp("stopped"))
    assert table.lines[-1] == "%TORYO"
    assert table.player.deadline_ms is None
    reply(table, ANSWER)
    table.tell(ConnectionLost("gone"))
    reply(table, ANSWER)
    assert table.lines.count("%TORYO") == 1
    assert table.outcome.conclusion is Conclusion.LOSE
    assert not any(isinstance(instruction, (StartSearch, PonderSearch)) for instruction in table.all)
    assert not any(isinstance(instruction, Send) and "7776" in instruction.line for instruction in table.all)


BOOKS = ("book", "book badly", "no book", "old book")


@settings(max_examples=40)
@given(st.lists(st.sampled_from(["tick", "decide", "reply", *BOOKS]), max_size=50), st.randoms(use_true_random=False))
def test_a_turn_ends_for_any_book(steps: list[str], random: Random) -> None:
    """Only legal moves go out, and on our turn there is always a deadline."""
    table = Table(PlayerSettings(book_ms=300, resign_score=None)).begin()
    board = Position.startpos()
    for step in steps:
        before = len(table.lines)
        moves = board.legal_moves()
        if step == "tick" and table.player.deadline_ms is not None:
            table.now = table.player.deadline_ms
            table.tell(Tick())
        elif step == "decide" and table.requests:
            chosen = move_to_usi(random.choice(moves))
            table.tell(decision(table.requests[-1].search_id, chosen))
        elif step == "reply" and board.turn == 1:
            move = random.choice(moves)
            table.hear(f"{move_to_csa(move)},T0")
            board.push(move)
        elif step in BOOKS:
            chosen = move_to_usi(random.choice(moves))
            answer = {"book": BookAnswer(chosen, "x"), "book badly": BookAnswer("5e5d", "x"), "no book": None}
            reply(table, answer.get(step), question=0 if step == "old book" else -1)
        for line in table.lines[before:]:
            board.push_csa(line[:7])
            table.hear(f"{line[:7]},T0")
        if table.player.outcome is not None or board.is_mated() or board.repetition() is not Repetition.NONE:
            return
        assert (table.player.deadline_ms is not None) == (board.turn == 0)


def test_a_move_that_we_did_not_send_ends_the_question() -> None:
    table = Table(WITH_BOOK).begin()
    table.hear("+2726FU,T1")
    assert table.player.deadline_ms is None
    before = len(table.lines)
    reply(table, ANSWER)
    assert len(table.lines) == before


def test_the_opponents_time_is_used() -> None:
    table = Table().begin()
    assert not table.pondered
    out = table.tell(decision(1, "7g7f"))
    assert [type(instruction) for instruction in out if not isinstance(instruction, Emit)] == [Send, PonderSearch]
    request = table.pondered[0]
    assert (request.search_id, request.moves) == (2, ("7g7f",))
    assert (request.soft_ms, request.hard_ms) == (None, None)
    assert table.player.deadline_ms is None
    table.hear("+7776FU,T0", "-3334FU,T0")
    assert table.stopped == []
    assert (table.requests[1].search_id, table.requests[1].moves) == (3, ("7g7f", "3c3d"))


def test_ponder_results_save_time() -> None:
    soft = []
    for known in (None, make_known("2g2f", 30, 12, 10_000, 4000, 2000)):
        table = Table().begin()
        table.decide("7g7f")
        table.hear("+7776FU,T0")
        if known is not None:
            table.ponder("3c3d", known)
        table.hear("-3334FU,T0")
        soft.append(table.requests[1].soft_ms or 0)
        began = [event for event in table.events if isinstance(event, ThinkingBegan)]
        assert began[1].known == known
    assert soft[0] - soft[1] == 2000


def test_ponder_results_count_until_the_reply() -> None:
    """The opponent replies 1.5 s after the last report of pondering, when half of its nodes searched after the
    reply."""
    table = Table().begin()
    table.decide("7g7f")
    table.hear("+7776FU,T0")
    table.ponder("3c3d", make_known("2g2f", 30, 12, 10_000, 4000, 2000))
    table.hear("-3334FU,T1", after_ms=1_500)
    began = [event for event in table.events if isinstance(event, ThinkingBegan)]
    assert began[1].known == make_known("2g2f", 30, 12, 10_000, 5500, 2750)


@pytest.mark.parametrize("ending", ["result", "line", "abort"])
def test_pondering_ends_with_the_game(ending: str) -> None:
    table = Table().begin()
    table.decide("7g7f")
    table.hear("+7776FU,T0")
    match ending:
        case "result":
            table.hear("%TORYO", "#RESIGN", "#WIN")
        case "line":
            table.tell(ConnectionLost("gone"))
        case "abort":
            table.tell(GiveUp("Ctrl-C"))
    assert table.stopped == [2]


def test_no_pondering_if_it_is_switched_off_or_the_game_is_over() -> None:
    table = Table(PlayerSettings(ponder=False)).begin()
    table.decide("7g7f")
    assert not table.pondered
    table = Table().begin(replace(BLACK, max_moves=3))
    table.decide("7g7f")
    assert len(table.pondered) == 1
    table.hear("+7776FU,T0", "-3334FU,T0")
    table.decide("2g2f")
    assert len(table.pondered) == 1
    mating = replace(BLACK, start_sfen="4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    table = Table().begin(mating)
    table.decide("G*5b", MATE - 1)
    assert not table.pondered


def test_a_move_that_went_out_at_the_deadline_is_pondered_on_too() -> None:
    table = Table().begin()
    table.tell(Tick(), table.now + 10**6)
    assert table.stopped == [1]
    assert [request.search_id for request in table.pondered] == [2]

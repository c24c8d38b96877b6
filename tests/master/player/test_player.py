from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.api import Known, Pondered, PonderSearch, RetimeSearch
from master.csa.position import csa_from_sfen
from master.csa.summary import GameSummary, format_summary, parse_summary
from master.player.events import (
    Conclusion,
    GameBegan,
    GameEnded,
    GameFound,
    GameOutcome,
    GameRefused,
    LoggedIn,
    MovePlayed,
    ThinkingBegan,
    ThinkingEnded,
    ThinkingProgressed,
)
from master.player.inputs import ConnectionLost, Decided, GiveUp, PonderFound, Prepared, Progressed, SearchFailed, Tick
from master.player.instructions import Emit, Login, PlayerSettings, PrepareSearcher, Send
from tests.master.csa.summaries import summary_lines
from tests.master.csa.transcripts import NAMES, server_lines
from tests.master.player.table import BLACK, ENTERED, MATED, WHITE, Table, decision, progress
from worker.clock import ClockSettings
from worker.clock.timecontrol import TimeControl
from worker.score import MATE, mated_in
from worker.shogi import Position, move_to_csa


def test_voters_that_do_not_agree_get_more_time() -> None:
    table = Table().begin()
    for agreement in (1.0, 0.5, 0.5, 1.0):
        table.tell(Progressed(replace(progress(1, "7g7f"), agreement=agreement)))
    table.tell(Progressed(replace(progress(9, "7g7f"), agreement=0.3)))
    retimed = [instruction for instruction in table.all if isinstance(instruction, RetimeSearch)]
    assert [instruction.search_id for instruction in retimed] == [1, 1, 1]
    assert retimed[1].soft_ms > retimed[0].soft_ms == retimed[2].soft_ms


def test_a_game_from_login_to_logout() -> None:
    table = Table().begin()
    assert table.lines == ["LOGIN alice test-60-5F-B,pwa", f"AGREE {BLACK.game_id}"]
    request = table.requests[0]
    assert (request.search_id, request.sfen, request.moves) == (1, BLACK.start_sfen, ())
    assert request.soft_ms is not None
    assert request.hard_ms is not None
    assert request.soft_ms <= request.hard_ms < 65_000
    table.tell(Progressed(progress(1, "7g7f")))
    assert table.decide("7g7f", 55, ["3c3d", "2g2f"]) == "+7776FU,'* 55 -3334FU +2726FU"
    table.hear("+7776FU,T2", after_ms=2_300)
    assert len(table.requests) == 1
    table.hear("-3334FU,T4", after_ms=4_100)
    assert table.requests[1].search_id == 3
    assert table.requests[1].moves == ("7g7f", "3c3d")
    assert table.decide("2g2f", None) == "+2726FU"
    table.hear("+2726FU,T0", "%TORYO", "#RESIGN", "#WIN")
    assert table.lines[-1] == "LOGOUT"
    assert table.outcome == GameOutcome(Conclusion.WIN, "RESIGN", BLACK, winner=0, plies=3, sfen=table.outcome.sfen)
    assert [type(event) for event in table.events] == [
        LoggedIn, GameFound, GameBegan, ThinkingBegan, ThinkingProgressed, ThinkingEnded, MovePlayed, MovePlayed,
        ThinkingBegan, ThinkingEnded, MovePlayed, GameEnded,
    ]  # fmt: skip
    moves = [event for event in table.events if isinstance(event, MovePlayed)]
    assert [(move.ply, move.mine, move.usi, move.consumed_ms, move.score) for move in moves] == [
        (1, True, "7g7f", 2000, 55),
        (2, False, "3c3d", 4000, None),
        (3, True, "2g2f", 0, None),
    ]
    assert moves[0].pv == ("-3334FU", "+2726FU")
    assert [move.clocks.left_ms for move in moves] == [(63_000, 60_000), (63_000, 61_000), (68_000, 61_000)]


def test_scores_are_from_blacks_view() -> None:
    table = Table().begin(WHITE)
    assert table.requests == []
    table.hear("+7776FU,T0")
    assert table.decide("3c3d", 70, ["2g2f"]) == "-3334FU,'* -70 +2726FU"


def test_the_game_is_agreed_to_once_the_searcher_is_ready() -> None:
    table = Table()
    table.hear("LOGIN:alice OK")
    found = table.hear(*format_summary(BLACK))
    assert found[-1] == PrepareSearcher()
    assert len(table.lines) == 1
    assert table.tell(Prepared()) == [Send(f"AGREE {BLACK.game_id}", f"AGREE {BLACK.game_id}")]
    assert table.tell(Prepared()) == []


def test_the_password_is_in_no_representation() -> None:
    table = Table()
    assert "pwa" in table.lines[0]
    assert "pwa" not in repr(table.all)
    assert "pwa" not in repr(Login("alice", "test-60-5F-B,pwa"))


def test_a_start_in_the_middle_of_a_game() -> None:
    buoy = parse_summary(summary_lines("24_buoy.white")[1:-1])
    table = Table().begin(buoy)
    assert table.requests[0].moves == ("7g7f", "3c3d", "2g2f")
    began = next(event for event in table.events if isinstance(event, GameBegan))
    assert began.sfen.endswith(" w - 4")
    assert began.clocks.left_ms == (60_000, 60_000)
    assert table.decide("8c8d") == "-8384FU,'* 0"


# Offers that cannot be played


@pytest.mark.parametrize(
    ("summary", "why"),
    [
        (replace(BLACK, format="Go 1.0"), "unknown game"),
        (replace(BLACK, declaration="Jishogi 9.9"), "unknown rule"),
        (replace(BLACK, time=(TimeControl(total_ms=1000, least_ms=1000),) * 2), "no move"),
        (replace(BLACK, start_sfen="9/9/9/9/9/9/9/9/4K4 b - 1"), "king is missing"),
        (replace(BLACK, start_sfen="4k4/4P4/9/9/9/9/9/9/4K4 b - 1"), "take the king"),
        (replace(BLACK, max_moves=1, moves=parse_summary(summary_lines("24_buoy.white")[1:-1]).moves[:1]), "limit"),
    ],
)
def test_refuses_what_it_cannot_play(summary: GameSummary, why: str) -> None:
    if summary.moves:
        summary = replace(summary, to_move=1)
    table = Table()
    table.hear("LOGIN:alice OK", *format_summary(summary))
    assert table.lines[-1] == f"REJECT {summary.game_id}"
    (refused,) = [event for event in table.events if isinstance(event, GameRefused)]
    assert why in refused.why
    assert table.player.outcome is None
    table.hear(f"REJECT:{summary.game_id} by alice")
    assert (table.outcome.conclusion, table.outcome.reason) == (Conclusion.NOT_PLAYED, "rejected by alice")


def test_refuses_a_summary_that_cannot_be_read() -> None:
    table = Table()
    lines = [line for line in format_summary(BLACK) if not line.startswith("Your_Turn")]
    table.hear("LOGIN:alice OK", *lines)
    assert table.lines[-1] == "REJECT"


def test_refuses_moves_that_are_not_legal() -> None:
    buoy = parse_summary(summary_lines("24_buoy.white")[1:-1])
    table = Table()
    table.hear("LOGIN:alice OK", *[line.replace("-3334FU", "-3335FU") for line in format_summary(buoy)])
    assert table.lines[-1].startswith("REJECT")


# Endings


def test_login_refused() -> None:
    table = Table()
    table.hear("LOGIN:incorrect")
    assert table.outcome.conclusion is Conclusion.LOGIN_REFUSED
    assert len(table.lines) == 1


def test_the_opponent_rejects() -> None:
    table = Table()
    table.hear("LOGIN:alice OK", *format_summary(BLACK), f"REJECT:{BLACK.game_id} by bob")
    assert table.outcome.conclusion is Conclusion.NOT_PLAYED
    assert not table.outcome.played
    assert table.tell(Prepared()) == []


@pytest.mark.parametrize(
    ("lines", "conclusion", "winner"),
    [
        (["#TIME_UP", "#WIN"], Conclusion.WIN, 0),
        (["#TIME_UP", "#LOSE"], Conclusion.LOSE, 1),
        (["#SENNICHITE", "#DRAW"], Conclusion.DRAW, None),
        (["#MAX_MOVES", "#CENSORED"], Conclusion.CENSORED, None),
        (["#CHUDAN"], Conclusion.INTERRUPTED, None),
        (["%KACHI,T0", "%KACHI", "#JISHOGI", "#LOSE"], Conclusion.LOSE, 1),
    ],
)
def test_an_end_stops_the_search(lines: list[str], conclusion: Conclusion, winner: int | None) -> None:
    table = Table().begin()
    table.hear(*lines)
    assert table.stopped == [1]
    assert (table.outcome.conclusion, table.outcome.winner) == (conclusion, winner)
    assert table.tell(Decided(decision(1, "7g7f"))) == []
    assert table.hear("+7776FU,T0", "#WIN") == []


def test_a_line_that_drops() -> None:
    table = Table().begin()
    table.hear("#TIME_UP")
    table.tell(ConnectionLost("server:4081 closed the connection"))
    assert table.outcome.conclusion is Conclusion.DISCONNECTED
    assert table.outcome.played
    assert "playing" in table.outcome.reason
    assert "#TIME_UP" in table.outcome.reason
    assert table.stopped == [1]
    assert table.tell(ConnectionLost("again")) == []


def test_a_mated_player_resigns() -> None:
    table = Table().begin(replace(WHITE, to_move=1, start_sfen=MATED))
    assert table.lines[-1] == "%TORYO"
    assert table.requests == []


# Declaring


def test_declares_when_it_can_without_searching() -> None:
    assert Position.from_sfen(ENTERED).can_declare()
    table = Table().begin(replace(BLACK, start_sfen=ENTERED))
    assert table.lines[-1] == "%KACHI"
    assert table.requests == []


def test_declares_never_where_the_rule_is_not_offered() -> None:
    table = Table().begin(replace(BLACK, start_sfen=ENTERED, declaration=""))
    line = table.decide("win", None)
    assert line != "%KACHI"
    assert "fallback_move" in table.notes()


def test_a_wrong_declaration_is_not_sent() -> None:
    table = Table().begin()
    assert table.decide("win", None)[0] == "+"


# Resigning


def test_resigns_after_several_bad_scores() -> None:
    table = Table(PlayerSettings(resign_score=2000, resign_moves=2)).begin(replace(BLACK, max_moves=None))
    assert table.decide("7g7f", -2500).startswith("+7776FU")
    table.hear("+7776FU,T0", "-3334FU,T0")
    assert table.decide("2g2f", -1999).startswith("+2726FU")
    table.hear("+2726FU,T0", "-8384FU,T0")
    assert table.decide("2f2e", mated_in(8)).startswith("+2625FU")
    table.hear("+2625FU,T0", "-8485FU,T0")
    assert table.decide("6i7h", -2000) == "%TORYO"


def test_never_resigns_by_score_where_that_is_switched_off_or_a_draw_is_near() -> None:
    for settings_, limit in ((PlayerSettings(resign_score=None), None), (PlayerSettings(resign_moves=1), 20)):
        table = Table(settings_).begin(replace(BLACK, max_moves=limit))
        for number, move in enumerate(["2h3h", "3h2h"] * 3):
            assert table.decide(move, mated_in(2)).startswith("+")
            table.hear(("+2838HI", "+3828HI")[number % 2], ("-8272HI", "-7282HI")[number % 2])


def test_a_resignation_holds_only_in_a_lost_position() -> None:
    table = Table().begin()
    assert table.decide("resign", None)[0] == "+"
    table.hear("+7776FU,T0" if table.lines[-1] == "+7776FU" else f"{table.lines[-1]},T0", "-3334FU,T0")
    assert table.decide("resign", -MATE + 2) == "%TORYO"


# Pondering


def test_the_opponents_time_is_used() -> None:
    table = Table().begin()
    assert not table.pondered
    out = table.tell(Decided(decision(1, "7g7f")))
    assert [type(instruction) for instruction in out if not isinstance(instruction, Emit)] == [Send, PonderSearch]
    request = table.pondered[0]
    assert (request.search_id, request.moves) == (2, ("7g7f",))
    assert (request.soft_ms, request.hard_ms) == (None, None)
    assert table.player.deadline_ms is None
    table.hear("+7776FU,T0", "-3334FU,T0")
    assert table.stopped == []
    assert (table.requests[1].search_id, table.requests[1].moves) == (3, ("7g7f", "3c3d"))


def test_what_pondering_found_saves_time() -> None:
    soft = []
    for known in (None, Known("2g2f", 30, 12, 10_000, 1.0, 4000, 2000)):
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


def test_what_pondering_found_counts_until_the_reply() -> None:
    """The opponent replies 1.5 s after the last word of pondering, half of whose nodes searched behind the reply."""
    table = Table().begin()
    table.decide("7g7f")
    table.hear("+7776FU,T0")
    table.ponder("3c3d", Known("2g2f", 30, 12, 10_000, 1.0, 4000, 2000))
    table.hear("-3334FU,T1", after_ms=1_500)
    began = [event for event in table.events if isinstance(event, ThinkingBegan)]
    assert began[1].known == Known("2g2f", 30, 12, 10_000, 1.0, 5500, 2750)


@pytest.mark.parametrize("case", ["another reply", "an older pondering"])
def test_what_is_known_of_something_else_counts_for_nothing(case: str) -> None:
    table = Table().begin()
    known = Known("2g2f", 30, 12, 10_000, 1.0, 4000, 2000)
    table.decide("7g7f")
    table.hear("+7776FU,T0")
    table.ponder("8c8d", known)
    if case == "an older pondering":
        table.hear("-3334FU,T0")
        table.decide("2g2f")
        table.hear("+2726FU,T0")
        table.tell(PonderFound(Pondered(table.pondered[0].search_id, {"8c8d": known}), table.now))
        table.hear("-8384FU,T0")
    else:
        table.hear("-3334FU,T0")
    began = [event for event in table.events if isinstance(event, ThinkingBegan)]
    assert [event.known for event in began] == [None] * len(began)


def test_nothing_of_pondering_is_sent() -> None:
    table = Table().begin()
    table.decide("7g7f")
    table.hear("+7776FU,T0")
    before = len(table.all)
    table.tell(Progressed(progress(2, "3c3d")))
    table.tell(Decided(decision(2, "3c3d")))
    table.tell(Tick(), table.now + 10**6)
    assert len(table.all) == before


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


def test_no_pondering_where_it_is_switched_off_or_the_game_is_over() -> None:
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


# A searcher that fails


def test_an_illegal_decision_is_never_sent() -> None:
    table = Table().begin()
    table.tell(Progressed(progress(1, "2g2f")))
    assert table.decide("7g7e", 30) == "+2726FU"
    assert table.notes() == ["fallback_move"]


@pytest.mark.parametrize("move", ["", "0000", "resign", "win", "7g7f+", "P*5e", "５五", "x" * 1000])
def test_nonsense_ends_in_a_legal_move(move: str) -> None:
    table = Table().begin()
    table.tell(Progressed(progress(1, "7g7z")))
    line = table.decide(move, None)
    Position.startpos().push_csa(line)


def test_the_hard_deadline_ends_the_turn_with_the_best_that_is_known() -> None:
    table = Table().begin()
    request = table.requests[0]
    assert request.hard_ms is not None
    deadline = table.player.deadline_ms
    assert deadline == table.now + request.hard_ms + PlayerSettings().guard_ms
    table.tell(Progressed(progress(1, "2g2f", "8c8d")))
    assert table.tell(Tick(), deadline - 1) == []
    table.tell(Tick(), deadline)
    assert table.lines[-1] == "+2726FU"
    assert table.stopped == [1]
    assert table.player.deadline_ms is None
    assert table.tell(Decided(decision(1, "7g7f"))) == []
    assert table.tell(Progressed(progress(1, "7g7f"))) == []


def test_what_pondering_knew_is_played_where_the_search_says_nothing() -> None:
    table = Table().begin()
    table.decide("7g7f")
    table.hear("+7776FU,T0")
    table.ponder("3c3d", Known("2g2f", 30, 12, 10_000, 1.0, 4000, 2000))
    table.hear("-3334FU,T0")
    table.tell(Tick(), table.now + 10**6)
    assert table.lines[-1] == "+2726FU"


@pytest.mark.parametrize(("reply", "answer"), [("-3334FU", "+2726FU"), ("-8384FU", None)])
def test_what_the_last_search_expected_is_played_where_this_one_says_nothing(reply: str, answer: str | None) -> None:
    table = Table().begin()
    table.decide("7g7f", 55, ["3c3d", "2g2f", "4c4d"])
    table.hear("+7776FU,T2", after_ms=2_300)
    table.hear(f"{reply},T4", after_ms=4_100)
    table.tell(Tick(), table.now + 10**6)
    assert (table.lines[-1] == "+2726FU") is (answer is not None)


def test_the_deadline_is_in_front_of_the_flag() -> None:
    summary = replace(BLACK, time=(TimeControl(byoyomi_ms=1000),) * 2)
    table = Table().begin(summary)
    assert table.player.deadline_ms is not None
    assert table.player.deadline_ms < table.now + 1000 - 200


def test_a_search_that_cannot_begin() -> None:
    table = Table().begin()
    table.tell(SearchFailed(7, "another"))
    assert len(table.lines) == 2
    table.tell(SearchFailed(1, "no fleet"))
    Position.startpos().push_csa(table.lines[-1])


def test_decisions_of_earlier_searches_are_ignored() -> None:
    table = Table().begin()
    table.decide("7g7f")
    table.hear("+7776FU,T0", "-3334FU,T0")
    assert table.tell(Decided(decision(1, "2g2f"))) == []
    assert table.decide("2g2f").startswith("+2726FU")


def test_a_pv_is_cut_where_it_is_not_legal_and_where_it_is_long() -> None:
    table = Table().begin()
    assert table.decide("7g7f", 1, ["3c3d", "3c3d", "2g2f"]) == "+7776FU,'* 1 -3334FU"
    table.hear("+7776FU,T0", "-3334FU,T0")
    shuffle = ["8b7b", "2h3h", "7b8b", "3h2h"] * 20
    line = table.decide("6i7h", 1, shuffle)
    assert len(line) < 256
    assert line.count(" ") == 25


def test_a_pv_that_begins_elsewhere_is_left_out() -> None:
    table = Table().begin()
    table.tell(Decided(replace(decision(1, "7g7f", 3), pv=("2g2f", "8c8d"))))
    assert table.lines[-1] == "+7776FU,'* 3"


# The server's board


def test_the_servers_echo_counts() -> None:
    table = Table().begin()
    table.hear("+2726FU,T0")  # not ours: the search is for a position that is gone
    assert table.stopped == [1]
    assert "unexpected_line" in table.notes()
    table.hear("-3334FU,T0")
    assert table.requests[-1].moves == ("2g2f", "3c3d")


def test_a_move_that_is_not_legal_here_ends_the_game() -> None:
    table = Table().begin(WHITE)
    table.hear("+7775FU,T0")
    assert table.lines[-1] == "%TORYO"
    assert "lost_track" in table.notes()
    table.hear("%TORYO", "#RESIGN", "#LOSE")
    assert table.outcome.conclusion is Conclusion.LOSE


def test_surprising_lines_are_noted_and_change_nothing() -> None:
    table = Table().begin()
    table.hear("what?", "", "##[CHAT] hello")
    assert table.notes() == ["unexpected_line", "server_notice"]
    assert table.decide("7g7f").startswith("+7776FU")


# Giving up


@pytest.mark.parametrize("heard", [0, 1, 20, 45])
def test_abort_before_the_game(heard: int) -> None:
    table = Table()
    table.hear(*["LOGIN:alice OK", *format_summary(BLACK)][:heard])
    table.tell(GiveUp("Ctrl-C"))
    assert table.outcome.conclusion is Conclusion.ABORTED
    assert table.lines[1:] == ["LOGOUT"] * (heard > 0)
    assert table.tell(Prepared()) == []


# Everything at once


@pytest.mark.parametrize("name", [name for name in NAMES if "BEGIN Game_Summary" in server_lines(name)])
def test_replays_every_recorded_game(name: str) -> None:
    """The recorded server against this player: our moves are those of the recording where it is our turn."""
    table = Table()
    lines = list(server_lines(name))
    answered = 0
    for index, line in enumerate(lines):
        if len(table.requests) > answered and table.player.outcome is None:
            answered = len(table.requests)
            mine = next((text for text in lines[index:] if text[:1] in ("+", "-") and "," in text), None)
            if mine is not None and line == mine:
                board = Position.from_sfen(table.requests[-1].sfen)
                board.push_all(table.requests[-1].moves)
                usi = next(
                    text
                    for text in map(_usi, board.legal_moves())
                    if board.parse_usi(text) == board.parse_csa(mine[:7])
                )
                assert table.decide(usi).startswith(mine[:7])
        table.hear(line)
        if line == "END Game_Summary" and table.player.outcome is None:
            table.tell(Prepared())
    results = [line[1:] for line in lines if line in ("#WIN", "#LOSE", "#DRAW", "#CENSORED")]
    if results:
        assert table.outcome.conclusion.value == results[0]


def _usi(move: int) -> str:
    from worker.shogi import move_to_usi

    return move_to_usi(move)


STEPS = st.one_of(
    st.sampled_from(
        ["prepared", "tick", "abort", "lost", "decide", "decide badly", "progress", "fail", "echo", "reply"]
    ),
    st.sampled_from([line for line in format_summary(BLACK) if line[0] == "P"][:3]),
    st.sampled_from(["", "#WIN", "#RESIGN", "LOGOUT:completed", f"START:{BLACK.game_id}", "REJECT:x by y", "##[x]"]),
    st.text(max_size=12),
)


@settings(max_examples=300)
@given(st.booleans(), st.integers(0, 2), st.lists(STEPS, max_size=40), st.randoms(use_true_random=False))
def test_whatever_happens_only_legal_lines_go_out(black: bool, head: int, steps: list[str], random: object) -> None:
    table = Table(PlayerSettings(clock=ClockSettings(), resign_score=None))
    summary = BLACK if black else WHITE
    board = Position.startpos()
    for line in ["LOGIN:alice OK", *format_summary(summary)][: (0, 1, 99)[head]]:
        table.hear(line)
    for step in steps:
        table.now += 50
        lines_before = len(table.lines)
        search_id = table.requests[-1].search_id if table.requests else 1
        if step == "prepared":
            table.tell(Prepared())
        elif step == "tick":
            table.now += 30_000
            table.tell(Tick())
        elif step == "abort":
            table.tell(GiveUp("stop"))
        elif step == "lost":
            table.tell(ConnectionLost("gone"))
        elif step == "decide":
            table.tell(Decided(decision(search_id, _usi(random.choice(board.legal_moves())))))  # type: ignore[attr-defined]
        elif step == "decide badly":
            table.tell(Decided(decision(search_id, "5e5d")))
        elif step == "progress":
            table.tell(Progressed(progress(search_id, "7g7f")))
        elif step == "fail":
            table.tell(SearchFailed(search_id, "broken"))
        elif step == "echo":
            sent = table.player.protocol.sent
            if sent is not None and sent[0] in "+-":
                table.hear(f"{sent},T0")
                board.push_csa(sent)
        elif step == "reply":
            moves = board.legal_moves()
            if table.player.protocol.state.value == "playing" and board.turn != summary.my_colour and moves:
                move = random.choice(moves)  # type: ignore[attr-defined]
                table.hear(f"{move_to_csa(move)},T0")
                board.push(move)
        else:
            table.hear(step)
        for line in table.lines[lines_before:]:
            if line[0] in "+-":
                board.parse_csa(line[:7])
    assert sum(line == "LOGOUT" for line in table.lines) <= 1


def test_positions_of_the_tests_are_what_they_claim() -> None:
    assert Position.from_sfen(MATED).is_mated()
    assert csa_from_sfen(MATED)[-1] == "-"

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rsshogi.record import Record

from master.csa.login import HANDICAPS
from master.practice import server_room as room
from master.practice.server_game import MAX_DEFERRED, ServerGame, StartPosition
from tests.master.csa.transcripts import NAMES, load, server_lines
from worker.rules import EnteringKingRule
from worker.shogi import Position

T0 = 1_800_000_000_000.0
# The side to move (black) mates at once by G*5b; white has nothing.
MATE_IN_ONE = StartPosition("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")


def from_position(start: StartPosition, **more: Any) -> room.RoomOptions:
    return room.RoomOptions(starts={"test-60-5F": start}, **more)


class Hall:
    """A room, its clock, and the lines that each connection received."""

    def __init__(self, options: room.RoomOptions | None = None) -> None:
        self.room = room.Room(options)
        self.now = T0
        self.heard: dict[int, list[str]] = {}
        self.closed: set[int] = set()
        self.notes: list[room.RoomNote] = []
        self.games: list[ServerGame] = []

    def carry_out(self, effects: list[room.Effect]) -> None:
        for effect in effects:
            if isinstance(effect, room.SendLine):
                assert effect.conn not in self.closed
                self.heard[effect.conn].append(effect.line)
            elif isinstance(effect, room.CloseConnection):
                self.closed.add(effect.conn)
            elif isinstance(effect, room.RecordChanged):
                self.games.append(effect.game)
            else:
                self.notes.append(effect)

    def connect(self, *conns: int) -> None:
        for conn in conns:
            self.heard[conn] = []
            self.carry_out(self.room.connect(conn, self.now))

    def say(self, conn: int, *lines: str, after_ms: float = 0) -> list[str]:
        """Send lines on one connection; returns the lines received since."""
        self.now += after_ms
        before = len(self.heard[conn])
        for line in lines:
            self.carry_out(self.room.receive(conn, line, self.now))
        return self.heard[conn][before:]

    def leave(self, conn: int) -> None:
        self.closed.add(conn)
        self.carry_out(self.room.disconnect(conn, self.now))

    def tick(self, after_ms: float) -> None:
        self.now += after_ms
        self.carry_out(self.room.tick(self.now))

    def start(self, game: str = "test-60-5F") -> None:
        """Connections 0 (alice, black) and 1 (bob, white) begin a game; earlier lines are forgotten."""
        self.connect(0, 1)
        self.say(0, f"LOGIN alice {game}-B,pwa")
        self.say(1, f"LOGIN bob {game}-W,pwb", "AGREE")
        self.say(0, "AGREE")
        assert self.heard[0][-1].startswith("START:")
        self.forget()

    def forget(self) -> None:
        for heard in self.heard.values():
            heard.clear()

    def play(self, *moves: str) -> None:
        for move in moves:
            self.say(0 if move[0] == "+" else 1, move)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("25_login_forms.form")])
def test_login_forms(name: str) -> None:
    hall = Hall()
    hall.connect(0)
    for said in load(name):
        if said.who == "C":
            hall.say(0, said.text)
    assert hall.heard[0] == list(server_lines(name))
    assert hall.closed == {0}


def test_a_second_login_while_waiting_takes_the_place_with_the_same_password_only() -> None:
    hall = Hall()
    hall.connect(0, 1, 2)
    assert hall.say(0, "LOGIN alice test-60-5F-B,pwa") == ["LOGIN:alice OK"]
    assert hall.say(1, "LOGIN alice test-60-5F-B,zzz") == ["LOGIN:incorrect"]
    assert hall.closed == set()
    assert hall.say(2, "LOGIN alice test-60-5F-B,pwa") == ["LOGIN:alice OK"]
    assert hall.closed == {0}


def test_a_second_login_during_a_game_is_refused_and_after_it_is_not() -> None:
    hall = Hall()
    hall.start()
    hall.connect(2)
    assert hall.say(2, "LOGIN bob test-60-5F-W,pwb") == ["LOGIN:incorrect"]
    hall.leave(1)
    assert hall.say(2, "LOGIN bob test-60-5F-W,pwb") == ["LOGIN:bob OK"]
    assert "pwb" not in repr(hall.notes) + repr(hall.room._visitors)


def test_pairing() -> None:
    hall = Hall()
    hall.connect(*range(6))
    hall.say(0, "LOGIN a test-60-5F-B,p")
    hall.say(1, "LOGIN b test-60-5F-B,p")
    hall.say(2, "LOGIN c test-60-0-W,p")
    assert hall.room.games == ()
    hall.say(3, "LOGIN d test-60-5F,p")
    hall.say(4, "LOGIN e test-60-5F-W,p")
    assert [game.names for game in hall.room.games] == [("a", "d"), ("b", "e")]
    assert "Your_Turn:+" in hall.heard[0]
    assert "Your_Turn:-" in hall.heard[3]
    hall.say(5, "LOGIN f test-60-0,p")
    assert hall.room.games[-1].names == ("f", "c")
    assert len({game.game_id for game in hall.room.games}) == 3


def test_sides_alternate_by_default() -> None:
    hall = Hall()
    names = []
    for number in range(0, 8, 2):
        hall.connect(number, number + 1)
        hall.say(number, "LOGIN a floodgate-60-5F,p")
        hall.say(number + 1, "LOGIN b floodgate-60-5F,p")
        names.append(hall.room.games[0].names)
        hall.say(number, "REJECT")
    assert names == [("a", "b"), ("b", "a"), ("a", "b"), ("b", "a")]


@pytest.mark.parametrize("prefix", HANDICAPS)
def test_handicaps_are_positions(prefix: str) -> None:
    hall = Hall()
    hall.start(f"{prefix}x-60-5F")
    assert hall.say(0, "+5756FU") == ["+5756FU,T0"]


@pytest.mark.parametrize(
    ("game", "says"),
    [
        ("floodgate-60-5F-B", "You are not allowed to specify TEBAN + for the game floodgate-60-5F"),
        ("floodgate-60-5F-w", "You are not allowed to specify TEBAN - for the game floodgate-60-5F"),
        ("hc2p_x-60-5F", "Random turn preference is not allowed for handicapped games"),
    ],
)
def test_a_wish_that_the_real_server_refuses_waits_for_nobody(game: str, says: str) -> None:
    hall = Hall()
    hall.connect(0, 1, 2)
    for conn in (0, 1):
        assert hall.say(conn, f"LOGIN a{conn} {game},p") == [f"LOGIN:a{conn} OK", f"##[ERROR] {says}"]
    assert hall.say(2, "LOGIN b floodgate-60-5F,p") == ["LOGIN:b OK"]
    assert hall.room.games == ()
    assert hall.say(0, "LOGOUT") == ["LOGOUT:completed"]


def test_a_misspelt_name_is_paired_as_the_default_game() -> None:
    hall = Hall()
    hall.connect(0, 1)
    hall.say(0, "LOGIN a floodgate300-10F,trip")
    assert "Total_Time:1500" in hall.say(1, "LOGIN b justapassword")
    assert hall.room.games[0].game_id.startswith("gougi+default-1500-0+a+b+")


def test_a_client_that_never_logs_in_is_disconnected() -> None:
    hall = Hall()
    hall.connect(0)
    assert hall.room.deadline_ms == T0 + room.LOGIN_MS
    hall.tick(room.LOGIN_MS - 1)
    assert hall.closed == set()
    hall.tick(1)
    assert hall.closed == {0}


def test_agreement_times_out() -> None:
    hall = Hall()
    hall.connect(0, 1)
    hall.say(0, "LOGIN a test-60-5F,p")
    hall.say(1, "LOGIN b test-60-5F,p", "AGREE")
    hall.tick(119_999)
    assert hall.closed == set()
    hall.tick(1)
    assert hall.heard[0][-1].endswith("by the Server (timed out)")
    assert hall.closed == {0, 1}
    assert hall.games == []


def test_a_flag_is_noticed_when_it_falls() -> None:
    hall = Hall()
    hall.start("test-2-3")
    hall.say(0, "+7776FU", after_ms=4_999)
    assert hall.heard[0] == ["+7776FU,T4"]
    hall.tick(4_999)
    assert hall.heard[0] == ["+7776FU,T4"]
    hall.tick(1)
    assert hall.heard[0][-2:] == ["#TIME_UP", "#WIN"]
    assert hall.games[-1].record.moves[0].consumed_ms == 4_000


@pytest.mark.parametrize("last", ["%TORYO", "+7775FU", "%CHUDAN", "", "+7776FU"])
def test_a_player_that_has_left_loses_in_any_case(last: str) -> None:
    """As on the real server, even if the other one resigns or loses on time."""
    hall = Hall(room.RoomOptions(max_moves=1))
    hall.start("test-2-3")
    assert hall.say(1, "LOGOUT") == ["LOGOUT:completed"]
    if last:
        hall.say(0, last)
    else:
        hall.tick(5_000)
    assert [line for line in hall.heard[0] if line[0] in "%#"] == ["%TORYO", "#RESIGN", "#WIN"]
    ending = hall.games[-1].record.ending
    assert ending is not None
    assert (ending.reason, ending.winner, ending.comment) == ("RESIGN", 0, "logged out")


def test_mate_is_for_the_players_to_see() -> None:
    hall = Hall(from_position(MATE_IN_ONE))
    hall.start()
    hall.play("+0052KI")
    assert hall.games[-1].position.is_mated()
    assert hall.say(1, "%TORYO") == ["%TORYO", "#RESIGN", "#LOSE"]
    assert Record.from_csa_str(hall.games[-1].record.to_csa()).result.is_black_win()


def test_a_draw_by_the_move_limit_comes_before_mate() -> None:
    hall = Hall(from_position(MATE_IN_ONE, max_moves=1))
    hall.start()
    assert hall.say(0, "+0052KI") == ["+0052KI,T0", "#MAX_MOVES", "#CENSORED"]


@pytest.mark.parametrize(
    "move",
    ["+7775FU", "-3334FU", "+0055FU", "+77", "+7776fu", "+7776FUx", "+9999OU", "+7776FU '* 3", "+", "%CHUDAN", "%HUH"],
)
def test_an_unreadable_move_loses(move: str) -> None:
    hall = Hall()
    hall.start()
    assert hall.say(0, move) == ["#ILLEGAL_MOVE", "#LOSE"]
    Record.from_csa_str(hall.games[-1].record.to_csa())


def test_comments_are_recorded_and_not_relayed() -> None:
    hall = Hall()
    hall.start()
    hall.say(0, "+7776FU,'* 123 -3334FU +2726FU")
    hall.say(1, "-3334FU,'* -30 +2726FU, second field")
    hall.say(0, "+2726FU,'thinking, hard")
    hall.say(1, "-8384FU,T99,'* 5")
    assert hall.heard[0] == ["+7776FU,T0", "-3334FU,T0", "+2726FU,T0", "-8384FU,T0"]
    moves = hall.games[-1].record.moves
    assert (moves[0].score, moves[0].pv) == (123, ("-3334FU", "+2726FU"))
    assert (moves[1].score, moves[1].pv) == (-30, ("+2726FU",))
    assert (moves[2].score, moves[2].comment) == (None, "thinking")
    assert (moves[3].score, moves[3].comment) == (None, "")


def test_lines_sent_off_turn_wait_for_the_turn() -> None:
    hall = Hall()
    hall.start()
    assert hall.say(1, "-3334FU") == []
    hall.say(0, "+7776FU", after_ms=2_000)
    assert hall.heard[1] == ["+7776FU,T2", "-3334FU,T0"]
    for _ in range(MAX_DEFERRED + 5):
        hall.say(1, "x")
    hall.say(0, "+2726FU")
    assert hall.heard[1][2:] == ["+2726FU,T0", *["##[ERROR] unknown command: x"] * MAX_DEFERRED]


@pytest.mark.parametrize(
    ("rule", "points", "won"),
    [("CSARule27H", 17, True), ("CSARule27H", 16, False), ("CSARule27", 17, False), ("CSARule24H", 17, False)],
)
def test_a_declaration_in_a_handicap_game(rule: str, points: int, won: bool) -> None:
    """White plays without a rook and a bishop."""
    more = points - 10
    start = StartPosition(f"4K4/9/9/9/9/9/pppppp3/9/2sgkgs2 w RB2G2S4N4L{12 - more}P{more}p 1")
    hall = Hall(from_position(start, entering=EnteringKingRule(rule)))
    hall.start()
    assert hall.say(1, "%KACHI")[-1] == ("#WIN" if won else "#LOSE")


def test_games_that_begin_in_one_second_have_their_own_names_and_real_times() -> None:
    """The time is that of START, not of the offer."""
    hall = Hall()
    for game in range(3):
        black, white = 2 * game, 2 * game + 1
        hall.connect(black, white)
        hall.say(black, f"LOGIN b{game} test-60-5F-B,p")
        hall.say(white, f"LOGIN w{game} test-60-5F-W,p", "AGREE")
        hall.say(black, "AGREE", after_ms=1_500 if game == 2 else 0)
        hall.say(black, "%TORYO", after_ms=10)
    records = list({id(game): game.record for game in hall.games}.values())
    assert len({record.game_id for record in records}) == 3
    since = [(record.started.timestamp() * 1000 - T0) for record in records if record.started is not None]
    assert since == pytest.approx([0, 10, 1_520], abs=1)
    for record in records:
        assert record.started is not None and record.ended is not None
        assert record.started <= record.ended


def test_the_record_is_to_be_written_at_the_start_after_each_move_and_at_the_end() -> None:
    hall = Hall()
    hall.start()
    assert len(hall.games) == 1
    hall.play("+7776FU", "-3334FU")
    assert len(hall.games) == 3
    hall.say(0, "nonsense", "", "%TORYO")
    assert len(hall.games) == 4
    record = hall.games[-1].record
    assert (record.started is not None, record.ended is not None) == (True, True)
    assert [note.event for note in hall.notes][-3:] == ["game_offered", "game_started", "game_over"]


def test_a_repetition_with_a_quiet_move_in_it_is_a_draw() -> None:
    hall = Hall(from_position(StartPosition("1k7/9/9/9/9/9/R8/9/8K b - 1")))
    hall.start()
    for _ in range(3):
        hall.play("+9787HI", "-8171OU", "+8797HI", "-7181OU")  # a check, and a move that gives none
        assert hall.closed == set()
    hall.play("+9787HI")
    assert hall.heard[0][-2:] == ["#SENNICHITE", "#DRAW"]


LINES = st.sampled_from(
    ["", " ", "AGREE", "REJECT", "LOGOUT", "%TORYO", "%KACHI", "%CHUDAN", "+7776FU", "-3334FU", "+2726FU,'* 3", "x"]
    + [f"LOGIN {name} test-2-1F{side},{trip}" for name in "ab" for side in ("", "-B", "-W") for trip in "pq"]
)


@settings(max_examples=100)
@given(
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 3), st.one_of(LINES, st.text(max_size=20)), st.integers(0, 1500)), max_size=60),
)
def test_no_line_breaks_the_room(playing: bool, steps: list[tuple[int, str, int]]) -> None:
    """Random lines alone hardly ever begin a game."""
    hall = Hall()
    if playing:
        hall.start()
        hall.play("+7776FU", "-3334FU")
    else:
        hall.connect(0, 1)
    hall.connect(2, 3)
    for conn, line, passes_ms in steps:
        hall.tick(passes_ms)
        if conn in hall.closed:
            hall.closed.discard(conn)
            hall.carry_out(hall.room.disconnect(conn, hall.now))
            hall.connect(conn)
        hall.say(conn, line)
    assert all(game.record.ending is None for game in hall.room.games)
    for game in hall.games:
        Record.from_csa_str(game.record.to_csa())
        assert game.position.sfen().split()[:3] == _replayed(game).sfen().split()[:3]


def _replayed(game: ServerGame) -> Position:
    position = Position.from_sfen(game.record.start_sfen)
    position.push_all([move.usi for move in game.record.moves])
    return position

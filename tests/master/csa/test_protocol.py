from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from master.csa import events as server
from master.csa.protocol import MAX_LINE, CsaProtocol, ProtocolError, State
from tests.master.csa.transcripts import NAMES, load, server_lines, summary_lines

# Lines of the recorded clients that this one refuses to send, by session. The server answered them all the same.
REFUSED: dict[str, list[str]] = {
    "01_fischer_toryo.white": ["-3334FU,'* -30 +2726FU, second field"],
    "06_sennichite.white": ["-8272HI"],
    "09_disconnect_off_turn.white": ["LOGOUT"],
    "11_bad_login.bad": ["LOGIN bad!name pw", "LOGIN nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn pw"],
    "12_keepalive.white": ["-3334FU", "%TORYO"],
    "13_duplicate_move.black": ["+7776FU"],
    "16_zero_time.black": ["%TORYO"],
    "23_x1.black": ["%TORYO"],
    "43_agree_with_id_and_dstar_comment.black": ["+2726FU,T99,'* 5"],
    "43_agree_with_id_and_dstar_comment.white": ["-8384FU '* 30 +2625FU"],
    "45_toryo_off_turn.white": ["%TORYO"],
}
# Lines that no command of this client sends: extended mode, and the lines of broken clients.
FOREIGN = ("%%", "%CHUDAN", "HELLO", "x")
# The server's answers to lines that this client refused to send.
SURPRISES = {"12_keepalive.white": ["-3334FU,T0"]}


def say(csa: CsaProtocol, line: str) -> str | None:
    """Call the command that sends ``line``; None if the client has none."""
    words = line.split()
    if not words or line.startswith(FOREIGN):
        return None
    if words[0] == "LOGIN":
        if len(words) < 3 or words[3:] not in ([], ["x1"]):
            return None
        return csa.login(words[1], words[2], extended=len(words) == 4)
    if words[0] == "AGREE":
        return csa.agree()
    if words[0] == "LOGOUT":
        return csa.logout()
    commands = {"REJECT": csa.reject, "%TORYO": csa.resign, "%KACHI": csa.declare}
    if line in commands:
        return commands[line]()
    move, _, comment = line.partition(",")
    return csa.move(move, comment)


@pytest.mark.parametrize("name", NAMES)
def test_replays_every_recorded_session(name: str) -> None:
    csa = CsaProtocol()
    events: list[server.Event] = []
    refused = []
    for said in load(name):
        if said.who == "C":
            if csa.state is State.LOGGING_IN:
                csa = CsaProtocol()
            try:
                say(csa, said.text)
            except ProtocolError:
                refused.append(said.text)
                if csa.my_turn and "," in said.text:
                    csa.move(said.text.partition(",")[0])
            if csa.state is State.CONNECTED:  # a login that this client never sends: the server refuses it
                csa.login("someone", "pw")
        elif said.who == "S":
            events += csa.receive(said.text)
    assert refused == REFUSED.get(name, [])
    surprises = [event.line for event in events if isinstance(event, server.Unexpected)]
    assert surprises == SURPRISES.get(name, [])

    lines = list(server_lines(name))
    results = [line[1:] for line in lines if line in ("#WIN", "#LOSE", "#DRAW", "#CENSORED")]
    reasons = [line[1:] for line in lines if line.startswith("#") and line[1:] not in results and line[1] != "#"]
    ended = [event for event in events if isinstance(event, server.Ended)]
    assert [(event.result.value, event.reason) for event in ended] == list(zip(results, reasons, strict=True))
    moves = [event for event in events if isinstance(event, server.MoveMade)]
    in_summaries = sum(len(event.summary.moves) for event in events if isinstance(event, server.GameOffered))
    assert len(moves) == sum(line[0] in "+-" and len(line) > 1 for line in lines if line) - in_summaries
    assert [f"{event.csa},T{event.consumed_ms // 1000}" for event in moves] == [
        line for line in lines if line[:1] in ("+", "-") and len(line) > 1
    ][in_summaries:]


def playing(name: str = "01_fischer_toryo.black") -> CsaProtocol:
    csa = CsaProtocol()
    csa.login("alice", "test-60-5F-B,pwa")
    assert csa.receive("LOGIN:alice OK") == [server.LoginOk("alice")]
    for line in summary_lines(name):
        csa.receive(line)
    agree = csa.agree()
    assert csa.summary is not None
    assert agree == f"AGREE {csa.summary.game_id}"
    assert csa.receive(f"START:{csa.summary.game_id}") == [server.GameStarted(csa.summary.game_id)]
    return csa


def test_a_game() -> None:
    csa = playing()
    assert csa.my_turn
    assert csa.move("+7776FU", "'* 123 -3334FU") == "+7776FU,'* 123 -3334FU"
    assert not csa.my_turn
    assert csa.receive("+7776FU,T3") == [server.MoveMade("+7776FU", 0, True, 3000)]
    assert not csa.my_turn
    assert csa.receive("-3334FU,T0.5") == [server.MoveMade("-3334FU", 1, False, 500)]
    assert csa.my_turn
    assert csa.resign() == "%TORYO"
    assert csa.receive("%TORYO") == [server.SpecialMade("%TORYO", 0)]
    assert csa.receive("#RESIGN") == []
    assert csa.receive("#LOSE") == [server.Ended(server.Result.LOSE, "RESIGN")]
    assert csa.logout() == "LOGOUT"


@pytest.mark.parametrize(
    ("times", "consumed_ms"), [("", 0), (",T3", 3000), (",T3.5", 3500), (",T3.123456789", 3123), (",T0,'* 30", 0)]
)
def test_times_of_moves(times: str, consumed_ms: int) -> None:
    csa = playing()
    csa.move("+7776FU")
    assert csa.receive("+7776FU" + times) == [server.MoveMade("+7776FU", 0, True, consumed_ms)]


def test_empty_lines_may_stand_anywhere() -> None:
    csa = CsaProtocol()
    csa.login("alice", "pw")
    events: list[server.Event] = []
    for line in ["LOGIN:alice OK", *summary_lines("24_buoy.black")]:
        events += csa.receive("")
        events += csa.receive(line)
    assert [event for event in events if event != server.KeepAlive()] == [
        server.LoginOk("alice"),
        server.GameOffered(csa.summary),
    ]


def test_login_refused_and_tried_again() -> None:
    csa = CsaProtocol()
    csa.login("alice", "wrong")
    assert csa.receive("LOGIN:incorrect") == [server.LoginRefused("LOGIN:incorrect")]
    assert csa.receive("type 'LOGIN name password' or 'LOGIN name password x1'") == [
        server.Notice("type 'LOGIN name password' or 'LOGIN name password x1'")
    ]
    assert csa.login("alice", "right") == "LOGIN alice right"


def test_a_bad_offer_can_only_be_rejected() -> None:
    csa = CsaProtocol()
    csa.login("alice", "pw")
    csa.receive("LOGIN:alice OK")
    lines = [line for line in summary_lines("24_buoy.black") if not line.startswith("Your_Turn")]
    events = [event for line in lines for event in csa.receive(line)]
    assert events == [server.BadOffer("Your_Turn is missing")]
    with pytest.raises(ProtocolError):
        csa.agree()
    assert csa.reject() == "REJECT"
    assert csa.receive("REJECT:id by alice")[0] == server.OfferRejected("id", "alice")
    assert csa.state is State.WAITING


@pytest.mark.parametrize("game_id", ["", "\x1b[2J", "対局"])
def test_a_game_without_an_id_that_can_be_said_back(game_id: str) -> None:
    for answer in (CsaProtocol.agree, CsaProtocol.reject):
        csa = CsaProtocol()
        csa.login("alice", "pw")
        csa.receive("LOGIN:alice OK")
        for line in summary_lines("24_buoy.black"):
            csa.receive(f"Game_ID:{game_id}" if line.startswith("Game_ID:") else line)
        assert answer(csa) == answer.__name__.upper()


def test_the_server_gives_up_waiting() -> None:
    csa = CsaProtocol()
    csa.login("alice", "pw")
    events = [event for line in server_lines("30_floodgate.alice") for event in csa.receive(line)]
    assert events[-1] == server.OfferRejected(
        "test+floodgate-300-10F+alice+bob+20261121082800", "the Server (timed out)"
    )


def test_no_line_that_breaks_the_protocol() -> None:
    csa = playing()
    with pytest.raises(ProtocolError, match="no move of ours"):
        csa.move("-3334FU")
    with pytest.raises(ProtocolError, match="no move of ours"):
        csa.move("7g7f")
    for comment in ["* 3", "'* 3, more", "'* 3\n%TORYO", "'読み"]:
        with pytest.raises(ProtocolError, match="comment"):
            csa.move("+7776FU", comment)
    csa.move("+7776FU")
    with pytest.raises(ProtocolError, match="already sent"):
        csa.move("+7776FU")
    with pytest.raises(ProtocolError, match="already sent"):
        csa.resign()
    csa.receive("+7776FU,T0")
    for command in (csa.resign, csa.declare, lambda: csa.move("+2726FU")):
        with pytest.raises(ProtocolError, match="opponent's turn"):
            command()
    csa.receive("-3334FU,T0")
    csa.logout()
    with pytest.raises(ProtocolError, match="logged out"):
        csa.move("+2726FU")
    assert csa.receive("LOGOUT:completed") == [server.LoggedOut()]
    assert csa.receive("%TORYO") == [server.SpecialMade("%TORYO", 0)]
    csa.receive("#RESIGN")
    assert csa.receive("#LOSE") == [server.Ended(server.Result.LOSE, "RESIGN")]
    with pytest.raises(ProtocolError, match="is over"):
        csa.move("+2726FU")


@pytest.mark.parametrize("password", ["", "two words", "line\nbreak", "パス"])
def test_the_password_is_checked_and_never_repeated(password: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        CsaProtocol().login("alice", password)
    assert not password or password not in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        "-3334FU,T0",  # out of turn
        "+7776FU,Tx",
        "+77FU",
        "%",
        "nonsense",
        "START:again",
        "REJECT:late",
        "BEGIN Game_Summary",
        "END Game_Summary",
        "LOGIN:alice OK",
        "LOGOUT:completed",
        "+" * (MAX_LINE + 1),
    ],
)
def test_surprises_leave_the_state_as_it_was(line: str) -> None:
    csa = playing()
    before = repr(csa)
    events = csa.receive(line)
    assert [type(event) for event in events] == [server.Unexpected]
    assert repr(csa) == before


def test_the_servers_board_counts() -> None:
    csa = playing()
    csa.move("+7776FU")
    events = csa.receive("+2726FU,T0")
    assert events[0] == server.MoveMade("+2726FU", 0, True, 0)
    assert isinstance(events[1], server.Unexpected)
    assert csa.turn == 1


def test_a_server_complaint_ends_only_a_wait_for_a_game() -> None:
    text = "You are not allowed to specify TEBAN + for the game floodgate-300-10F"
    csa = CsaProtocol()
    csa.login("alice", "floodgate-300-10F-B,trip")
    csa.receive("LOGIN:alice OK")
    assert csa.receive(f"##[ERROR] {text}") == [server.Complaint(text, server.Severity.PERMANENT)]
    assert csa.receive("##[ERROR]") == [server.Complaint("", server.Severity.IGNORABLE)]
    assert csa.state is State.WAITING
    assert playing().receive(f"##[ERROR] {text}") == [server.Complaint(text, server.Severity.IGNORABLE)]
    assert csa.receive("##[CHAT] hello") == [server.Notice("##[CHAT] hello")]


WORDS = st.sampled_from(
    [
        line
        for name in ("01_fischer_toryo.white", "20_kachi_win.black", "44_x1_two_games.white")
        for line in server_lines(name)
    ]
)
COMMANDS = ("login", "agree", "reject", "move", "resign", "declare", "logout")


@settings(max_examples=150)
@given(st.lists(st.one_of(WORDS, st.text(max_size=40), st.sampled_from(COMMANDS)), max_size=120))
def test_fuzzed_lines_and_commands_raise_nothing_but_command_errors(steps: list[str]) -> None:
    csa = CsaProtocol()
    for step in steps:
        if step not in COMMANDS:
            csa.receive(step)
            continue
        arguments = {"login": ("me", "pw"), "move": (f"{'+-'[csa.turn]}7776FU",)}.get(step, ())
        wanted = csa.my_turn
        try:
            getattr(csa, step)(*arguments)
        except ProtocolError:
            continue
        assert wanted or step not in ("move", "resign", "declare")

"""No text from outside can send commands to the terminal: from servers, opponents, nodes, engines, files."""

from __future__ import annotations

import asyncio
import io
import json
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
import structlog
from hypothesis import example, given
from hypothesis import strategies as st
from rich.panel import Panel
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from cluster.api import Decision, Listener, NodeView
from master.cli import run
from master.commands.common import notice
from master.csa.login import ServerAddress
from master.csa.position import csa_from_sfen
from master.game.driver import GameSettings, play_game
from master.logs.log import fleet_listener, open_log
from master.player.instructions import Login
from master.ui.console import Console
from master.ui.show import Show
from master.ui.terminal import clean
from tests.master.scripted import ScriptedSearcher
from worker.shogi import STARTPOS

HOSTILE = "x[/][red]\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b31m\x85\u202eevil\u2066\r\x08\x7f\x00\u2028y"
OWN = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
"""Rich's own commands: the cursor, colours, the screen."""


BIDI = frozenset({"LRE", "LRO", "LRI", "RLE", "RLO", "RLI", "PDF", "PDI", "FSI"})


def commands(text: str) -> list[str]:
    """The characters that could command a terminal or turn its text around."""
    categories = {"Cc", "Zl", "Zp"}
    return [
        letter
        for letter in text
        if letter not in "\n\t"
        and (unicodedata.category(letter) in categories or unicodedata.bidirectional(letter) in BIDI)
    ]


@given(st.text())
@example(HOSTILE)
@example("".join(map(chr, range(0x3000))))
def test_no_command_is_left_and_nothing_else_is_touched(text: str) -> None:
    cleaned = clean(text)
    assert commands(cleaned) == []
    assert clean(cleaned) == cleaned
    if not commands(text) and not set(text) & set("\u061c\u200e\u200f"):
        assert cleaned == text


def test_what_is_shown_instead() -> None:
    assert clean("a\x1b[31mb\u202ec\x9bd\r\n\te七☗") == "a\\u001b[31mb\\u202ec\\u009bd\\u000d\n\te七☗"


def test_errors_and_notices_are_clean(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([HOSTILE.replace("\x00", "")]) == 2
    notice(HOSTILE)
    assert commands(capsys.readouterr().err) == []


def test_tables_panels_and_progress_are_clean_and_have_their_colours() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, color_system="truecolor", width=200)
    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(Text(HOSTILE, style="red"))
    console.print(table, Panel(HOSTILE), HOSTILE)
    console.print(HOSTILE, markup=False, highlight=False, soft_wrap=True)
    with Progress(console=console) as bar:
        bar.add_task(HOSTILE, total=1)
        print(HOSTILE)  # which rich keeps for itself meanwhile
    text = stream.getvalue()
    assert "\x1b[31m" in text
    assert commands(OWN.sub("", text).replace("\r", "")) == []


@pytest.mark.parametrize("text", ["[/]", "[red]x", "[link=http://192.0.2.1/]x[/link]", ":skull:"])
def test_no_text_is_taken_for_markup(text: str) -> None:
    """Otherwise a node with such a name would end the screen, or make a link on it."""
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, color_system="truecolor", width=200, highlight=False)
    table = Table(text, box=None)
    table.add_row(text)
    console.print(table)
    console.print(text)
    assert [line.strip() for line in OWN.sub("", stream.getvalue()).splitlines()] == [text] * 3


@pytest.mark.parametrize("live", [True, False])
async def test_the_game_that_is_watched(live: bool) -> None:
    """The names, the notes, the fleet's nodes and their jobs, the ballots, the reasons."""
    from tests.master.ui.shown import DECISION, GAME, PROGRESS, SUMMARY

    node = NodeView(HOSTILE, True, HOSTILE, 1, 1, 1, 1, ("7g7f",))
    ballots = tuple(replace(ballot, voter=HOSTILE) for ballot in DECISION.ballots)
    decision: Decision = replace(DECISION, fleet=(node,), ballots=ballots, source=HOSTILE)
    hostile = {"summary": replace(SUMMARY, names=(HOSTILE, HOSTILE), game_id=HOSTILE)}
    hostile |= {"decision": decision, "progress": replace(PROGRESS, fleet=(node,)), "name": HOSTILE}
    stream = io.StringIO()
    console = Console(file=stream, width=100, height=40, force_terminal=live, color_system=None)
    async with Show(console, console) as show:
        show.fleet_event("node_ready", {"node": HOSTILE, "engine": HOSTILE, "pid": 1, "host": HOSTILE})
        for event in GAME:
            own = {name: value for name, value in hostile.items() if hasattr(event, name)}
            if hasattr(event, "outcome"):
                own["outcome"] = replace(event.outcome, reason=HOSTILE)
            show.observe(replace(event, **own))  # type: ignore[type-var]
            show.warn(HOSTILE)
            await asyncio.sleep(0.25)
    text = stream.getvalue()
    assert "u202eevil" in text
    assert commands(OWN.sub("", text)) == []


SUMMARY_LINES = f"""LOGIN:alice OK
##[ERROR] {{0}}
BEGIN Game_Summary
Protocol_Version:1.2
Protocol_Mode:Server
Format:Shogi 1.0
Game_ID:g-{{0}}
Name+:{{0}}
Name-:alice
Your_Turn:-
To_Move:+
BEGIN Time
Time_Unit:1sec
Total_Time:60
Byoyomi:5
END Time
BEGIN Position
{chr(10).join(csa_from_sfen(STARTPOS))}
END Position
END Game_Summary
"""


def test_a_servers_lines_in_the_log_and_on_the_screen(tmp_path: Path) -> None:
    """A real connection to a server that sends such text in every place."""
    stream = io.StringIO()
    said = clean(HOSTILE).replace("\\u", "\x9b").replace("y", HOSTILE.replace("\r", ""))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(SUMMARY_LINES.format(said).encode())
        await reader.readline()
        for line in (f"START:g-{said}", said, f"##[CHAT][peer] {said}", "+7776FU,T1", f"'{said}", "%CHUDAN", "#CHUDAN"):
            writer.write(f"{line}\n".encode())
        writer.write(f"LOGOUT:{said}\n".encode())
        writer.close()

    async def main(console: Console) -> None:
        server = await asyncio.start_server(serve, "127.0.0.1")
        async with server, Show(console, console, plain=True) as show:
            searcher, listener = ScriptedSearcher(delay_s=5), fleet_listener()
            listener.on_event("node_lost", {"node": HOSTILE, "reason": HOSTILE})
            await searcher.open(Listener())
            login = Login("alice", "test-60-5F,secret")
            address = ServerAddress(*server.sockets[0].getsockname())
            await play_game(address, login, searcher, GameSettings(), (show.observe,))

    console = Console(file=stream, width=100, force_terminal=False)
    with open_log(tmp_path, file_level="debug", console_level="debug", console=console.print) as path:
        asyncio.run(asyncio.wait_for(main(console), 30))
    log = path.read_text(encoding="utf-8")
    assert commands(log) == []
    events = [json.loads(line) for line in log.splitlines()]
    assert [event["node"] for event in events if event["event"] == "node_lost"] == [HOSTILE]
    assert log.count("evil") > 4
    assert stream.getvalue().count("evil") > 2
    assert commands(stream.getvalue()) == []


def test_one_event_is_one_line_for_a_person(tmp_path: Path) -> None:
    heard: list[str] = []
    with open_log(tmp_path, file_level="info", console_level="warning", console=heard.append):
        structlog.get_logger("fleet").warning("node_lost", node="x\nerror: all_is_lost", other="y\u2028z")
    assert heard == ["warning: node_lost node='x\\nerror: all_is_lost' other='y\\u2028z'"]

"""Fuzz targets of the USI protocol: a GUI's lines to the fleet and to the single engine; a foreign engine's lines."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.fuzz.target import Target
from cluster.api import Decision, StartSearch
from master.usi.front import FleetFront
from master.usi.options import Event, FleetOptions, FleetPlan
from worker.book import BookReply
from worker.engine import EngineError, Limits
from worker.mate import MateResult, MateStatus
from worker.shogi import Position, move_to_usi
from worker.usi.events import (
    AskBook,
    BookReplied,
    GuiGone,
    GuiLine,
    MateSolved,
    Prepare,
    Prepared,
    Quit,
    SolveMate,
    Tick,
)
from worker.usi.gui_reader import GuiReader
from worker.usi.loop import UsiLoop
from worker.usi.process import (
    dialect_of,
    go_line,
    parse_bestmove,
    parse_info,
    parse_nodes,
    parse_option,
)
from worker.warm import warm_up

_DIALOGUES: Final = (
    "usi\nsetoption name MultiPV value 3\nisready\nusinewgame\nposition startpos moves 7g7f 3c3d\n"
    "go btime 60000 wtime 60000 binc 1000 winc 1000\nstop\ngameover win\nquit",
    "usi\nisready\nposition startpos\ngo ponder btime 0 wtime 0 byoyomi 100\nponderhit\ngo infinite\nstop",
    "isready\nposition sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1 moves 2g2f\ngo mate 100",
    "usi\nsetoption name EvalFile value nothing.bin\nsetoption name BookFile value no_book\nisready\ngo nodes 10",
    "isready\nposition sfen 8k/9/9/9/9/9/9/9/K8 b 2R2B4G4S4N4L18P 1\ngo depth 1 searchmoves 9i9h\ngo",
)
_LARGE: Final = ("USI_Hash", "Threads")
"""Options whose high values rightly take thousands of megabytes or threads."""


class Fleet(Target):
    """A GUI's lines to the fleet's front, whose searches end at once. Each ``go`` after ``readyok`` must get its
    answer."""

    name = "usi"

    def seeds(self) -> Iterator[bytes]:
        yield from (text.encode() for text in _DIALOGUES)

    def one(self, data: bytes) -> None:
        plan = FleetPlan(nodes=2, hash_mb=16, threads=1, eval_file="", architecture="", fv_scale=0, mode="consult")
        front = FleetFront(FleetOptions(plan), strict=True)
        now = 0.0
        due: list[Event] = [GuiLine(line, 0.0) for line in data.decode("utf-8", "replace").split("\n")]
        due += [GuiLine("stop", 0.0), GuiGone()]
        for line in due:
            now += 10
            events: list[Event] = [line, Tick()]
            while events:
                for instruction in front.handle(events.pop(0), now):
                    match instruction:
                        case Prepare():
                            events.append(Prepared())
                        case StartSearch(request):
                            position = Position.from_sfen(request.sfen)
                            position.push_all(request.moves)
                            move = move_to_usi(position.legal_moves()[0])
                            events.append(Decision(search_id=request.search_id, move=move, source="vote"))
                        case AskBook():
                            events.insert(0, BookReplied(BookReply(None)))
                        case SolveMate():
                            events.append(MateSolved(MateResult(MateStatus.UNKNOWN, (), 1, 1)))
                        case Quit():
                            return


class Single(Target):
    """A GUI's lines to the single engine, real searches of a thousand nodes."""

    name = "usi-single"

    def __init__(self) -> None:
        warm_up()  # so that no input is blamed for compilation time

    def seeds(self) -> Iterator[bytes]:
        yield from (text.encode() for text in _DIALOGUES)

    def one(self, data: bytes) -> None:
        lines = ["setoption name USI_Hash value 1", "setoption name NodesLimit value 1000"]
        lines += [
            line
            for line in data.decode("utf-8", "replace").split("\n")
            if not (line.split()[:1] == ["setoption"] and any(name in line for name in _LARGE))
        ]
        UsiLoop(lambda _line: None).run(GuiReader([*lines, "quit"], lambda _line: None, ""))


class Engine(Target):
    """The output of a foreign USI engine. An accepted PV must be legal."""

    name = "usi-engine"

    def seeds(self) -> Iterator[bytes]:
        yield b"id name gpsshogi 0.7\noption name USI_Hash type spin default 256 min 1 max 4096\nusiok"
        yield b"option name Style type combo default Normal var Solid var Normal\noption name E ValDir type string"
        yield b"info depth 9 seldepth 12 multipv 2 score cp -34 lowerbound nodes 100 time 5 hashfull 3 pv 7g7f 3c3d"
        yield b"info score mate - nodes 1 pv 7g7f resign\nbestmove 7g7f ponder 3c3d"
        yield b"info string hello\ninfo score mate +\nbestmove resign"

    def one(self, data: bytes) -> None:
        def legal(words: Sequence[str]) -> tuple[str, ...]:
            return tuple(words[: Position.startpos().legal_length(words)])

        for line in data.decode("utf-8", "replace").split("\n"):
            announced = parse_option(line)
            if announced is not None:
                announced[1].fault(announced[0], line)
            parse_nodes(line)
            info = parse_info(line, legal)
            if info is not None:
                position = Position.startpos()
                position.push_all(info.pv)
            with contextlib.suppress(EngineError):
                parse_bestmove(line)
            go_line(Limits(nodes=1, movetime_ms=2), ("7g7f",), dialect_of(line))

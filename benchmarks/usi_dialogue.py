"""A USI engine's process under test: records each line, and checks each answer by rsshogi's rules."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from rsshogi.core import Board, Move

from benchmarks.waiting import Waiting
from worker.engine import EngineError
from worker.rules import EnteringKingRule
from worker.shogi import Position, declaration
from worker.usi.process import UsiProcess

ANSWERS = ("bestmove", "checkmate")


LATE_MS = 50.0
"""An answer later than this is recorded with the delay that the machine caused."""


class SoakError(Exception):
    """The engine broke the protocol; the text says how."""


@dataclass
class Scene:
    """A position for rsshogi and as a USI ``position`` command, and the allowed answers to ``go``."""

    board: Board
    command: str
    searchmoves: tuple[str, ...] = ()

    def check_pv(self, moves: list[str]) -> Board:
        """Play the moves. Raises `SoakError` if one is illegal after those before it."""
        board = self.board.copy()
        for move in moves:
            try:
                legal = board.is_legal_move(Move.from_usi(move))
            except ValueError:
                legal = False
            if not legal:
                raise SoakError(f"{move} of {' '.join(moves)!r} is not legal after {self.command!r}")
            board.apply_usi(move)
        return board

    def may_declare(self, rule: str) -> bool:
        """Whether ``win`` is correct, by our own rules: rsshogi has none for this in Python."""
        position = Position.from_sfen(self.board.to_sfen())
        return bool(declaration.wins_by(position.record, EnteringKingRule(rule).code))


@dataclass(frozen=True, slots=True)
class Late:
    """A late answer.

    Args:
        command: the position, as the engine got it.
        overrun_ms: by how much it was late.
        waited_ms: the longest time for which its processes had no processor.
        ran_ms: the running time of each thread of the engine since the position was set, in the order of their start.
    """

    command: str
    overrun_ms: float
    waited_ms: float
    ran_ms: list[float]

    @property
    def own_ms(self) -> float:
        """The part of the overrun that waiting for a processor does not explain."""
        return max(0.0, self.overrun_ms - self.waited_ms)


@dataclass
class Dialogue:
    """The lines that one engine gets and sends.

    ``patience``: seconds until an answer that is due counts as missing.
    """

    engine: UsiProcess
    patience: float = 20.0
    options: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    stop_ms: list[float] = field(default_factory=list)
    overrun_ms: list[float] = field(default_factory=list)
    """Milliseconds by which each search answered after its move time."""
    late: list[Late] = field(default_factory=list)
    """The overruns of more than `LATE_MS` of searches before which `watch` was called."""
    _began: float = field(default_factory=time.monotonic)
    _waiting: Waiting | None = None

    def note(self, line: str) -> None:
        self.log.append(f"{time.monotonic() - self._began:10.4f} {line}")

    def say(self, line: str) -> None:
        self.note(f"> {line}")
        self.engine.send(line)

    def watch(self) -> None:
        """From now until the next answer, measure how long the engine and this process wait for a processor."""
        self._waiting = Waiting.now(self.engine.pid, os.getpid())

    def set_options(self, options: dict[str, str]) -> None:
        """Set the options whose values differ from the current ones."""
        for name, value in options.items():
            if self.options.get(name) != value:
                self.say(f"setoption name {name} value {value}")
                self.options[name] = value

    def hear(self, *words: str, patience: float | None = None) -> list[str]:
        """The lines up to the first that begins with one of ``words``.

        Raises:
            SoakError: it does not come in time, or an error is reported.
            EngineError: the engine died.
        """
        deadline = time.monotonic() + (self.patience if patience is None else patience)
        lines: list[str] = []
        while not lines or not lines[-1].startswith(words):
            line = self.engine.receive(deadline)
            if line is None:
                if time.monotonic() < deadline:
                    continue  # an empty line, by which an engine shows that it is alive
                raise SoakError(f"no {' or '.join(words)} within {self.patience if patience is None else patience:g} s")
            self.note(f"< {line}")
            if line.startswith("info string error"):
                raise SoakError(line)
            lines.append(line)
        return lines

    def ready(self) -> None:
        """Send ``isready``, and check that there was no unexpected answer.

        Raises:
            SoakError: there was one.
        """
        self.say("isready")
        extra = [line for line in self.hear("readyok", patience=120) if line.startswith(ANSWERS)]
        if extra:
            raise SoakError(f"{extra[0]!r} answers no 'go'")

    def silent(self, seconds: float) -> None:
        """Listen for ``seconds``.

        Raises:
            SoakError: an answer came.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            line = self.engine.receive(deadline)
            if line is not None:
                self.note(f"< {line}")
                if line.startswith((*ANSWERS, "info string error")):
                    raise SoakError(f"{line!r} came before it was due")

    def answer(self, scene: Scene, *, stopped: bool = False, due_ms: float | None = None, began: float = 0.0) -> str:
        """The ``bestmove`` that is due now, with its ``info`` lines checked.

        Args:
            stopped: send ``stop`` first, and record the time that it took.
            due_ms: the move time since ``began`` (of ``time.monotonic``), to record by how much it was exceeded.
        """
        sent = time.monotonic()
        if stopped:
            self.say("stop")
        lines = self.hear("bestmove")
        now = time.monotonic()
        if stopped:
            self.stop_ms.append((now - sent) * 1000)
        elif due_ms is not None:
            overrun = (now - began) * 1000 - due_ms
            self.overrun_ms.append(overrun)
            if overrun > LATE_MS and self._waiting is not None:
                waited, ran = self._waiting.waited_ms(), self._waiting.ran_ms(self.engine.pid)
                self.late.append(Late(scene.command, overrun, waited, ran))
        self._waiting = None
        self._check_infos(scene, lines)
        return self._check_best(scene, lines[-1])

    def _check_infos(self, scene: Scene, lines: list[str]) -> None:
        for line in lines:
            words = line.split()
            if "pv" in words:
                scene.check_pv(words[words.index("pv") + 1 :])
            if "multipv" in words and int(words[words.index("multipv") + 1]) > int(self.options.get("MultiPV", "1")):
                raise SoakError(f"more lines than MultiPV: {line}")

    def _check_best(self, scene: Scene, line: str) -> str:
        words = line.split()
        best, ponder = words[1], words[3:4]
        rule = self.options.get("EnteringKingRule", "CSARule27")
        if best == "resign":
            if not scene.board.is_mated():
                raise SoakError(f"resigns although it has legal moves: {scene.command!r}")
        elif best == "win":
            if not scene.may_declare(rule):
                raise SoakError(f"declares a win by {rule} that does not apply: {scene.command!r}")
        else:
            scene.check_pv([best, *ponder])
            if scene.searchmoves and best not in scene.searchmoves and rule != "TryRule":
                raise SoakError(f"{best} is none of {' '.join(scene.searchmoves)}")
        return best

    def memory_mb(self) -> float:
        """The process's resident memory."""
        for line in Path(f"/proc/{self.engine.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise EngineError(f"{self.engine.label}: no VmRSS")

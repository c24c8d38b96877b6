"""Compares our readers of records with those of python-shogi and cshogi: same start and moves, or both refuse.

    python -m benchmarks.records --seconds 600

Random games (from the usual start, handicaps and positions of other games) are written by cshogi as CSA, KIF and KI2,
with comments, bookmarks and ``#`` lines in between, and half of them are then damaged at random: a line removed,
duplicated or moved, or a character changed. The foreign readers do not check legality, so their moves are replayed by
cshogi's rules: an illegal move ends the game if it is the last, and counts as a refusal if others follow.

Any difference on an undamaged record is a fault: exit code 1. For damaged ones the counts are shown by kind, and one
example of each is kept in the folder.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Annotated, Any

import cshogi
import shogi.CSA
import shogi.KIF
import typer
from cshogi import CSA, KI2, KIF

from master.analysis.game import GameFileError, parse_games
from master.records.kif_start import NAMES

Read = tuple[str, tuple[str, ...]] | None
"""The start (without a number) and the moves; None: refused."""

_HANDICAPS = {name: sfen for name, sfen in NAMES.items() if "七枚" not in name}
_NOISE = {
    "csa": ("'comment", "'* comment, +7776FU", "'** 35 -3334FU", "'summary:x"),
    "kif": ("*comment", "**評価値=35", "#comment", "&mark", "*   1 ７六歩(77)", ""),
    "ki2": ("*comment ▲７六歩", "#comment", "&mark", ""),
}


class Written:
    """A random game and its text."""

    def __init__(self, rng: random.Random) -> None:
        self.kind = rng.choice(("csa", "kif", "ki2"))
        name = rng.choice(["", *_HANDICAPS])
        self.board = cshogi.Board(_HANDICAPS.get(name, cshogi.STARTING_SFEN))
        if not name:
            for _ in self._moves(rng, rng.randrange(1, 120)):
                pass
            self.board = cshogi.Board(_start(self.board.sfen()) + " 1")
        self.start = _start(self.board.sfen())
        self.diagram = not name
        head = self._head(name)
        played: list[str] = []
        body = [self._line(move, number, rng, played) for number, move in self._moves(rng, rng.randrange(1, 150))]
        self.moves = tuple(played)
        noisy = []
        for line in body:
            noisy.append(line)
            if rng.random() < 0.1:
                noisy.append(rng.choice(_NOISE[self.kind]))
        self.lines = [*head, *noisy, *self._end(len(body))]

    def _moves(self, rng: random.Random, count: int) -> Iterator[tuple[int, int]]:
        """Legal moves; each is made after its turn in the loop."""
        for number in range(1, count + 1):
            legal = list(self.board.legal_moves)
            if not legal:
                return
            on_board = [move for move in legal if not cshogi.move_is_drop(move)]  # mostly drops, which test little
            move = rng.choice(on_board if on_board and rng.random() < 0.8 else legal)
            yield number, move
            self.board.push(move)

    def _head(self, name: str) -> list[str]:
        if self.kind == "csa":
            return ["V2.2", "N+a", "N-b", *self.board.csa_pos().splitlines()]
        names = ["先手：a", "後手：b"]
        if name:
            return [f"手合割：{name}", *names]
        bod = KIF.board_to_bod(self.board)
        return [*names, *(bod if isinstance(bod, list) else bod.splitlines())]

    def _line(self, move: int, number: int, rng: random.Random, played: list[str]) -> str:
        played.append(cshogi.move_to_usi(move))
        if self.kind == "csa":
            sign = "+-"[self.board.turn]
            return f"{sign}{cshogi.move_to_csa(move)}" + rng.choice(("", "\nT3"))
        if self.kind == "ki2":
            return str(KI2.move_to_ki2(move, self.board))
        last = self.board.peek() if number > 1 else None
        return f"{number:4} {KIF.move_to_kif(move, last)}" + rng.choice(("", "   ( 0:01/00:00:01)"))

    def _end(self, count: int) -> list[str]:
        return {"csa": ["%CHUDAN"], "kif": [f"{count + 1:4} 中断"], "ki2": [f"まで{count}手で中断"]}[self.kind]

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def damaged(self, rng: random.Random) -> str:
        lines = self.text().splitlines()
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        way = rng.randrange(4)
        if way == 0:
            del lines[at]
        elif way == 1:
            lines.insert(other, lines[at])
        elif way == 2:
            lines[at], lines[other] = lines[other], lines[at]
        elif lines[at]:
            column = rng.randrange(len(lines[at]))
            signs = "".join(self.lines)
            lines[at] = lines[at][:column] + rng.choice(signs) + lines[at][column + 1 :]
        return "\n".join(lines) + "\n"


def _start(sfen: str) -> str:
    return sfen.rsplit(" ", 1)[0]


def ours(text: str, kind: str) -> Read:
    try:
        (game,) = parse_games(text.encode(), f"x.{kind}")
    except GameFileError:
        return None
    return _start(game.start_sfen), tuple(move.usi for move in game.moves)


def python_shogi(text: str, kind: str) -> Read:
    parser = {"csa": shogi.CSA, "kif": shogi.KIF}[kind].Parser
    found = parser.parse_str(text)[0]
    sfen = found["sfen"]
    if kind == "kif" and "+---" in text:  # it gives the side to move at the end
        sfen = sfen.replace(" w ", " b ") if "後手番" not in text else sfen.replace(" b ", " w ")
    return _replayed(sfen, found["moves"])


def by_cshogi(text: str, kind: str) -> Read:
    if kind == "csa":
        (found,) = CSA.Parser.parse_str(text)
        return _replayed(found.sfen, [cshogi.move_to_usi(move) for move in found.moves])
    found = {"kif": KIF, "ki2": KI2}[kind].Parser.parse_str(text)
    return _replayed(found.sfen, [cshogi.move_to_usi(move) for move in found.moves])


def _replayed(sfen: str, moves: list[str]) -> Read:
    board = cshogi.Board(sfen)
    legal: list[str] = []
    for usi in moves:
        move = board.move_from_usi(usi)
        if not board.is_legal(move):
            return (_start(cshogi.Board(sfen).sfen()), tuple(legal)) if usi is moves[-1] and legal else None
        legal.append(usi)
        board.push(move)
    return (_start(cshogi.Board(sfen).sfen()), tuple(legal)) if legal else None


_READERS: dict[str, Callable[[str, str], Read]] = {"python-shogi": python_shogi, "cshogi": by_cshogi}


def _safely(name: str, text: str, kind: str) -> Read:
    try:
        return _READERS[name](text, kind)
    except Exception:  # any exception of a foreign reader is a refusal
        return None


class Foreign:
    """The foreign readers, in a separate process: an illegal move may crash it."""

    def __init__(self) -> None:
        self._pool = ProcessPoolExecutor(1)

    def read(self, name: str, text: str, kind: str) -> Read | str:
        """``crash`` if the process died of it."""
        try:
            return self._pool.submit(_safely, name, text, kind).result(timeout=30)
        except (BrokenProcessPool, TimeoutError):
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = ProcessPoolExecutor(1)
            return "crash"


def _knowing(written: Written) -> list[str]:
    """The foreign readers that support such a record: cshogi reads no diagrams, python-shogi no KI2."""
    names = ["python-shogi"] if written.kind != "ki2" else []
    return [*names, "cshogi"] if written.kind == "csa" or not written.diagram else names


def _compared(mine: Read, theirs: Read | str) -> str:
    if isinstance(theirs, str):
        return "they crash"
    if mine == theirs:
        return "both refuse" if mine is None else "same"
    if mine is None or theirs is None:
        return "we refuse" if mine is None else "they refuse"
    return "another start" if mine[0] != theirs[0] else "other moves"


def main(
    seconds: Annotated[float, typer.Option(min=1, metavar="N", help="Time to run.")] = 600,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same games.")] = 1,
    folder: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for examples.")] = Path("runs/records"),
) -> None:
    """Compare for some time."""
    rng = random.Random(seed)
    counts: Counter[tuple[Any, ...]] = Counter()
    faults = 0
    foreign = Foreign()
    folder.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        written = Written(rng)
        truth: Read = (written.start, written.moves)
        damage = rng.random() < 0.5
        text = written.damaged(rng) if damage else written.text()
        mine = ours(text, written.kind)
        results = {name: foreign.read(name, text, written.kind) for name in _knowing(written)}
        if not damage:
            results["the games as written"] = truth
        # cshogi writes some KI2 moves that fit two pieces; its own reader refuses them too.
        ambiguous = written.kind == "ki2" and mine is None and results.get("cshogi") is None
        faults += not damage and mine != truth and not ambiguous
        for name, theirs in results.items():
            key = (written.kind, "damaged" if damage else "whole", name, _compared(mine, theirs))
            counts[key] += 1
            if counts[key] <= 3 and key[-1] not in ("same", "both refuse"):
                example = folder / f"{'-'.join(key).replace(' ', '_')}-{counts[key]}.{written.kind}"
                example.write_text(text, encoding="utf-8")
    for key, count in sorted(counts.items()):
        print(f"{count:8}  {', '.join(key)}")
    if faults:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)

"""Balanced openings: random play-outs that the searcher judges even, positions of a file, or those of a match's games.

A move of a play-out is any legal one, or one of the searcher's best; such *natural* openings resemble those of games. A
file of 500 natural ones ships with the package, so that matches on different days use the same ones.

Usage::

    openings = read_openings(path)                                   # or:
    openings = make_openings(100, seed=1, engine=NumbaEngine(), plies=12, margin_cp=120)
    openings = natural_openings(seed=1)[:100]
    write_openings(path, openings)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from master.commands.common import compile_searcher, interruptible
from master.records.read_csa import csa_parts, read_csa
from master.records.reading import RecordFault
from worker.engine import Engine, Limits
from worker.files import reason, replace_file
from worker.shogi import STARTPOS, MoveError, Position, SfenError, move_to_usi

DEFAULT_PLIES: Final = 12
DEFAULT_MARGIN_CP: Final = 120
_SEARCH_NODES: Final = 2000
_SHORT_NODES: Final = 200
PSV_SUFFIX: Final = ".psv"
NATURAL: Final = "natural"
"""The name of the file that ships with the package."""
_BEST_NODES: Final = 5000
"""Nodes of the searches that find the best moves."""
_EVERY: Final = 8
"""Plies from one position of a game to the next."""
_BEFORE_END: Final = 8
"""The last plies of a game, at which it is decided."""
_PATIENCE: Final = 400
"""Play-outs tried for each opening wanted, before the margin is considered too narrow."""


class OpeningError(ValueError):
    """An opening file cannot be used, or no balanced openings were found. The text gives place and reason."""


def make_openings(
    count: int,
    seed: int,
    engine: Engine,
    plies: int = DEFAULT_PLIES,
    margin_cp: int = DEFAULT_MARGIN_CP,
    on_found: Callable[[int], None] | None = None,
    best: int = 0,
) -> list[str]:
    """SFENs of ``count`` different positions ``plies`` random moves from the start, each even for ``engine``.

    The same arguments and network give the same openings. A line is dropped as soon as a short search sees the balance
    lost, so that most of the work goes into promising lines.

    Args:
        engine: judges by 2,000 nodes a position; it must be reproducible (`NumbaEngine`, one thread).
        margin_cp: maximum distance of an even position's score from 0.
        on_found: called with the number of openings after each new one.
        best: each move is among this number of best moves of the engine; 0: any legal one.

    Raises:
        OpeningError: too few play-outs stay within the margin.
    """
    rng = random.Random(seed)
    engine.new_game()  # once: to clear its tables takes ten times as long as a short search
    found: dict[int, str] = {}
    for _ in range(count * _PATIENCE):
        if len(found) == count:
            break
        position = _play_out(rng, engine, plies, margin_cp, best)
        if position is not None and position.key not in found:
            found[position.key] = position.sfen()
            if on_found is not None:
                on_found(len(found))
    if len(found) < count:
        raise OpeningError(
            f"{len(found)} of {count} openings found with {plies} random moves and a score within {margin_cp}: "
            "allow a wider margin or fewer moves"
        )
    return list(found.values())


def _play_out(rng: random.Random, engine: Engine, plies: int, margin_cp: int, best: int) -> Position | None:
    """A random even position, or None if this line lost the balance."""
    position = Position.startpos()
    moves: list[str] = []
    for ply in range(1, plies + 1):
        legal = position.legal_moves()
        if not legal:
            return None
        found = _best_moves(engine, moves, best) if best else [move_to_usi(move) for move in legal]
        if not found:
            return None
        moves.append(rng.choice(found))
        position.push_usi(moves[-1])
        if position.is_mated():
            return None
        last = ply == plies
        if last or ply % 2 == 0:
            engine.set_position(STARTPOS, moves)
            result = engine.go(Limits(nodes=_SEARCH_NODES if last else _SHORT_NODES))
            if not result.lines or abs(result.lines[0].score) > (margin_cp if last else 2 * margin_cp):
                return None
    return None if position.in_check() else position


def _best_moves(engine: Engine, moves: Sequence[str], best: int) -> list[str]:
    engine.set_position(STARTPOS, moves)
    return [line.pv[0] for line in engine.go(Limits(nodes=_BEST_NODES, multipv=best)).lines if line.pv]


def natural_openings(seed: int | str) -> list[str]:
    """The natural openings that ship with the package, in the order given by the seed.

    Raises:
        OpeningError: the file is damaged or missing.
    """
    openings = read_openings(Path(__file__).parent / "data" / "natural.txt")
    random.Random(seed).shuffle(openings)
    return openings


def games_of(folder: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The games of a match's folder (`lab.match.folder`): each one's opening, as SFEN, and its moves.

    Raises:
        OpeningError: a record cannot be read.
    """
    for record in sorted((folder / "records").glob("*.csa")):
        try:
            for _, part in csa_parts(record.read_text("utf-8").splitlines()):
                game = read_csa(part)
                yield game.start_sfen, tuple(move.usi for move in game.moves)
        except (OSError, UnicodeDecodeError, RecordFault) as error:
            raise OpeningError(f"{record}: {error}") from error


def _played(folder: Path) -> list[str]:
    """Positions of a match's games, without the first moves and the last."""
    found: dict[str, None] = {}
    for sfen, moves in games_of(folder):
        position = Position.from_sfen(sfen)
        for ply, move in enumerate(moves[:-_BEFORE_END]):
            if ply % _EVERY == _EVERY - 1:
                found[position.sfen()] = None
            position.push_usi(move)
    if not found:
        raise OpeningError(f"{folder}: no folder of a match, or its games are too short")
    return list(found)


def read_openings(path: Path) -> list[str]:
    """The SFENs of an opening file: one position per line, in USI form (``startpos moves 7g7f``, ``sfen S moves M``).

    ``position`` may precede it, and ``sfen`` may be left out. Empty lines and lines that begin with ``#`` are skipped.
    Of a match's folder: every eighth position of each game, without the last moves.

    Raises:
        OpeningError: the file cannot be read, has no opening, or one that is not legal.
    """
    if path.is_dir():
        return _played(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise OpeningError(f"{path}: cannot be read: {reason(error)}") from error
    openings = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if words and not words[0].startswith("#"):
            try:
                openings.append(_position(words).sfen())
            except (SfenError, MoveError) as error:
                raise OpeningError(f"{path}, line {number}: {error}") from error
    if not openings:
        raise OpeningError(f"{path}: no opening in it")
    return openings


def _position(words: Sequence[str]) -> Position:
    start = 1 if words[0] == "position" else 0
    at = words.index("moves") if "moves" in words else len(words)
    head = words[start:at]
    position = Position.from_sfen(" ".join(head))
    position.push_all(words[at + 1 :])
    if position.is_mated():
        raise SfenError("the side to move has no legal move")
    return position


def write_openings(path: Path, openings: Sequence[str]) -> None:
    """Write a file for `read_openings`, as a whole. Raises OSError."""
    replace_file(path, "".join(f"sfen {sfen}\n" for sfen in openings).encode())


def named_openings(option: Path | None) -> str | None:
    """The value of ``--openings`` as stored in settings: `NATURAL`, or a full path; None: none was given."""
    return None if option is None else NATURAL if str(option) == NATURAL else str(option.resolve())


def openings_of(name: str, seed: int | str, count: int) -> list[str]:
    """The openings of a name from `named_openings`: natural ones in the order of the seed, all of a list of positions,
    or ``count`` at random of a PSV file (`lab.training.psv`).

    Raises:
        OpeningError: they cannot be read.
    """
    if name == NATURAL:
        return natural_openings(seed)
    if not name.endswith(PSV_SUFFIX):
        return read_openings(Path(name))
    from lab.training.psv import PsvError, sample

    compile_searcher()
    try:
        return sample(Path(name), count, seed)
    except OSError as error:
        raise OpeningError(f"{name}: cannot be read: {reason(error)}") from error
    except PsvError as error:
        raise OpeningError(str(error)) from error


def made_openings(
    count: int,
    seed: int,
    engine: Callable[[], Engine],
    plies: int = DEFAULT_PLIES,
    margin_cp: int = DEFAULT_MARGIN_CP,
    best: int = 0,
) -> list[str]:
    """`lab.match.openings.make_openings`, with its progress on stderr.

    Args:
        engine: makes the engine that judges them, after the searcher is compiled.

    Raises:
        OpeningError: as raised there.
    """
    from master.ui.progress import Bars

    compile_searcher()

    def make() -> list[str]:
        with Bars("openings", stays=False) as bars:
            bars.tell(f"making {count} openings")
            bar = bars.bar("making openings", count)
            bar.begin()
            return make_openings(count, seed, engine(), plies, margin_cp, bar.show, best)

    return interruptible(make)

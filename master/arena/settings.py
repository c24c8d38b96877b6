"""What a match is: two players, a time control, openings, adjudication, a test. Kept in the match's folder."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from worker.arena.openings import DEFAULT_MARGIN_CP, DEFAULT_PLIES
from worker.arena.statistics import Sprt

OURSELVES: Final = "gougi"
"""The word for our own single searcher, in place of a command."""


class SettingsError(ValueError):
    """A match cannot be played as it was asked for; the text says why."""


@dataclass(frozen=True, slots=True)
class Player:
    """One side of a match: a USI command, run in ``folder``, with its options."""

    name: str
    command: tuple[str, ...]
    options: Mapping[str, str]
    folder: str


@dataclass(frozen=True, slots=True)
class Pace:
    """Time control, in milliseconds a side; or nodes a move, without a clock."""

    nodes: int | None = None
    main_ms: int = 0
    byoyomi_ms: int = 0
    increment_ms: int = 0
    margin_ms: int = 300
    """How far a clock may be overrun, for what operating system and pipes take."""

    def __post_init__(self) -> None:
        timed = bool(self.main_ms or self.byoyomi_ms or self.increment_ms)
        if (self.nodes is None) != timed:
            raise SettingsError("expected nodes a move or a time control, and not both")
        if self.byoyomi_ms and self.increment_ms:
            raise SettingsError("expected byoyomi or an increment, not both")

    def __str__(self) -> str:
        if self.nodes is not None:
            return f"{self.nodes} nodes a move"
        parts = ((self.main_ms, "main time"), (self.byoyomi_ms, "byoyomi"), (self.increment_ms, "increment"))
        return ", ".join(f"{number / 1000:g} s {word}" for number, word in parts if number)


@dataclass(frozen=True, slots=True)
class MatchSettings:
    """Everything that decides how a match runs. Two runs in one folder must agree in all of it."""

    players: tuple[Player, Player]
    pace: Pace
    games: int
    """At most; an even number. A test may end the match sooner."""
    concurrency: int = 1
    seed: int = 1
    max_moves: int = 320
    """A game that is longer is a draw, counted from move 1 of the opening."""
    resign_cp: int | None = None
    """A game is over where both players see the same side this far ahead, `resign_moves` moves in a row."""
    resign_moves: int = 6
    opening_file: str | None = None
    opening_plies: int = DEFAULT_PLIES
    opening_margin_cp: int = DEFAULT_MARGIN_CP
    sprt: Sprt | None = None

    def __post_init__(self) -> None:
        if self.games < 2 or self.games % 2:
            raise SettingsError(f"{self.games} games: expected an even number, for every opening is played twice")
        if self.players[0].name == self.players[1].name:
            raise SettingsError(f"both players are called {self.players[0].name!r}: give them names")

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain


def player(spec: str, name: str | None, options: Sequence[str]) -> Player:
    """A player from the command line.

    Args:
        spec: a USI command as a shell would take it; or ``gougi``, our own single searcher as it is installed here;
            or a configuration file of ours (``*.toml``), whose engine section sets that searcher up.
        name: what it is called; None: by its program.
        options: USI options as ``NAME=VALUE``.

    Raises:
        SettingsError: the program does not exist, the file cannot be read, or an option has no ``=``.
    """
    given: dict[str, str] = {}
    if spec == OURSELVES or spec.endswith(".toml"):
        # The referee keeps a margin; the engine needs none of its own.
        given["NetworkDelay"] = "0"
        if spec != OURSELVES:
            given |= _options_of(Path(spec))
        command = [sys.executable, "-m", "master", "usi", "--single"]
    else:
        try:
            command = shlex.split(spec)
        except ValueError as error:
            raise SettingsError(f"{spec!r} is no command: {error}") from error
        if not command:
            raise SettingsError("a player is empty: expected a USI command, gougi, or a configuration file")
        program = shutil.which(command[0])
        if program is None:
            raise SettingsError(f"{command[0]}: no such program")
        command[0] = os.path.abspath(program)
    for text in options:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise SettingsError(f"option {text!r}: expected NAME=VALUE")
        given[key.strip()] = value.strip()
    return Player(name or Path(shlex.split(spec)[0]).stem, tuple(command), given, os.getcwd())


def _options_of(file: Path) -> dict[str, str]:
    """The USI options that our searcher's part of a configuration file stands for."""
    from master.config import ConfigError, load_config

    try:
        engine = load_config(None, file).engine
    except ConfigError as error:
        raise SettingsError(str(error)) from error
    options = {"USI_Hash": str(engine.hash_mb), "Threads": str(engine.threads)}
    if engine.eval_file:
        options["EvalFile"] = engine.eval_file
    if engine.fv_scale:
        options["FV_SCALE"] = str(engine.fv_scale)
    return options


@dataclass(frozen=True, slots=True)
class MatchFolder:
    """Where a match keeps itself. A second run with the same settings goes on where the first ended."""

    path: Path
    openings: Path = field(init=False)
    records: Path = field(init=False)
    referee: Path = field(init=False)
    log: Path = field(init=False)
    result: Path = field(init=False)

    def __post_init__(self) -> None:
        for name, part in (
            ("openings", "openings.txt"),
            ("records", "records"),
            ("referee", "referee"),
            ("log", "referee.log"),
            ("result", "result.json"),
        ):
            object.__setattr__(self, name, self.path / part)

    def claim(self, settings: MatchSettings) -> bool:
        """Note the settings in a new folder (True), or check that those of an old one are the same (False).

        Raises:
            SettingsError: the folder holds another match, or cannot be written.
        """
        wanted = settings.to_json()
        file = self.path / "match.json"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.records.mkdir(exist_ok=True)
            if not file.exists():
                file.write_text(json.dumps(wanted, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
                return True
            known = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise SettingsError(f"{self.path}: {error.strerror or error}") from error
        except ValueError as error:
            raise SettingsError(f"{file}: not readable: {error}") from error
        changed = sorted(key for key in wanted if not isinstance(known, dict) or known.get(key) != wanted[key])
        if changed:
            raise SettingsError(
                f"{self.path} holds a match with other settings ({', '.join(changed)}): "
                "repeat its settings to go on with it, or choose another folder"
            )
        return False

"""Settings of a match: its contestants, pace, openings, adjudication and test. Stored in the match's folder.

Pure, except for the lookup of programs.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from lab.match.openings import DEFAULT_MARGIN_CP, DEFAULT_PLIES
from lab.match.statistics import Sprt
from worker.clock.timecontrol import TimeControl

OURSELVES: Final = "gougi"
"""The word for our own single searcher, in place of a command."""

_OUR_COMMAND: Final = (sys.executable, "-P", "-m", "gougi", "usi", "--single")
"""Without -P the sources in the current folder would play, not the installed ones."""

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_UNSAFE: Final = re.compile(r"[^\w.=+-]+")
_LONGEST_NAME: Final = 60


class SettingsError(ValueError):
    """A match cannot be played as requested; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """One side of a match: a USI command, run in ``folder``, with its options."""

    name: str
    command: tuple[str, ...]
    options: Mapping[str, str]
    folder: str

    @property
    def is_ours(self) -> bool:
        """Whether it is our installed searcher."""
        return self.command[-len(_OUR_COMMAND) :] == _OUR_COMMAND


def contestant(spec: str, name: str | None, options: Sequence[str], timed: bool = True, cores: str = "") -> Contestant:
    """Read a contestant from the command line.

    Args:
        spec: a USI command in shell syntax; or ``gougi``, our own single searcher as installed here. The program
            ``env NAME=VALUE …`` may come before either.
        name: its name; None: the name of its program.
        options: USI options as ``NAME=VALUE``.
        timed: whether the match has a clock. The referee keeps a margin then, so our searcher, or our fleet (``gougi
            usi``), gets an option to keep none, and to use all its time.
        cores: the processor cores of the contestant and of its child processes, in the syntax of ``taskset -c``
            (``0-3,6``); empty: any.

    Raises:
        SettingsError: the program does not exist, an option has no ``=``, or a core does not exist.
    """
    try:
        words = shlex.split(spec.replace("\\", r"\\") if os.name == "nt" else spec)  # there it is part of paths
    except ValueError as error:
        raise SettingsError(f"{spec!r} is no command: {error}") from error
    before, words = _environment(words)
    if not words:
        raise SettingsError("a player is empty: expected a USI command or gougi")
    given: dict[str, str] = {}
    alone = words == [OURSELVES]
    if timed and (alone or words[:2] == [OURSELVES, "usi"]):
        given |= {"NetworkDelay": "0", "NetworkDelay2": "0", "MinimumThinkingTime": "0"}
        given["RoundUpToFullSecond"] = "false"
    if alone:
        command = list(_OUR_COMMAND)
    else:
        command = [_program(words[0]), *words[1:]]
    for text in options:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise SettingsError(f"option {text!r}: expected NAME=VALUE")
        given[key.strip()] = value.strip()
    if cores:
        before = [_program("taskset"), "-c", _checked(cores), *before]
    name = (name or Path(words[0]).stem).encode(errors="replace").decode()
    return Contestant(name, (*before, *command), given, os.getcwd())


def _checked(cores: str) -> str:
    """Raises SettingsError: it is not a list of cores that this process may use."""
    ours = os.sched_getaffinity(0)
    for part in cores.split(","):
        if not re.fullmatch(r"[0-9]+(-[0-9]+)?", part):
            raise SettingsError(f"cores {cores}: expected numbers and ranges, such as 0-3,6")
        first, _, last = part.partition("-")
        if missing := set(range(int(first), int(last or first) + 1)) - ours:
            raise SettingsError(f"cores {cores}: core {min(missing)} is not there for us")
    return cores


def _environment(words: list[str]) -> tuple[list[str], list[str]]:
    """The program ``env`` with its variables before a player, if present, and the rest."""
    if words[:1] != ["env"]:
        return [], words
    end = 1
    while end < len(words) and _ASSIGNMENT.fullmatch(words[end]):
        end += 1
    return [_program("env"), *words[1:end]], words[end:]


def _program(word: str) -> str:
    """The full path of a program. Ours is also found beside the running Python, if it is not on the PATH."""
    found = shutil.which(word)
    if found is None and word == OURSELVES:
        found = shutil.which(str(Path(sys.executable).parent / word))
    if found is None:
        raise SettingsError(f"{word}: no such program")
    return os.path.abspath(found)


def with_names(a: Contestant, b: Contestant) -> tuple[Contestant, Contestant]:
    """Give two contestants of the same name different names: by options and variables that the other lacks; otherwise B
    gets ``-2``."""
    if a.name != b.name:
        return a, b
    own_a, own_b = _own(a, b), _own(b, a)
    named = [replace(one, name="-".join([one.name, *own])[:_LONGEST_NAME]) for one, own in ((a, own_a), (b, own_b))]
    if named[0].name == named[1].name:
        named[1] = replace(b, name=f"{b.name}-2")
        named[0] = a
    return named[0], named[1]


def _own(contestant: Contestant, other: Contestant) -> list[str]:
    """Options and variables of a contestant that another of the same name lacks."""
    variables = [word for word in contestant.command if _ASSIGNMENT.fullmatch(word) and word not in other.command]
    options = [(key, value) for key, value in contestant.options.items() if other.options.get(key) != value]
    words = [*variables, *(f"{key}={value}" for key, value in options)]
    # The last part of a path says enough.
    return [_UNSAFE.sub("_", re.sub(r"=.*/", "=", word)) for word in words]


FREE: Final = ("games", "concurrency")
"""Settings that may change when a match is resumed: they do not affect the games already played."""


_MOST_MS: Final = 1_000_000_000
"""The longest time of a clock. `threading.TIMEOUT_MAX` is some nine thousand times as long."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Nodes or depth per move, without a clock; or a clock, in milliseconds per side."""

    nodes: int | None = None
    depth: int | None = None
    main_ms: int = 0
    byoyomi_ms: int = 0
    increment_ms: int = 0
    margin_ms: int = 300
    """Time by which a clock may be overrun, for delays of operating system and pipes."""

    def __post_init__(self) -> None:
        given = [self.nodes is not None, self.depth is not None, self.timed]
        if not any(given):
            raise SettingsError("give --nodes, --depth, --byoyomi or --time")
        if sum(given) > 1:
            raise SettingsError("give one of --nodes, --depth and a clock (--byoyomi, --time), not several")
        if self.byoyomi_ms and self.increment_ms:
            raise SettingsError("give byoyomi or an increment, not both")
        longest = max(self.main_ms, self.byoyomi_ms, self.increment_ms, self.margin_ms)
        if longest > _MOST_MS:
            raise SettingsError(f"a time of {longest / 1000:g} s: expected {_MOST_MS // 1000:,} s at most")

    @property
    def timed(self) -> bool:
        """Whether there is a clock."""
        return bool(self.main_ms or self.byoyomi_ms or self.increment_ms)

    @property
    def control(self) -> TimeControl:
        """The clock of a side, exact to the millisecond; without a limit if there is no clock."""
        return TimeControl(self.main_ms, self.byoyomi_ms, self.increment_ms, unit_ms=1)

    def __str__(self) -> str:
        if self.nodes is not None:
            return f"{self.nodes} nodes a move"
        if self.depth is not None:
            return f"depth {self.depth}"
        parts = ((self.main_ms, "main time"), (self.byoyomi_ms, "byoyomi"), (self.increment_ms, "increment"))
        return ", ".join(f"{number / 1000:g} s {word}" for number, word in parts if number)


@dataclass(frozen=True, slots=True)
class MatchSettings:
    """Everything that decides how a match runs. Two runs in one folder must agree in every field except `FREE`."""

    players: tuple[Contestant, Contestant]
    pace: Pace
    games: int
    """Maximum number of games; even. A test may end the match sooner."""
    concurrency: int = 1
    seed: int = 1
    max_moves: int = 320
    """The ply after which a game is drawn, counted from move 1 of the opening."""
    resign_cp: int = 2000
    """A side loses if both sides' scores say that it is worse by this much on `resign_moves` consecutive moves of a
    side; 0: games are played to the end."""
    resign_moves: int = 3
    opening_file: str | None = None
    """`lab.match.openings.NATURAL` for those that ship with the package."""
    opening_plies: int = DEFAULT_PLIES
    opening_margin_cp: int = DEFAULT_MARGIN_CP
    opening_best: int = 0
    """Moves of generated openings are among this number of best moves; 0: any legal move."""
    sprt: Sprt | None = None

    def __post_init__(self) -> None:
        if self.games < 2 or self.games % 2:
            raise SettingsError(f"{self.games} games: expected an even number, for every opening is played twice")
        if self.players[0].name == self.players[1].name:
            raise SettingsError(f"both players are called {self.players[0].name!r}: give them names")

    @property
    def names(self) -> tuple[str, str]:
        """Names of A and B."""
        return self.players[0].name, self.players[1].name

    @property
    def folder_name(self) -> str:
        """The name of a folder for the match: a player's name may have a slash."""
        return _UNSAFE.sub("_", "-".join(self.names))

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

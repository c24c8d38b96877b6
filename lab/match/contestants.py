"""The contestants of a match as the command line names them: a USI command, our own searcher, a configuration of it.

Pure but for the look for programs and the reading of a configuration.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

OURSELVES: Final = "gougi"
"""The word for our own single searcher, in place of a command."""

_OUR_COMMAND: Final = (sys.executable, "-P", "-m", "master", "usi", "--single")
"""Without -P the sources in the current folder would play, not those that are installed."""

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_UNSAFE: Final = re.compile(r"[^\w.=+-]+")
_LONGEST_NAME: Final = 60


class SettingsError(ValueError):
    """A match cannot be played as it was asked for; the text says why."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """One side of a match: a USI command, run in ``folder``, with its options."""

    name: str
    command: tuple[str, ...]
    options: Mapping[str, str]
    folder: str

    @property
    def is_ours(self) -> bool:
        """Whether it is our searcher as it is installed here."""
        return self.command[-len(_OUR_COMMAND) :] == _OUR_COMMAND


def contestant(spec: str, name: str | None, options: Sequence[str], timed: bool = True, cores: str = "") -> Contestant:
    """Read a contestant from the command line.

    Args:
        spec: a USI command as a shell would take it; or ``gougi``, our own single searcher as it is installed here;
            or a configuration file of ours (``*.toml``), whose engine section sets that searcher up. ``env NAME=VALUE
            …``, ``taskset -c CPUS`` and ``nice -n N`` may stand before each.
        name: what it is called; None: by its program.
        options: USI options as ``NAME=VALUE``.
        timed: whether the match has a clock. The referee keeps a margin then, so our searcher, or our fleet (``gougi
            usi``), is told to keep none, and to use its time.
        cores: the processor cores of the contestant and of all that it starts, as ``taskset -c`` takes them
            (``0-3,6``); empty: any.

    Raises:
        SettingsError: the program does not exist, the file cannot be read, an option has no ``=``, or a core is not
            there.
    """
    try:
        words = shlex.split(spec)
    except ValueError as error:
        raise SettingsError(f"{spec!r} is no command: {error}") from error
    before, words = _wrappers(words)
    if not words:
        raise SettingsError("a player is empty: expected a USI command, gougi, or a configuration file")
    given: dict[str, str] = {}
    alone = len(words) == 1 and (words[0] == OURSELVES or words[0].endswith(".toml"))
    if timed and (alone or words[:2] == [OURSELVES, "usi"]):
        given |= {"NetworkDelay": "0", "NetworkDelay2": "0", "MinimumThinkingTime": "0"}
        given["RoundUpToFullSecond"] = "false"
    if alone:
        if words[0] != OURSELVES:
            given |= _options_of(Path(words[0]))
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
    return Contestant(name or Path(words[0]).stem, (*before, *command), given, os.getcwd())


def _checked(cores: str) -> str:
    """Raises SettingsError: it is no list of cores that this process may use."""
    ours = os.sched_getaffinity(0)
    for part in cores.split(","):
        if not re.fullmatch(r"[0-9]+(-[0-9]+)?", part):
            raise SettingsError(f"cores {cores}: expected numbers and ranges, such as 0-3,6")
        first, _, last = part.partition("-")
        if missing := set(range(int(first), int(last or first) + 1)) - ours:
            raise SettingsError(f"cores {cores}: core {min(missing)} is not there for us")
    return cores


def _wrappers(words: list[str]) -> tuple[list[str], list[str]]:
    """The programs in front of a player that only start it, and the rest."""
    before: list[str] = []
    while words:
        end = 1
        match Path(words[0]).name:
            case "env":
                while end < len(words) and _ASSIGNMENT.fullmatch(words[end]):
                    end += 1
            case "taskset":
                while end < len(words) and words[end].startswith("-"):
                    end += 1
                end += 1  # the CPUs
            case "nice":
                end = 3 if words[1:2] == ["-n"] else 1
            case _:
                break
        before += [_program(words[0]), *words[1:end]]
        words = words[end:]
    return before, words


def _program(word: str) -> str:
    """The whole path of a program. Ours is found beside the running Python too, where no PATH leads to it."""
    found = shutil.which(word)
    if found is None and word == OURSELVES:
        found = shutil.which(str(Path(sys.executable).parent / word))
    if found is None:
        raise SettingsError(f"{word}: no such program")
    return os.path.abspath(found)


def _options_of(file: Path) -> dict[str, str]:
    """The USI options that our searcher's part of a configuration file stands for."""
    from master.config import ConfigError, load_config

    try:
        engine = load_config(None, file).engine
    except ConfigError as error:
        raise SettingsError(str(error)) from error
    options = {"USI_Hash": str(engine.hash_mb), "Threads": str(engine.threads or 1)}
    if engine.eval_file:
        options["EvalFile"] = engine.eval_file
    if engine.fv_scale:
        options["FV_SCALE"] = str(engine.fv_scale)
    return options


def with_names(a: Contestant, b: Contestant) -> tuple[Contestant, Contestant]:
    """Give two contestants of one name different names: by options and variables that the other lacks, else B gets
    ``-2``."""
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
    # Of a path the last part says enough.
    return [_UNSAFE.sub("_", re.sub(r"=.*/", "=", word)) for word in words]

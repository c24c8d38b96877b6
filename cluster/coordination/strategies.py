"""Strategies by name: what `cluster.coordination.settings` offers, as words of a command line.

A name is ``MODE``, ``MODE:VOTE``, and behind it any number of ``+SETTING=NUMBER``, the settings of
`cluster.engine_spec.Variety` and ``ponder`` among them::

    split    consult:majority+dropout=0.05+noise=20    split+presearch_share=0.2+takeover.margin=40
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from cluster.coordination.settings import USUAL_VOTE, Mode, Settings
from cluster.engine_spec import Variety
from cluster.voting import Vote

_VARIETY = tuple(item.name for item in fields(Variety))


class StrategyError(ValueError):
    """There is no such strategy; the text says what is wrong, and where."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """Settings of a fleet's search, and their name; two names that differ in nothing become one."""

    name: str
    settings: Settings
    variety: Variety = field(default_factory=Variety)
    ponder: bool = False
    """Whether it searches on the opponent's time."""


SINGLE = Strategy("single", Settings(mode=Mode.CONSULT))
"""The strategy of a single node, which has nothing to split or to vote on."""


def offered() -> tuple[str, ...]:
    """The names of all modes but auto, which is one of the others; of those that vote, with each vote."""
    names: list[str] = []
    for mode in (mode for mode in Mode if mode is not Mode.AUTO):
        names += [f"{mode}:{vote}" for vote in Vote] if mode is Mode.CONSULT else [str(mode)]
    return tuple(names)


@functools.cache
def strategy(text: str) -> Strategy:
    """The strategy of a name.

    Raises:
        StrategyError: there is no such mode, vote or setting, or its value is no number or out of range.
    """
    head, *changes = text.strip().split("+")
    mode_name, colon, vote_name = head.partition(":")
    try:
        mode = Mode(mode_name)
        vote = Vote(vote_name) if colon else None if mode is Mode.AUTO else USUAL_VOTE
    except ValueError:
        raise StrategyError(
            f"no strategy {head!r}: there are auto, {', '.join(offered())}; other modes take a vote behind a colon too"
        ) from None
    settings, variety, ponder = Settings(mode=mode, vote=vote), Variety(), False
    names = [f"{mode}:{vote}" if colon or mode is Mode.CONSULT else str(mode)]
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals:
            raise StrategyError(f"{text!r}: {change!r}: expected SETTING=NUMBER")
        if key == "ponder":
            ponder = _switch(value, f"{text!r}: {key}")
        elif key in _VARIETY:
            variety = _varied(variety, key, value, text)
        else:
            settings = _changed(settings, key.split("."), value, f"{text!r}: {key}")
        names.append(f"{key}={value}")
    return Strategy("+".join(names), settings, variety, ponder)


def adjustable() -> tuple[str, ...]:
    """The names of the settings that are numbers, those of a part with a dot: ``takeover.margin``."""
    return (*_numbers(Settings(), ""), *_VARIETY, "ponder")


def _numbers(settings: Any, prefix: str) -> list[str]:
    names: list[str] = []
    for name in settings.__dataclass_fields__:
        value = getattr(settings, name)
        if is_dataclass(value):
            names += _numbers(value, f"{prefix}{name}.")
        elif type(value) in (int, float):
            names.append(prefix + name)
    return names


def _changed(settings: Any, path: list[str], value: str, where: str) -> Any:
    head, *rest = path
    known = getattr(settings, head, None) if head in settings.__dataclass_fields__ else None
    if rest and is_dataclass(known):
        return replace(settings, **{head: _changed(known, rest, value, where)})
    if rest or not isinstance(known, (int, float)) or isinstance(known, bool):
        raise StrategyError(f"{where}: no such setting; there are {', '.join(adjustable())}")
    try:
        number = int(value) if isinstance(known, int) else float(value)
    except ValueError:
        raise StrategyError(f"{where}: {value!r} is no {type(known).__name__}") from None
    try:
        return replace(settings, **{head: number})
    except ValueError as error:
        raise StrategyError(f"{where}: {error}") from None


def _varied(variety: Variety, key: str, value: str, text: str) -> Variety:
    kind = type(getattr(variety, key))
    where = f"{text!r}: {key}"
    try:
        return replace(variety, **{key: _switch(value, where) if kind is bool else kind(value)})
    except StrategyError:
        raise
    except ValueError as error:
        raise StrategyError(f"{where}: {error}") from None


def _switch(value: str, where: str) -> bool:
    if value not in ("0", "1"):
        raise StrategyError(f"{where}: {value!r} is neither 0 nor 1")
    return value == "1"

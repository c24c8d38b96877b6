"""Strategies by name.

A name is a mode, or ``threads``, followed by any number of ``+SETTING=NUMBER``::

    split    consult+share_depth=0    split+presearch_share=0.2+takeover.margin=40
    threads    threads+one_history=0    threads+one_table=0+share_depth=1    consult+slice_ms=8

``threads`` is an engine with as many threads as there are nodes: searchers in lockstep on one table, with one set of
shared histories. They vote as nodes do. Settings remove one of these properties at a time, or give it to nodes.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, Final

from cluster.coordination.settings import Mode, Settings, SharingSettings
from cluster.sharing.table import DEEPEST

THREADS: Final = "threads"
SLICE_MS: Final = 32
"""A thirty-second of the virtual second that a search takes. Real nodes send every 30 to 60 ms
(`cluster.sharing.node`)."""
HISTORIES: Final = 224
"""Real nodes send each other about as large a part of the values that change (`cluster.sharing.histories`): of eight
each hears 32 of some 400, of two 224."""
OWN_SETTINGS: Final = {
    "share_depth": (0, DEEPEST),
    "ponder": (0, 1),
    "one_table": (0, 1),
    "one_history": (0, 1),
    "slice_ms": (1, 1000),
    "histories": (0, 1_000_000),
}
"""The settings that are not the coordinator's, with their lowest and highest values."""


class StrategyError(ValueError):
    """There is no such strategy; the text names the error and its place."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """Settings of a fleet's search, their name, and how closely its virtual nodes are coupled
    (`lab.strategies.virtual.VirtualFleet`)."""

    name: str
    settings: Settings
    share_depth: int = SharingSettings().depth
    """Like `SharingSettings.depth`."""
    ponder: bool = False
    """Whether it searches on the opponent's time."""
    one_table: bool = False
    """Whether the nodes search on one table; then nothing is exchanged."""
    one_history: bool = False
    """The same for the histories that threads share."""
    slice_ms: int = SLICE_MS
    """How far one searcher runs ahead of the others, and the maximum delay of its results to them, in milliseconds of
    the virtual second."""
    histories: int = HISTORIES
    """The most changed values of histories that a node sends to all others together in a slice; 0: none."""


SINGLE: Final = Strategy("single", Settings(mode=Mode.CONSULT))
"""The strategy of a single node, which has nothing to split or to vote on."""
_OF_THREADS: Final = replace(SINGLE, name=THREADS, one_table=True, one_history=True, slice_ms=8, histories=0)


@functools.cache
def strategy(text: str) -> Strategy:
    """The strategy with a name.

    Raises:
        StrategyError: there is no such mode or setting, or its value is not a number or out of range.
    """
    head, *changes = text.strip().split("+")
    found = _OF_THREADS if head == THREADS else _of_mode(head)
    for change in changes:
        key, equals, value = change.partition("=")
        where = f"{text!r}: {key}"
        if not equals:
            raise StrategyError(f"{text!r}: {change!r}: expected SETTING=NUMBER")
        if key in OWN_SETTINGS:
            least, most = OWN_SETTINGS[key]
            if not value.isdecimal() or not least <= int(value) <= most:
                raise StrategyError(f"{where}: {value!r} is no whole number from {least} to {most}")
            found = replace(found, **{key: type(getattr(found, key))(int(value))})
        else:
            found = replace(found, settings=_changed(found.settings, key.split("."), value, where))
    return replace(found, name="+".join((head, *changes)))


def adjustable() -> tuple[str, ...]:
    """The names of the settings; nested ones have a dot: ``takeover.margin``."""
    return (*_numbers(Settings(), ""), *OWN_SETTINGS)


def _of_mode(name: str) -> Strategy:
    try:
        return Strategy(name, Settings(mode=Mode(name)))
    except ValueError:
        raise StrategyError(f"no strategy {name!r}: there are {', '.join((*Mode, THREADS))}") from None


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

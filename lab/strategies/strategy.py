"""Strategies by name.

A name is a mode, followed by any number of ``+SETTING=NUMBER``; these include ``depths``, ``share_depth`` and
``ponder``::

    split    consult+depths=0+share_depth=0    split+presearch_share=0.2+takeover.margin=40
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, is_dataclass, replace
from typing import Any

from cluster.coordination.settings import Mode, Settings, SharingSettings


class StrategyError(ValueError):
    """There is no such strategy; the text names the error and its place."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """Settings of a fleet's search, and their name; names with the same meaning are normalized to one."""

    name: str
    settings: Settings
    depths: bool = True
    """Like `cluster.engine_spec.FleetSpec.depths`."""
    share_depth: int = SharingSettings().depth
    """Like `SharingSettings.depth`."""
    ponder: bool = False
    """Whether it searches on the opponent's time."""


@functools.cache
def strategy(text: str) -> Strategy:
    """The strategy with a name.

    Raises:
        StrategyError: there is no such mode or setting, or its value is not a number or out of range.
    """
    head, *changes = text.strip().split("+")
    try:
        mode = Mode(head)
    except ValueError:
        raise StrategyError(f"no strategy {head!r}: there are {', '.join(Mode)}") from None
    settings, depths, share_depth, ponder = Settings(mode=mode), True, SharingSettings().depth, False
    names = [str(mode)]
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals:
            raise StrategyError(f"{text!r}: {change!r}: expected SETTING=NUMBER")
        if key == "ponder":
            ponder = _switch(value, f"{text!r}: {key}")
        elif key == "share_depth":
            if not value.isdecimal():
                raise StrategyError(f"{text!r}: {key}: {value!r} is no depth")
            share_depth = int(value)
        elif key == "depths":
            depths = _switch(value, f"{text!r}: {key}")
        else:
            settings = _changed(settings, key.split("."), value, f"{text!r}: {key}")
        names.append(f"{key}={value}")
    return Strategy("+".join(names), settings, depths, share_depth, ponder)


def adjustable() -> tuple[str, ...]:
    """The names of the numeric settings; nested ones have a dot: ``takeover.margin``."""
    return (*_numbers(Settings(), ""), "depths", "share_depth", "ponder")


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


def _switch(value: str, where: str) -> bool:
    if value not in ("0", "1"):
        raise StrategyError(f"{where}: {value!r} is neither 0 nor 1")
    return value == "1"

"""Strategies by name: what `cluster.settings` offers, as words of a command line.

A name is ``MODE``, ``MODE:VOTE``, and behind it any number of ``+SETTING=NUMBER``::

    split    consult:majority    split+presearch_share=0.2+caution.margin=40
"""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass, replace
from typing import Any

from cluster.consultation import Vote
from cluster.settings import Mode, Settings


class LabError(ValueError):
    """The laboratory cannot do what was asked; the text says what is wrong, and where."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """How a fleet searches, and what that is called; two names that differ in nothing become one."""

    name: str
    settings: Settings


def offered() -> tuple[str, ...]:
    """The names of all modes; of those that vote, with each vote."""
    names: list[str] = []
    for mode in Mode:
        names += [f"{mode}:{vote}" for vote in Vote] if mode is Mode.CONSULT else [str(mode)]
    return tuple(names)


def strategy(text: str) -> Strategy:
    """The strategy of a name.

    Raises:
        LabError: there is no such mode, vote or setting, or its value is no number.
    """
    head, *changes = text.strip().split("+")
    mode_name, colon, vote_name = head.partition(":")
    try:
        mode = Mode(mode_name)
        vote = Vote(vote_name) if colon else Settings().vote
    except ValueError:
        raise LabError(
            f"no strategy {head!r}: there are {', '.join(offered())}; other modes take a vote behind a colon too"
        ) from None
    settings = Settings(mode=mode, vote=vote)
    names = [f"{mode}:{vote}" if colon or mode is Mode.CONSULT else str(mode)]
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals:
            raise LabError(f"{text!r}: {change!r}: expected SETTING=NUMBER")
        settings = _changed(settings, key.split("."), value, f"{text!r}: {key}")
        names.append(f"{key}={value}")
    return Strategy("+".join(names), settings)


def adjustable() -> tuple[str, ...]:
    """The names of the settings that are numbers, those of a part with a dot: ``caution.margin``."""
    return tuple(_numbers(Settings(), ""))


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
        raise LabError(f"{where}: no such setting; there are {', '.join(adjustable())}")
    try:
        return replace(settings, **{head: int(value) if isinstance(known, int) else float(value)})
    except ValueError:
        raise LabError(f"{where}: {value!r} is no {type(known).__name__}") from None

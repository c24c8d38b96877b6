"""A named state that changes according to a table and keeps its history: the base of every state machine.

A table maps each state to its possible next states, each with its cause as text. A reader can compare it with the
diagram in ``docs/explanation/state-machines.md``; a test does so.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

_REMEMBERED: Final = 200
"""The number of transitions that a machine keeps."""

S = TypeVar("S", bound=enum.Enum)


class TransitionError(Exception):
    """A transition that is not in the table; the text names both states."""


@dataclass(frozen=True, slots=True)
class Transition(Generic[S]):
    """A change of state. ``at_ms``: by the clock of the machine's events."""

    at_ms: float
    before: S
    after: S
    why: str


class States(Generic[S]):
    """The state of one machine.

    Args:
        table: by state, the possible next states, each with its cause.
        first: the state at the beginning.
        strict: whether a transition that is not in the table raises. Otherwise it is made anyway: in a game a wrong
            table must not cost the move.
    """

    def __init__(self, table: Mapping[S, Mapping[S, str]], first: S, *, strict: bool = False) -> None:
        self.now = first
        self._table = table
        self._strict = strict
        self._history: deque[Transition[S]] = deque(maxlen=_REMEMBERED)

    def to(self, state: S, at_ms: float) -> None:
        """Go to ``state``; does nothing if that is the current state and the table has no transition to itself.

        Raises:
            TransitionError: the table has no such transition, and the machine is strict; nothing changed.
        """
        words = self._table[self.now].get(state)
        if words is None and state is self.now:
            return
        if words is None and self._strict:
            raise TransitionError(f"from {self.now.name} to {state.name}: not in the table")
        self._history.append(Transition(at_ms, self.now, state, words or "unforeseen"))
        self.now = state

    def history(self) -> tuple[Transition[S], ...]:
        """The last transitions, the oldest first."""
        return tuple(self._history)

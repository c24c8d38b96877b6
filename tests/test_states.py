"""The diagrams of docs/explanation/state-machines.md are the tables of the state machines."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cluster.coordination.states import COORDINATOR, GROUP, SEARCH
from master.player.states import TRANSITIONS as PLAYER
from worker.states import States, TransitionError
from worker.usi.front import FRONT
from worker.usi.thinking import THINKING

DIAGRAMS = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "diagrams"
ARROW = re.compile(r"\s*(\w+) --> (\w+): (.+)")
TABLES: dict[str, Mapping[Any, Mapping[Any, str]]] = {
    "player": PLAYER,
    "coordinator": COORDINATOR,
    "search": SEARCH,
    "group": GROUP,
    "usi": FRONT,
    "thinking": THINKING,
}


def drawn(name: str) -> set[tuple[str, str, str]]:
    """The arrows of a diagram; one from a frame stands for one from each state in it."""
    diagram = (DIAGRAMS / f"{name}.mmd").read_text(encoding="utf-8")
    frames: dict[str, set[str]] = {}
    arrows: list[tuple[str, str, str]] = []
    frame = ""
    for line in diagram.splitlines():
        if found := re.match(r"\s*state (\w+) {", line):
            frame = found[1]
            frames[frame] = set()
        elif line.strip() == "}":
            frame = ""
        elif found := ARROW.fullmatch(line):
            arrows.append((found[1], found[2], found[3]))
            if frame:
                frames[frame] |= {found[1], found[2]}
    return {(state, after, why) for before, after, why in arrows for state in frames.get(before, {before})}


@pytest.mark.parametrize("name", TABLES)
def test_the_diagram_is_the_table(name: str) -> None:
    table = TABLES[name]
    assert drawn(name) == {
        (before.name, after.name, why) for before, ways in table.items() for after, why in ways.items()
    }


@pytest.mark.parametrize("name", TABLES)
def test_every_state_has_a_row_and_a_way_to_it(name: str) -> None:
    table = TABLES[name]
    first, *others = type(next(iter(table)))
    assert set(table) == {first, *others}
    reached, new = {first}, {first}
    while new:
        new = {after for before in new for after in table[before]} - reached
        reached |= new
    assert reached == set(table)


class Light(enum.Enum):
    RED = "red"
    GREEN = "green"


WAYS = {Light.RED: {Light.GREEN: "go"}, Light.GREEN: {}}


def test_a_strict_machine_keeps_to_its_table() -> None:
    light = States(WAYS, Light.RED, strict=True)
    light.to(Light.RED, 1)  # the current state
    light.to(Light.GREEN, 2)
    with pytest.raises(TransitionError, match="from GREEN to RED"):
        light.to(Light.RED, 3)
    assert light.now is Light.GREEN
    [only] = light.history()
    assert (only.at_ms, only.before, only.after, only.why) == (2, Light.RED, Light.GREEN, "go")


def test_another_goes_on_and_says_so() -> None:
    light = States(WAYS, Light.GREEN)
    light.to(Light.RED, 5)
    assert light.now is Light.RED
    assert [step.why for step in light.history()] == ["unforeseen"]

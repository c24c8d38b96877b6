"""The choice of a position's stack: the tables of YaneuraOu's architectures/README.md, by example."""

from __future__ import annotations

import math

import numpy as np
import pytest

from worker.nnue.sfnn.stacks import (
    HAND_RULES,
    HAND_ZONES,
    KING_RULES,
    PROGRESS_STEPS,
    StackRule,
    parse_stacks,
    progress_thresholds,
    rules_with,
    stack_index,
)
from worker.shogi.pieces import BISHOP, GOLD, KNIGHT, PAWN, ROOK, SILVER, square


def hand(**counts: int) -> list[int]:
    """Counts by piece type."""
    kinds = {"pawn": PAWN, "knight": KNIGHT, "silver": SILVER, "gold": GOLD, "bishop": BISHOP, "rook": ROOK}
    held = [0] * 8
    for name, count in counts.items():
        held[kinds[name]] = count
    return held


EMPTY = hand()


@pytest.mark.parametrize(
    ("rule", "stacks"),
    [
        ("", 1),
        ("k3k3", 9),
        ("k9k9", 81),
        ("k9k9z", 81),
        ("k13k13z", 169),
        ("k21k21", 441),
        ("k29k29", 841),
        ("hand4", 4),
        ("hand64z_k21k21", 28224),
        ("hand1024_k29k29", 861184),
        ("hand256_k3k3_progress16", 36864),
        ("k3k3_progress8", 72),
        ("progress8kpabs", 9),
    ],
)
def test_names_and_numbers_of_stacks(rule: str, stacks: int) -> None:
    assert parse_stacks(rule).count == stacks
    assert str(parse_stacks(rule)) == rule


def test_the_parts_of_a_name_come_in_any_order_and_by_their_long_names() -> None:
    assert str(parse_stacks("progress8_king9z_by_king9z_HAND16")) == "hand16_k9k9z_progress8"


@pytest.mark.parametrize("text", ["k4k4", "k3k3_k9k9", "hand4_hand16", "progress5", "progress2_progress4", "k3k3_ls9"])
def test_unknown_and_doubled_parts_are_named(text: str) -> None:
    with pytest.raises(ValueError, match=f"layer stacks '{text.split('_')[-1]}'"):
        parse_stacks(text)


def test_rules_by_number() -> None:
    assert [str(rule) for rule in rules_with(9)] == ["k3k3"]
    assert [str(rule) for rule in rules_with(81)] == ["k9k9", "k9k9z"]
    assert [str(rule) for rule in rules_with(7)] == []


@pytest.mark.parametrize(
    ("rule", "file", "rank", "number"),
    [
        # The king's own view: rank 9 is at home, files are counted from the right.
        ("k3k3", 5, 9, 2),
        ("k3k3", 5, 3, 0),
        ("k9k9", 1, 6, 5),
        ("k9k9z", 9, 7, 2),
        ("k9k9z", 3, 8, 3),
        ("k9k9z", 4, 8, 4),
        ("k9k9z", 9, 9, 8),
        ("k13k13z", 5, 7, 6),
        ("k13k13z", 1, 8, 7),
        ("k13k13z", 7, 9, 12),
        ("k21k21", 5, 7, 2),
        ("k21k21", 1, 8, 3),
        ("k21k21", 9, 9, 20),
        ("k29k29", 5, 6, 1),
        ("k29k29", 1, 7, 2),
        ("k29k29", 9, 9, 28),
    ],
)
def test_a_kings_class(rule: str, file: int, rank: int, number: int) -> None:
    own, classes = square(file, rank), max(KING_RULES[rule]) + 1
    other = square(5, 1)  # white's, on its own ninth rank
    home = KING_RULES[rule][80 - other]
    assert stack_index(StackRule(king=rule), 0, [EMPTY, EMPTY], [own, other]) == number * classes + home
    # The same from the other side: the board turned round, white to move.
    assert stack_index(StackRule(king=rule), 1, [EMPTY, EMPTY], [80 - other, 80 - own]) == number * classes + home


@pytest.mark.parametrize(
    ("rule", "held", "number"),
    [
        ("hand4", hand(pawn=3), 0),
        ("hand4", hand(bishop=1), 1),
        ("hand16", hand(pawn=1, bishop=2), 3),
        ("hand64", hand(knight=1), 1),
        ("hand64", hand(rook=1), 2),
        ("hand64", hand(silver=1, bishop=1), 6),
        ("hand256", hand(pawn=1, rook=1), 9),
        ("hand256", hand(gold=1), 2),
        ("hand1024", hand(pawn=1, knight=1, gold=1, bishop=1, rook=1), 31),
        ("hand64z", hand(), 0),
        ("hand64z", hand(pawn=1), 1),
        ("hand64z", hand(pawn=4), 1),
        ("hand64z", hand(knight=1, silver=1), 2),
        ("hand64z", hand(bishop=2, rook=2, gold=1), 6),
        ("hand64z", hand(pawn=18, rook=2), 7),
    ],
)
def test_a_hands_class(rule: str, held: list[int], number: int) -> None:
    classes = 8 if rule == HAND_ZONES else 1 << len(HAND_RULES[rule])
    assert stack_index(StackRule(hand=rule), 0, [held, EMPTY], [0, 0]) == number * classes
    assert stack_index(StackRule(hand=rule), 0, [EMPTY, held], [0, 0]) == number
    assert stack_index(StackRule(hand=rule), 1, [EMPTY, held], [0, 0]) == number * classes


def test_the_order_of_the_parts() -> None:
    """Hands, then kings, then progress, which counts fastest."""
    rule = parse_stacks("hand4_k3k3_progress4")
    hands, kings = [hand(bishop=1), EMPTY], [square(5, 9), square(5, 1)]
    assert stack_index(rule, 0, hands, kings, 0) == (2 * 9 + 8) * 4 + 2


@pytest.mark.parametrize("steps", PROGRESS_STEPS)
def test_progress(steps: int) -> None:
    """As in YaneuraOu: 0..255 by thresholds of the logistic function, and then as many parts of it as there are
    stacks."""
    rule, thresholds = StackRule(progress=steps), progress_thresholds(steps)
    all_values = [round(math.log(i / (256 - i)) * 65536) for i in range(1, 256)]
    for total in np.random.default_rng(steps).integers(-400_000, 400_000, 300).tolist() + thresholds.tolist():
        value = sum(total >= threshold for threshold in all_values)
        assert stack_index(rule, 0, [EMPTY, EMPTY], [0, 0], total) == min(value * steps // 256, steps - 1)

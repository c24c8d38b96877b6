"""Operations on words: a quotient loses its fraction, on both sides of zero."""

from __future__ import annotations

import pytest

from worker.jit import bits, jit


@jit()
def toward_zero(value, divisor):  # type: ignore[no-untyped-def]
    return bits.toward_zero(value, divisor)


@pytest.mark.parametrize(("value", "quotient"), [(-1, 0), (-12_000, -1), (11_999, 0), (12_000, 1), (0, 0)])
def test_a_fraction_is_dropped_on_both_sides_of_zero(value: int, quotient: int) -> None:
    """Floor division would make a whole ply of reduction out of a history of -1."""
    assert toward_zero(value, 12_000) == quotient

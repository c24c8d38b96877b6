"""Settings that a match accepts, and its errors for others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab.match.contestants import SettingsError
from lab.match.settings import Pace
from tests.lab.match.matches import settings


def test_pace() -> None:
    assert str(Pace(nodes=5)) == "5 nodes a move"
    assert str(Pace(depth=9)) == "depth 9"
    assert str(Pace(main_ms=60_000, increment_ms=500)) == "60 s main time, 0.5 s increment"
    with pytest.raises(SettingsError, match=r"^give --nodes, --depth, --byoyomi or --time$"):
        Pace()
    for wrong in ({"nodes": 5, "byoyomi_ms": 100}, {"nodes": 5, "depth": 3}, {"depth": 3, "main_ms": 100}):
        with pytest.raises(SettingsError, match="not several"):
            Pace(**wrong)
    with pytest.raises(SettingsError, match="byoyomi or an increment"):
        Pace(byoyomi_ms=1, increment_ms=1)


def test_settings_that_make_no_match() -> None:
    with pytest.raises(SettingsError, match="3 games: expected an even number"):
        replace(settings(), games=3)
    with pytest.raises(SettingsError, match="both players are called 'A'"):
        replace(settings(), players=(settings().players[0], settings().players[0]))

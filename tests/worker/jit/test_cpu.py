"""The choice of a CPU's level."""

from __future__ import annotations

import pytest

from worker.jit.cpu import LEVELS, level_of

ZEN_4 = dict.fromkeys(LEVELS[0].needed, True) | {"sse4a": True}
ALDER_LAKE = dict.fromkeys(LEVELS[1].needed, True)
ZEN_3 = dict.fromkeys(LEVELS[2].needed, True)
SKYLAKE_X = {feature: True for feature in LEVELS[0].needed if feature != "avx512vnni"}
NEHALEM = dict.fromkeys(LEVELS[3].needed, True)


@pytest.mark.parametrize(
    ("features", "name", "target"),
    [
        (ZEN_4, "avx512vnni", "x86-64-v4+avx512vnni"),
        (ALDER_LAKE, "avxvnni", "x86-64-v3+avxvnni"),
        (SKYLAKE_X, "avx2", "x86-64-v3"),
        (ZEN_3, "avx2", "x86-64-v3"),
        (ZEN_3 | {"bmi2": False}, "portable", "x86-64-v2"),
        (NEHALEM, "portable", "x86-64-v2"),
        ({}, "oldest", "x86-64"),
    ],
)
def test_the_best_one_that_it_can_run(features: dict[str, bool], name: str, target: str) -> None:
    level = level_of("x86_64", features)
    assert level is not None
    assert (level.name, level.target) == (name, target)


def test_a_lower_one_on_demand() -> None:
    level = level_of("AMD64", ZEN_4, "portable")
    assert level is not None
    assert level.cpu == "x86-64-v2"


def test_code_for_another_cpu_is_refused() -> None:
    with pytest.raises(ImportError, match="GOUGI_CPU=avxvnni: this CPU lacks avxvnni"):
        level_of("x86_64", ZEN_3, "avxvnni")
    with pytest.raises(ImportError, match="GOUGI_CPU=fast: expected one of avx512vnni, "):
        level_of("x86_64", ZEN_3, "fast")


def test_another_architecture_has_none() -> None:
    assert level_of("aarch64", {}) is None

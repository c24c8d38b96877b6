"""Generation 0."""

from __future__ import annotations

import hashlib

from lab.training import generation0
from worker.nnue.format import serialise_network

DIGEST = "25d1cd4df6f71e0441ef2ce49ca9464a5568fa9c476785ec1c9b1f7f4064002d"
"""The first teacher of every run of `gougi learn` without a named teacher (``lab/learning/history.json``)."""


def test_its_bytes_are_the_same_everywhere() -> None:
    assert hashlib.sha256(serialise_network(generation0.build())).hexdigest() == DIGEST

"""Orders of tiny shards for tests."""

from __future__ import annotations

from importlib import resources
from typing import Any

from cluster.teaching.orders import Order, digest_of
from worker.nnue.network import DEFAULT_NETWORK
from worker.training.teacher import TeacherSettings, code_version

NET = resources.files("worker.nnue").joinpath("data", DEFAULT_NETWORK).read_bytes()


def order(code: str | None = None, **changes: Any) -> Order:
    settings = TeacherSettings(**{"nodes": 60, "games": 4, "hash_mb": 1, **changes})
    return Order(settings, digest_of(NET), None, code or code_version())

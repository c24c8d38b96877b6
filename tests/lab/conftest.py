"""Fixtures that several of the laboratory's tests need."""

from tests.cluster.conftest import warm

__all__ = ["warm"]

"""Terms of tiny shards for tests."""

from __future__ import annotations

from typing import Any

from lab.selfplay.folder import ShardTerms
from lab.selfplay.run import digest_of
from lab.selfplay.teacher import TeacherSettings, code_version
from worker.nnue.network import default_file

NET = default_file().read_bytes()


def terms(code: str | None = None, **changes: Any) -> ShardTerms:
    settings = TeacherSettings(**{"nodes": 60, "games": 4, "hash_mb": 1, **changes})
    return ShardTerms(settings, digest_of(NET), None, code or code_version())

"""The place of Ray's folder, and the error where it cannot be made, before Ray is started."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

import pytest

from cluster.api import FleetError
from cluster.drivers.ray_cluster import RayCluster


def refusal() -> str:
    async def main() -> str:
        cluster = RayCluster(None, 1)
        with pytest.raises(FleetError) as error:
            await cluster.open()
        await cluster.leave()
        return str(error.value)

    return asyncio.run(main())


def test_a_folder_whose_name_is_too_long_for_sockets_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH", raising=False)
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="x" * 20) as long:
        monkeypatch.setattr(tempfile, "tempdir", long)
        cluster = RayCluster(None, 1)
        cluster._make_folder()
        try:
            token = Path(os.environ["RAY_AUTH_TOKEN_PATH"])
            assert token.parent.parent == Path("/tmp")
            assert token.stat().st_mode & 0o7777 == 0o600
        finally:
            cluster.remove_folder()
        assert not token.parent.exists()
        assert list(Path(long).iterdir()) == []


def test_a_folder_in_which_others_could_replace_rays(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="x-") as shared:
        Path(shared).chmod(0o777)
        monkeypatch.setattr(tempfile, "tempdir", shared)
        assert refusal() == f"no Ray cluster on this machine: others may write to {shared}"
        assert list(Path(shared).iterdir()) == []

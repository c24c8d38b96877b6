"""What several commands build from the configuration."""

from __future__ import annotations

import pytest

from master.commands import services
from master.config import load_config


def test_the_answering_engine_has_the_network_of_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, str] = {}
    monkeypatch.setattr("worker.usi.engine.UsiEngine", lambda _command, options: told.update(options))
    engine = {"eval_file": "/nets/nn.bin", "eval_architecture": "halfkp_1024x2-8-64", "fv_scale": 24}
    services.answering_engine(load_config({"engine": engine}))
    assert told == {
        "Threads": "1",
        "EvalFile": "/nets/nn.bin",
        "EvalArchitecture": "halfkp_1024x2-8-64",
        "FV_SCALE": "24",
    }

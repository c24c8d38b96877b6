"""The evaluation that the search calls. ``pos`` is a Record of `worker.shogi.state.POS`, ``nn`` one of `state.NN`."""

from __future__ import annotations

from typing import Any

from worker.jit import jit
from worker.nnue.accumulator import accumulator, ensure, refresh
from worker.nnue.kernels import kernels
from worker.score import MAX_EVAL


@jit()
def _output(pos: Any, nn: Any) -> Any:
    return kernels.forward(accumulator(nn, pos.ply, pos.side), accumulator(nn, pos.ply, 1 - pos.side), nn)


@jit()
def prepare(pos: Any, nn: Any) -> None:
    """Do now the part of the position's evaluation that those of its children need too: its accumulators."""
    for perspective in range(2):
        ensure(pos, nn, perspective)


@jit()
def evaluate(pos: Any, nn: Any) -> Any:
    """The network's raw output (int64) for the side to move, before FV_SCALE."""
    prepare(pos, nn)
    return _output(pos, nn)


@jit()
def evaluate_full(pos: Any, nn: Any) -> Any:
    """The same value as `evaluate` (int64), computed from all pieces without earlier accumulators."""
    for perspective in range(2):
        refresh(pos, nn, perspective)
    return _output(pos, nn)


@jit()
def centipawns(raw: int, fv_scale: int) -> Any:
    """A raw output in centipawns (int64): divided with truncation, as YaneuraOu does, and kept within `MAX_EVAL`."""
    value = raw // fv_scale if raw >= 0 else -(-raw // fv_scale)
    return max(-MAX_EVAL, min(MAX_EVAL, value))


@jit()
def evaluate_score(pos: Any, nn: Any) -> Any:
    """The score (`worker.score`) of the position for the side to move, int64 centipawns."""
    return centipawns(evaluate(pos, nn), nn.fv_scale)

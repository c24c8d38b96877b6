"""Train the attack network beside a network (`worker.nnue.attack_network`) with the scores of games.

It learns what the network's own evaluation leaves: the sum of both is to predict the chance by the score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from lab.training.compare import evaluations, winning_chances
from lab.training.corpus import Records
from lab.training.kernels import attack_inputs
from lab.training.net_facts import evaluator_raw
from lab.training.network.model import learning_threads
from worker.nnue.attack_inputs import MOST
from worker.nnue.attack_network import OUTPUT_SHIFT, SHAPES, AttackNetwork
from worker.nnue.format import NetworkFile
from worker.nnue.network import DEFAULT_FV_SCALE

PASSES: Final = 8
"""Over the positions."""
_RATE: Final = 3e-3
_DECAY: Final = 0.1
_BATCH: Final = 8192
_SAMPLE: Final = 200_000
"""Positions whose inputs are looked at for mean and spread."""
_LEAST_SPREAD: Final = 0.3
_WEIGHT: Final = 64
"""An integer weight of a hidden layer that stands for 1."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fit:
    """A network with its attack network, and its loss in other positions: mean of -p log q - (1 - p) log(1 - q), in
    nats; p is the score's chance."""

    network: NetworkFile
    before: float
    after: float


class _Net(torch.nn.Module):
    """The attack network in floating point: activations from 0 to 1, the output in logistic units.

    It learns with inputs of equal spread: rare ones would hardly learn otherwise.
    """

    def __init__(self, inputs: Tensor, output_unit: float, seed: int) -> None:
        """``inputs``: uint8 [n, `INPUTS`], whose mean and spread count."""
        super().__init__()
        some = inputs[:: max(1, len(inputs) // _SAMPLE)].float() / MOST
        self.mean, self.spread = some.mean(0), some.std(0, correction=0) + _LEAST_SPREAD
        torch.manual_seed(seed)
        first, second, last = (torch.nn.Linear(inputs, outputs) for outputs, inputs in SHAPES)
        torch.nn.init.zeros_(last.weight)
        torch.nn.init.zeros_(last.bias)
        with torch.no_grad():
            first.weight *= (some > 0).any(0)
        self.hidden = torch.nn.Sequential(first, torch.nn.Hardtanh(0, 1), second, torch.nn.Hardtanh(0, 1))
        self.last = last
        self.units = ((first, float(_WEIGHT)), (second, float(_WEIGHT)), (last, output_unit))

    def forward(self, values: Tensor) -> Tensor:
        """[n] of inputs [n, `INPUTS`]."""
        found: Tensor = self.last(self.hidden((values - self.mean) / self.spread))[:, 0]
        return found

    @torch.no_grad()
    def clip(self) -> None:
        """Clip the weights to what 8 bits hold."""
        for number, (layer, unit) in enumerate(self.units):
            most = 127 / unit * (self.spread if number == 0 else torch.ones(1))
            layer.weight.clamp_(-most, most)

    @torch.no_grad()
    def rounded(self) -> AttackNetwork:
        """In integers. Sums are shifted right, which rounds down: with half a unit more they round to nearest."""
        biases, weights = [], []
        for number, (layer, unit) in enumerate(self.units):
            weight, bias = layer.weight.double(), layer.bias.double()
            if number == 0:
                weight = weight / self.spread
                bias = bias - weight @ self.mean.double()
            weights.append(np.rint(weight.numpy() * unit).astype(np.int8))
            half = _WEIGHT / 2 if number < 2 else (1 << OUTPUT_SHIFT) / 2
            biases.append(np.rint(bias.numpy() * unit * MOST + half).astype(np.int32))
        return AttackNetwork(tuple(biases), tuple(weights))


def fit(
    network: NetworkFile,
    training: Records,
    validation: Records,
    scale: float,
    *,
    score_share: float = 1.0,
    seed: int = 1,
    passes: int = PASSES,
    on_pass: Callable[[int, float], None] = lambda _number, _loss: None,
) -> Fit:
    """The network with a new attack network, instead of the one that it has.

    Args:
        training, validation: positions with scores and results; the losses are those of the second.
        scale: centipawns per logistic unit.
        score_share: share of the score's chance in a label, 0 to 1; the rest is the game's result.
        on_pass: told the number of each pass that has ended and its mean loss.

    Raises:
        ValueError: there are too few positions.
    """
    if not len(training) or not len(validation):
        raise ValueError("the games have too few positions")
    plain = replace(network, attack_network=None)
    fv_scale = network.architecture.fv_scale or DEFAULT_FV_SCALE
    raw = evaluator_raw(plain, training)
    inputs = torch.from_numpy(attack_inputs(training, raw))
    own = torch.from_numpy((raw / (scale * fv_scale)).astype(np.float32))
    wanted = torch.from_numpy(_labels(training, scale, score_share).astype(np.float32))
    # Raw units of the output before its shift, for an activation of 1, over the 127 that stand for it.
    unit = scale * fv_scale * (1 << OUTPUT_SHIFT) / MOST
    net = _Net(inputs, unit, seed)
    with learning_threads(1, torch.device("cpu")):  # more would wait for each other at products this small
        _train(net, inputs, own, wanted, passes, torch.Generator().manual_seed(seed), on_pass)
    better = replace(network, attack_network=net.rounded())
    chances = _chances(validation, scale)
    before, after = (_loss(chances, evaluations(one, validation) / scale) for one in (plain, better))
    return Fit(better, before, after)


def _train(
    net: _Net,
    inputs: Tensor,
    own: Tensor,
    wanted: Tensor,
    passes: int,
    generator: torch.Generator,
    on_pass: Callable[[int, float], None],
) -> None:
    """Train with all positions, ``passes`` times.

    Args:
        inputs: uint8 [n, `INPUTS`].
        own: float32 [n], the evaluations of the network beside it in logistic units.
        wanted: float32 [n], chances.
    """
    optimizer = torch.optim.AdamW(net.parameters(), lr=_RATE, weight_decay=_DECAY)
    size = min(_BATCH, len(inputs))
    batches = len(inputs) // size
    for number in range(passes):
        order, total = torch.randperm(len(inputs), generator=generator), 0.0
        for batch in range(batches):
            optimizer.param_groups[0]["lr"] = _RATE * (1 - (number * batches + batch) / (passes * batches))
            chosen = order[batch * size : (batch + 1) * size]
            found = own[chosen] + net(inputs[chosen].float() / MOST)
            loss = functional.binary_cross_entropy_with_logits(found, wanted[chosen])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            net.clip()
            total += loss.item()
        on_pass(number + 1, total / batches)


def _chances(records: Records, scale: float) -> Any:
    return winning_chances(records["score"].astype(np.float64), scale)


def _labels(records: Records, scale: float, score_share: float) -> Floats:
    """Chances from 0 to 1; a result of the game is -1, 0 or 1."""
    results = (records["result"].astype(np.float64) + 1) / 2
    labels: Floats = score_share * _chances(records, scale) + (1 - score_share) * results
    return labels


def _loss(wanted: Floats, values: Floats) -> float:
    return float(np.mean(np.logaddexp(0, values) - wanted * values))

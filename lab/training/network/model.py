"""The net being trained: its forward pass in floating point, or with the evaluator's integers, and its gradients.

Both are computed in the evaluator's units, in which an activation of 1 is 127: whole numbers of this size are exact in
float32, so that a pass with rounded weights gives the evaluator's output to the last bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from lab.training.batches import Batch, batches_of
from lab.training.corpus import Records
from lab.training.features import factors, row_tables
from lab.training.kernels import add_slopes, sum_rows
from lab.training.net_facts import evaluator_raw
from lab.training.network.stacks import stacked_output, stacks_of
from lab.training.weights import (
    FACTOR_LIMIT,
    HALF_STEP,
    LAYER_ONE,
    LIMITS,
    ONE,
    OUTPUT_ONE,
    SCALES,
    AnyFile,
    FloatNet,
    Shape,
    limits_of,
)
from worker.nnue.sfnn.architecture import SfnnArchitecture

FACTOR: Final = "factor"
_ERROR_BATCH: Final = 4096
_COLUMNS: Final = 16
"""Minimum number of gradient columns per thread: a cache line."""


class SparseSums:
    """The clipped sums of rows on the CPU, by compiled loops in threads."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, "sums") if threads > 1 else None

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def __call__(self, weight: Tensor, bias: Tensor, batch: Batch, top: float) -> Tensor:
        """Sums of rows plus bias, clipped to 0 … top: float32 [n][2 * width], the side to move's first."""
        return _Sums.apply(weight, bias, self, batch, top)  # type: ignore[no-any-return,no-untyped-call,unused-ignore]

    def forward(self, weight: Any, bias: Any, batch: Batch, top: float) -> Any:
        """The sums; numpy arrays in and out."""
        width = weight.shape[1]
        out = np.empty((len(batch), 2 * width), np.float32)

        def work(part: tuple[int, int, int]) -> None:
            side, first, last = part
            rows = batch.enemy if side else batch.own
            sum_rows(weight, bias, rows, out, side * width, np.float32(top), first, last)

        edges = [len(batch) * place // self._threads for place in range(self._threads + 1)]
        self._each(work, [(side, *edge) for side in range(2) for edge in itertools.pairwise(edges)])
        return out

    def backward(self, shape: tuple[int, int], batch: Batch, out: Any, slopes: Any, top: float) -> tuple[Any, Any]:
        """The gradients of weight and bias."""
        weight, bias = np.zeros(shape, np.float32), np.zeros(shape[1], np.float32)
        width = shape[1]

        def work(part: tuple[int, int]) -> None:
            for side, rows in enumerate((batch.own, batch.enemy)):
                add_slopes(rows, out, slopes, side * width, np.float32(top), weight, bias, *part)

        # Separate columns for each thread, in whole cache lines.
        lines = max(1, width // _COLUMNS)
        count = min(self._threads, lines)
        edges = [lines * place // count * _COLUMNS for place in range(count)] + [width]
        self._each(work, list(itertools.pairwise(edges)))
        return weight, bias

    def _each(self, work: Callable[[Any], None], parts: list[Any]) -> None:
        if self._pool is None:
            for part in parts:
                work(part)
        else:
            list(self._pool.map(work, parts))


class _Sums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor, sums: SparseSums, batch: Batch, top: float) -> Tensor:
        out = torch.from_numpy(sums.forward(weight.detach().numpy(), bias.detach().numpy(), batch, top))
        ctx.save_for_backward(out)
        ctx.how = (tuple(weight.shape), sums, batch, top)
        return out

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> Any:
        (out,) = ctx.saved_tensors
        shape, sums, batch, top = ctx.how
        weight, bias = sums.backward(shape, batch, out.numpy(), slopes[0].contiguous().numpy(), top)
        return torch.from_numpy(weight), torch.from_numpy(bias), None, None, None


_DENSE_ROWS: Final = 4096
"""Number of rows up to which a GPU multiplies by a matrix of zeros and ones, whose gradients need no atomic additions.
Beyond it, a bag of embeddings is faster."""


def device_sums(weight: Tensor, bias: Tensor, batch: Batch, top: float) -> Tensor:
    """The same by torch's own operations, on any device."""
    features, width = weight.shape
    sides = [torch.as_tensor(rows, device=weight.device) for rows in (batch.own, batch.enemy)]
    if features <= _DENSE_ROWS:
        rows = torch.stack(sides, 1).reshape(2 * len(batch), -1).long()
        inputs = torch.zeros((len(rows), features), device=weight.device).scatter_(1, rows, 1.0)
        sums = (inputs @ weight).reshape(len(batch), 2 * width)
    else:
        parts = [functional.embedding_bag(side, weight, mode="sum") for side in sides]
        sums = torch.stack(parts, 1).reshape(len(batch), 2 * width)
    return (sums + bias.repeat(2)).clamp(0, top)


def _rounded(value: Tensor) -> Tensor:
    """Rounded to whole numbers; the gradient passes through unchanged."""
    return value + (value.round() - value).detach()


def _floored(value: Tensor) -> Tensor:
    return value + (value.floor() - value).detach()


class Model:
    """Trainable weights as tensors.

    Attributes:
        architecture: the shape.
        parameters: by name (`lab.training.weights.FloatNet`), and ``factor`` if rows share weights.
    """

    def __init__(self, net: FloatNet, architecture: Shape, *, factorise: bool, device: str, threads: int) -> None:
        """Start from a net.

        Args:
            factorise: whether rows share weights (`lab.training.features.factors`).
            device: of torch.
            threads: number of threads that add up rows, on a CPU.
        """
        self.architecture = architecture
        self.device = torch.device(device)
        self._sums = SparseSums(threads) if self.device.type == "cpu" else None
        arrays = dict(net.by_name())
        limits = limits_of(architecture)
        self._limits = {name: max(limits[name], float(np.abs(values).max())) for name, values in arrays.items()}
        for name in ("weight1", "weight2", "weight3"):
            self._limits[name] = LIMITS[name]
        self._factors: Tensor | None = None
        if factorise:
            groups = factors(architecture.features)
            arrays[FACTOR] = np.zeros((int(groups.max()) + 1, architecture.width), np.float32)
            self._limits[FACTOR] = FACTOR_LIMIT
            self._factors = torch.from_numpy(groups).to(self.device)
        self.parameters = {
            name: torch.from_numpy(np.array(values, np.float32)).to(self.device).requires_grad_()
            for name, values in arrays.items()
        }

    def close(self) -> None:
        """End its threads."""
        if self._sums is not None:
            self._sums.close()

    def output(self, batch: Batch, *, quantised: bool) -> Tensor:
        """The net's output for positions, float32 [n]; 1 is `OUTPUT_ONE` raw.

        Args:
            quantised: compute as the evaluator does, with its integers; gradients pass through the roundings.
        """

        def scaled(name: str, value: Tensor | None = None) -> Tensor:
            product = (self.parameters[name] if value is None else value) * SCALES[name]
            return _rounded(product) if quantised else product

        def activated(total: Tensor) -> Tensor:
            if quantised:
                return _floored((total + HALF_STEP) / LAYER_ONE).clamp(0, ONE)
            return (total / LAYER_ONE).clamp(0, ONE)

        weight, bias = scaled("transformer_weight", self._rows()), scaled("transformer_bias")
        if self._sums is not None:
            values = self._sums(weight, bias, batch, float(ONE))
        else:
            values = device_sums(weight, bias, batch, float(ONE))
        if isinstance(self.architecture, SfnnArchitecture):
            stacks = stacks_of(batch, self.architecture, self.device)
            raw = stacked_output(values, scaled, activated, stacks, self.architecture, quantised=quantised)
            return raw / OUTPUT_ONE
        for layer in ("1", "2"):
            values = activated(functional.linear(values, scaled(f"weight{layer}"), scaled(f"bias{layer}")))
        return functional.linear(values, scaled("weight3"), scaled("bias3")).squeeze(1) / OUTPUT_ONE

    def _rows(self) -> Tensor:
        own = self.parameters["transformer_weight"]
        if self._factors is None:
            return own
        return own + self.parameters[FACTOR].index_select(0, self._factors)

    def clip(self) -> None:
        """Clip weights to the limits of the integers."""
        with torch.no_grad():
            for name, value in self.parameters.items():
                value.clamp_(-self._limits[name], self._limits[name])

    def net(self) -> FloatNet:
        """The current weights; factors are added to their rows."""
        with torch.no_grad():
            found = {name: value.detach().cpu().numpy().copy() for name, value in self.parameters.items()}
            found.pop(FACTOR, None)
            found["transformer_weight"] = self._rows().detach().cpu().numpy().copy()
        return FloatNet(**found)


def rounding_error(net: FloatNet, network: AnyFile, records: Records, fv_scale: int) -> float:
    """The root mean square of the change by a network's integers over positions, in centipawns.

    Args:
        net: the same network in floating point.
    """
    model = Model(net, network.architecture, factorise=False, device="cpu", threads=1)
    tables = row_tables(network.architecture.features)
    with torch.no_grad():
        parts = [model.output(batch, quantised=False).numpy() for batch in batches_of(tables, records, _ERROR_BATCH)]
    exact = np.concatenate(parts).astype(np.float64) * OUTPUT_ONE
    return float(np.sqrt(np.mean(((evaluator_raw(network, records) - exact) / fv_scale) ** 2)))


@contextmanager
def learning_threads(threads: int, device: torch.device) -> Iterator[None]:
    """Have torch compute with this number of threads on the CPU.

    CPU products have full precision. On a GPU their factors have 11 bits (TF32), which hold the evaluator's integers
    exactly: its weights are below 2^11.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision("highest" if device.type == "cpu" else "high")
    try:
        yield
    finally:
        torch.set_num_threads(before)


def find_device(name: str) -> str:
    """The device with a name; ``auto``: the GPU if there is one.

    Raises:
        ValueError: it is not a device, or not available.
    """
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        kind = torch.device(name).type
    except RuntimeError:
        kind = ""
    if kind not in ("cpu", "cuda"):
        raise ValueError(f"device is {name}: expected cpu, cuda, cuda:N or auto")
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device is {name}: PyTorch {torch.__version__} sees no GPU here")
    return name

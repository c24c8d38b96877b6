"""Facts about a network: sizes, ranges of its weights, and its evaluation of records."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from lab.training.corpus import Records
from lab.training.kernels import evaluate_records, piece_codes
from lab.training.weights import LAYERS, AnyFile
from worker.nnue import Network, NnueState
from worker.nnue.attack_network import SHAPES
from worker.nnue.network import DEFAULT_FV_SCALE
from worker.nnue.sfnn.architecture import SfnnArchitecture
from worker.nnue.sfnn.file import SfnnFile
from worker.nnue.shape import read_head
from worker.shogi.state import new_record


def file_facts(network: AnyFile, data: bytes, fv_scale: int | None = None) -> dict[str, Any]:
    """The content of the file, as plain values.

    Args:
        data: the file's bytes.
        fv_scale: the scale stored next to the file, if there is one.
    """
    arch = network.architecture
    layers = [_layer(LAYERS[0], network.transformer_weight, network.transformer_bias)]
    for name, weight, bias in zip(LAYERS[1:], network.weights, network.biases, strict=True):
        layers.append(_layer(name, weight, bias))
    attack_network = None
    if not isinstance(network, SfnnFile) and network.attack_network is not None:
        attack_network = [inputs for _, inputs in SHAPES] + [1]
    return {
        "name": arch.name,
        "architecture": arch.header if isinstance(arch, SfnnArchitecture) else str(arch),
        "header": read_head(data, "").text.partition(",attacks=")[0],
        "attack_network": attack_network,
        "features": arch.inputs.name if isinstance(arch, SfnnArchitecture) else arch.features.name,
        "inputs": len(network.transformer_weight),
        "unused_inputs": int(np.count_nonzero(~network.transformer_weight.any(axis=1))),
        "width": arch.width,
        "hidden": [arch.hidden1, arch.hidden2],
        "stacks": arch.stacks.count if isinstance(arch, SfnnArchitecture) else 1,
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "parameters": sum(layer["weights"] + layer["biases"] for layer in layers),
        "fv_scale": fv_scale or arch.fv_scale or DEFAULT_FV_SCALE,
        "fv_scale_from": "beside the file" if fv_scale else "the file" if arch.fv_scale else "nobody",
        "layers": layers,
    }


def facts_text(facts: dict[str, Any]) -> str:
    """The facts of a file as a table."""
    named = " (neither the file nor one beside it names any)" if facts["fv_scale_from"] == "nobody" else ""
    head = [
        ("file", f"{facts['file']}, {facts['bytes']:,} bytes"),
        ("sha256", facts["sha256"]),
        ("architecture", f"{facts['name']}: {facts['architecture']}"),
        *([("its header says", facts["header"])] if facts["header"] != facts["architecture"] else []),
        ("parameters", f"{facts['parameters']:,}"),
        ("inputs", f"{facts['inputs']:,}, {facts['unused_inputs']:,} of them with no weight"),
        ("attack network", " -> ".join(map(str, facts["attack_network"] or ["none"]))),
        ("raw to a centipawn", f"{facts['fv_scale']}{named}"),
    ]
    wide = max(len(name) for name, _ in head)
    lines = [f"{name:{wide}}  {value}" for name, value in head]
    if facts["stacks"] > 1:
        lines.append(f"{'stacks':{wide}}  {facts['stacks']:,}, together below")
    lines.append(f"\n{'layer':20}{'shape':>12}{'weights':>16}{'deviation':>11}{'zeros':>8}{'at ends':>9}{'biases':>18}")
    for layer in facts["layers"]:
        shape = f"{layer['outputs']}<-{layer['inputs']}"
        weights = f"{layer['least']}..{layer['most']}"
        biases = f"{layer['bias_least']}..{layer['bias_most']}"
        lines.append(
            f"{layer['name']:20}{shape:>12}{weights:>16}{layer['deviation']:>11.1f}{layer['zeros']:>8.1%}"
            f"{layer['at_the_ends']:>9.2%}{biases:>18}"
        )
    return "\n".join(lines)


def _layer(name: str, weight: npt.NDArray[Any], bias: npt.NDArray[Any]) -> dict[str, Any]:
    info = np.iinfo(weight.dtype)
    ends = np.count_nonzero((weight >= info.max) | (weight <= -info.max))
    return {
        "name": name,
        "inputs": int(weight.shape[-1] if name != LAYERS[0] else weight.shape[0]),
        "outputs": int(weight.shape[-2] if name != LAYERS[0] else weight.shape[1]),
        "weights": int(weight.size),
        "biases": int(bias.size),
        "type": str(weight.dtype),
        "least": int(weight.min()),
        "most": int(weight.max()),
        "deviation": float(weight.std()),
        "zeros": float(np.count_nonzero(weight == 0) / weight.size),
        "at_the_ends": float(ends / weight.size),
        "bias_least": int(bias.min()),
        "bias_most": int(bias.max()),
    }


def evaluator_raw(network: AnyFile, records: Records) -> npt.NDArray[np.int64]:
    """The raw output of the player's own evaluator for each record."""
    state = NnueState(Network(network))
    position = new_record()
    codes = piece_codes()
    out = np.zeros(len(records), np.int64)
    evaluate_records(position, state.record, records.ctypes.data, len(records), codes.ctypes.data, out.ctypes.data)
    return out

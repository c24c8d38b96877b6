"""The device that a net is trained on: the CPU, or a GPU that PyTorch sees."""

from __future__ import annotations

import torch


def find_device(name: str) -> str:
    """The device that a name stands for; ``auto``: the GPU where there is one.

    Raises:
        ValueError: it is none, or not here.
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

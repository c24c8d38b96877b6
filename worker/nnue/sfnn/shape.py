"""The architecture of an SFNN file, first from its bytes, then from its header.

Headers are not always true: `nnue-pytorch` and others write one text whatever the shape is. These are reliable: the
numbers in the packed feature transformer, the size of the file and the hash before each stack.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from worker.nnue.architecture import padded
from worker.nnue.features import PIECE_NUMBERS
from worker.nnue.sfnn.architecture import INPUTS, Input, SfnnArchitecture, inputs_of, is_sfnn_name, parse_sfnn_name
from worker.nnue.sfnn.stacks import StackRule, rules_with
from worker.shogi.pieces import SQUARES

NETWORK_HASH: Final = 0x6333718A
"""The hash before each stack."""
PROGRESS_HASH: Final = 0x6F50524F
PROGRESS_BYTES: Final = 8 + 4 * SQUARES * PIECE_NUMBERS
_HIDDEN1: Final = tuple(8 * n - shortcut for n in (1, 2, 3, 4, 6, 8, 16) for shortcut in (1, 0))
_HIDDEN2: Final = (8, 16, 24, 32, 48, 64, 96, 128)
"""Sizes of the hidden layers that are tried if the header's do not fit."""
_MAX_STACKS: Final = 1 << 20


@dataclass(frozen=True)
class Sections:
    """The parts of a file that describe its shape.

    Attributes:
        header: the architecture string.
        biases: numbers in the feature transformer's packed bias, 0 if it is not packed.
        weights: those in its packed weights.
        at: offset after the feature transformer if that is packed, else the offset of the transformer itself.
        data: the file.
    """

    header: str
    biases: int
    weights: int
    at: int
    data: bytes | mmap.mmap


def stack_bytes(arch: SfnnArchitecture) -> int:
    """Bytes of a stack in a file."""
    return 4 + sum(4 * outputs + outputs * padded(inputs) for outputs, inputs in arch.layers)


def find_shape(sections: Sections, said: SfnnArchitecture | None, *, outside: bool) -> SfnnArchitecture:
    """The architecture of a file.

    Args:
        said: the shape that the user gave; it must fit the sizes.
        outside: there is a file with progress weights next to it.

    Raises:
        ValueError: nothing fits, or more than one does; the message lists what was read and what would fit.
    """
    if said is not None:
        if not _fits(sections, said):
            raise ValueError(f"the file is no {said}: {_facts(sections)}")
        return said
    named = _named(sections.header)
    if named is not None and _fits(sections, named):
        return _beside(named, outside)
    possible = [arch for arch in _possible(sections, named) if _fits(sections, arch)]
    possible = [arch for arch in possible if arch.shortcut is _pads_for_a_shortcut(sections, arch)]
    if len(possible) > 1:
        possible = [arch for arch in possible if str(arch.stacks) == "k3k3"] or possible
    if not possible:
        raise ValueError(f"no known SFNN shape fits: {_facts(sections)}; known features: {', '.join(INPUTS)}")
    if len(possible) > 1:
        names = ", ".join(map(str, possible[:8])) + (f" and {len(possible) - 8} more" if len(possible) > 8 else "")
        raise ValueError(f"more than one shape fits, name one (EvalArchitecture, --architecture): {names}")
    return _beside(possible[0], outside)


def _beside(arch: SfnnArchitecture, outside: bool) -> SfnnArchitecture:
    """Nine stacks are classes of progress if progress weights stand next to the file."""
    if outside and str(arch.stacks) == "k3k3":
        return replace(arch, stacks=StackRule(progress=8, outside=True))
    return arch


def _facts(sections: Sections) -> str:
    rest = len(sections.data) - sections.at
    packed = f"{sections.biases} biases and {sections.weights} weights in the feature transformer, "
    return f"header {sections.header[:200]!r}, {packed if sections.biases else ''}{rest} bytes after it"


def _named(header: str) -> SfnnArchitecture | None:
    """The shape that the header describes, if it describes a complete one."""
    network = re.search(r"Network=([A-Za-z0-9_\-]+)", header)
    if network is None or not is_sfnn_name(network[1]):
        return None
    try:
        return parse_sfnn_name(network[1])
    except ValueError:
        return None


def _transformer(sections: Sections) -> tuple[Input, int] | None:
    """The input features and the width, from the packed transformer or, if it is not packed, the header."""
    if sections.biases:
        inputs = inputs_of(sections.weights // sections.biases)
        return None if inputs is None or sections.weights % sections.biases else (inputs, sections.biases)
    found = re.search(r"\[(\d{1,7})->(\d{1,5})x2\]", sections.header)
    inputs = inputs_of(int(found[1])) if found else None
    return None if found is None or inputs is None else (inputs, int(found[2]))


def _fits(sections: Sections, arch: SfnnArchitecture) -> bool:
    """Whether the file has exactly the numbers and bytes of a shape, and hashes where its stacks begin."""
    if sections.biases and (sections.biases, sections.weights) != (arch.width, arch.inputs.rows * arch.width):
        return False
    size = stack_bytes(arch)
    if _stacks_at(sections, arch) + arch.stacks.count * size != len(sections.data):
        return False
    hashes = np.ascontiguousarray(_stacks(sections, arch)[:, :4]).view("<u4")
    return bool((hashes == NETWORK_HASH).all())


def _stacks_at(sections: Sections, arch: SfnnArchitecture) -> int:
    transformer = 0 if sections.biases else 2 * arch.width * (1 + arch.inputs.rows)
    return sections.at + transformer + (PROGRESS_BYTES if arch.has_progress else 0)


def _stacks(sections: Sections, arch: SfnnArchitecture) -> npt.NDArray[np.uint8]:
    """The bytes of the stacks, [stacks, bytes]."""
    after = np.frombuffer(sections.data, np.uint8, offset=_stacks_at(sections, arch))
    return after.reshape(arch.stacks.count, stack_bytes(arch))


def _pads_for_a_shortcut(sections: Sections, arch: SfnnArchitecture) -> bool:
    """Whether the second layer has zeros in the two extra weights that 8n sums would have, compared to 8n - 1. Both
    take the same number of bytes."""
    (sums, width), (hidden2, inputs), _ = arch.layers
    before = 4 + sums * (4 + padded(width)) + 4 * hidden2
    weights = _stacks(sections, arch)[:, before : before + hidden2 * padded(inputs)]
    return not weights.reshape(arch.stacks.count, hidden2, -1)[:, :, 2 * sums - 2 : 2 * sums].any()


def _possible(sections: Sections, named: SfnnArchitecture | None) -> Iterator[SfnnArchitecture]:
    """Shapes whose sizes may fit."""
    transformer = _transformer(sections)
    if transformer is None:
        return
    inputs, width = transformer
    start = sections.at + (0 if sections.biases else 2 * width * (1 + inputs.rows))
    told = [named.stacks] if named is not None else []
    for hidden1 in _HIDDEN1:
        for hidden2 in _HIDDEN2:
            try:
                one = SfnnArchitecture(inputs, width, hidden1, hidden2, StackRule())
            except ValueError:
                continue
            size = stack_bytes(one)
            counts = {
                rest // size
                for before in (0, PROGRESS_BYTES)
                if (rest := len(sections.data) - start - before) > 0
                and rest % size == 0
                and rest // size <= _MAX_STACKS
            }
            fitting = [rule for count in counts for rule in rules_with(count)]
            # The header's stack rule holds if it fits.
            for rule in [rule for rule in told if rule in fitting] or fitting:
                yield replace(one, stacks=rule)

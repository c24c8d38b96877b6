"""A larger network that begins as a copy of a smaller one: it evaluates every position the same, to the last bit.

New units get random input weights, and output weights of 0. (Net2Net of Chen, Goodfellow and Shlens, 2016, halves the
weights of a unit and its copy, which integers cannot do.) So nothing changes until training gives them weight, and no
two of them are alike.

Rows are matched by the piece and the kings that they represent: K+P has the same row for a piece under every own king.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lab.selfplay.walk import PIECES
from lab.training.features import row_tables
from lab.training.weights import AnyFile, Shape, random_net, to_file
from worker.nnue.features import K_P, PIECE_NUMBERS, FeatureSet, KingRule
from worker.nnue.format import NetworkFile
from worker.nnue.sfnn.architecture import SfnnArchitecture
from worker.nnue.sfnn.file import SfnnFile
from worker.shogi.pieces import SQUARES

_MIRRORED: Final = 1 << 63
_OWN_KING, _ENEMY_KING = PIECE_NUMBERS, PIECE_NUMBERS + SQUARES
_HOME: Final = [square for square in range(SQUARES) if square % 9 < 2]
"""Squares on which an enemy king mostly stands: his two first ranks."""


class WidenError(ValueError):
    """A network cannot begin as a copy of another one; the text gives the reason."""


def widen(network: AnyFile, architecture: Shape, seed: int) -> AnyFile:
    """A network of ``architecture`` that evaluates as ``network`` does, or nearly so (`is_exact`).

    Args:
        seed: seed of the weights of new units.

    Raises:
        WidenError: it is smaller, or its features carry less information than those of ``network``.
    """
    old = network.architecture
    if isinstance(old, SfnnArchitecture) is not isinstance(architecture, SfnnArchitecture):
        raise WidenError(f"{old.name} cannot become {architecture.name}: they are of different families")
    for name in ("width", "hidden1", "hidden2"):
        if getattr(architecture, name) < getattr(old, name):
            raise WidenError(f"its {name} is {getattr(old, name)}, not {getattr(architecture, name)}: it only grows")
    parts = _places(old, architecture)
    fresh = to_file(random_net(architecture, seed), architecture)
    weight, bias = np.array(fresh.transformer_weight), np.array(fresh.transformer_bias)
    weight[:, parts[0]], bias[parts[0]] = _transformer(network, architecture.features)
    weight[architecture.features.zero_rows] = 0
    weights, biases = [], []
    for layer, (own, small) in enumerate(zip(fresh.weights, network.weights, strict=True)):
        outputs, inputs = parts[2 * layer + 1 : 2 * layer + 3]
        whole, offsets = np.array(own), np.array(fresh.biases[layer])
        # The last two axes; an SFNN network's stacks stand before them, and all begin as the only one of a smaller net.
        whole[..., outputs, :] = 0
        whole[..., outputs[:, None], inputs] = small
        offsets[..., outputs] = network.biases[layer]
        weights.append(whole)
        biases.append(offsets)
    whole_file: Any = SfnnFile if isinstance(architecture, SfnnArchitecture) else NetworkFile
    grown: AnyFile = whole_file(
        replace(architecture, fv_scale=old.fv_scale), bias, weight, tuple(biases), tuple(weights)
    )
    return grown


def _places(old: Shape, new: Shape) -> tuple[npt.NDArray[np.int64], ...]:
    """The places of the old network's units in the new one: in the transformer, then outputs and inputs of each layer.

    Raises:
        WidenError: the stacks of SFNN networks differ, or only one of them has the shortcut.
    """
    hidden1, hidden2, last = (np.arange(count) for count in (old.hidden1, old.hidden2, 1))
    if isinstance(old, SfnnArchitecture) and isinstance(new, SfnnArchitecture):
        if old.shortcut is not new.shortcut or (old.stacks != new.stacks and old.stacks.count > 1):
            raise WidenError(f"{old} cannot become {new}: the shortcut and the stacks stay, or one stack becomes many")
        half, new_half = old.width // 2, new.width // 2
        transformer = np.r_[:half, new_half : new_half + half]
        sums = np.append(hidden1, new.hidden1) if old.shortcut else hidden1
        return transformer, sums, transformer, hidden2, np.r_[hidden1, new.hidden1 + hidden1], last, hidden2
    return (
        np.arange(old.width), hidden1, np.r_[: old.width, new.width : new.width + old.width], hidden2, hidden1,
        last, hidden2,
    )  # fmt: skip


def is_exact(old: FeatureSet, new: FeatureSet) -> bool:
    """Whether rows of ``new`` can represent those of ``old``, including the kings."""
    return new.king_planes > 0 or old.king_planes == 0


def _transformer(network: AnyFile, features: FeatureSet) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int16]]:
    """Weights and bias of the old units for rows of ``features``: int16 [dimensions, width] and [width]."""
    old, weight, bias = network.architecture.features, network.transformer_weight, network.transformer_bias
    if old is features:
        return weight, bias
    if (
        KingRule.RELATIVE in (old.king_rule, features.king_rule)
        or features.king_rule is KingRule.NOTHING
        or (features.king_rule is KingRule.MIRRORED and old.king_rule is not KingRule.MIRRORED)
        or not (is_exact(old, features) or old is K_P)
    ):
        raise WidenError(f"features {features.name} cannot stand for {old.name}")
    ours, theirs = row_tables(features), row_tables(old)
    found = np.zeros((features.dimensions, weight.shape[1]), np.int32)
    for king in range(SQUARES):
        block, plane = int(ours.blocks[king]) & ~_MIRRORED, ours.planes[int(ours.blocks[king]) >> 63]
        old_block, old_plane = int(theirs.blocks[king]) & ~_MIRRORED, theirs.planes[int(theirs.blocks[king]) >> 63]
        # A piece of either side, the own king here, the enemy's elsewhere. Number 0 is not a piece.
        numbers = np.r_[1:PIECE_NUMBERS, _OWN_KING + king, np.delete(np.arange(_ENEMY_KING, K_P.dimensions), king)]
        numbers = numbers[plane[numbers] > 0]
        told = old_plane[numbers] > 0
        found[block + plane[numbers[told]]] = weight[old_block + old_plane[numbers[told]]]
        if not is_exact(old, features):
            found[block + plane[numbers]] += _shares(weight[_OWN_KING + king])
    if not is_exact(old, features):
        bias = bias + np.rint(weight[[_ENEMY_KING + square for square in _HOME]].mean(axis=0)).astype(np.int16)
    return found.astype(np.int16), bias


def _shares(row: npt.NDArray[np.int16]) -> npt.NDArray[np.int32]:
    """The share of each piece, without the kings, so that all together add one row."""
    return np.rint(row / (PIECES - 2)).astype(np.int32)

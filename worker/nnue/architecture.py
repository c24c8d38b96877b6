"""The shape of a classic network, and its usual names in computer shogi."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from worker.nnue.features import FEATURE_SETS, FeatureSet

INPUT_PADDING: Final = 32
"""In the file, the rows of a layer's weights are padded with zeros to a multiple of this."""
WIDTHS: Final = range(128, 4097, 128)
"""Widths of the feature transformer that the kernels compute."""
MOST_HIDDEN: Final = 1024

_MASK32: Final = 0xFFFFFFFF
_HASH_INPUT: Final = 0xEC42E90D
_HASH_AFFINE: Final = 0xCC03DAE4
_HASH_CLIPPED_RELU: Final = 0x538D24C7


class NetworkFileError(ValueError):
    """A file that is not a network this program can use. The message has the file, the offset and the expected
    content."""

    def __init__(self, file: str, offset: int, problem: str) -> None:
        super().__init__(f"{file}: byte {offset}: {problem}")


def padded(inputs: int) -> int:
    """The number of inputs of a layer in the file, which is also the number of weights in a row."""
    return -(-inputs // INPUT_PADDING) * INPUT_PADDING


@dataclass(frozen=True)
class Architecture:
    """The shape of a network: ``features -> width x 2 -> hidden1 -> hidden2 -> 1``.

    Attributes:
        fv_scale: the divisor of the output, if the file has it (some trainers write it), else None.
    """

    features: FeatureSet
    width: int
    hidden1: int
    hidden2: int
    fv_scale: int | None = None

    @property
    def layers(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """(outputs, inputs) of the three layers after the feature transformer."""
        return (self.hidden1, 2 * self.width), (self.hidden2, self.hidden1), (1, self.hidden2)

    def __str__(self) -> str:
        """The architecture string, as network files have it."""
        w, h1, h2 = 2 * self.width, self.hidden1, self.hidden2
        network = f"AffineTransform[{h1}<-{w}](InputSlice[{w}(0:{w})])"
        network = f"AffineTransform[{h2}<-{h1}](ClippedReLU[{h1}]({network}))"
        network = f"AffineTransform[1<-{h2}](ClippedReLU[{h2}]({network}))"
        scale = "" if self.fv_scale is None else f",fv_scale={self.fv_scale}"
        return f"Features={self.features.name}[{self.features.dimensions}->{self.width}x2],Network={network}{scale}"

    @property
    def name(self) -> str:
        """The short name, as in the names of YaneuraOu's editions: ``halfkp_1024x2-8-64``."""
        return f"{plain(self.features.name)}_{self.width}x2-{self.hidden1}-{self.hidden2}"

    @property
    def transformer_bytes(self) -> int:
        """Bytes of the feature transformer in the file, with its hash."""
        return 4 + 2 * self.width * (1 + self.features.dimensions)

    @property
    def layers_bytes(self) -> int:
        """Bytes of the three layers in the file, with their hash."""
        return 4 + sum(outputs * (4 + padded(inputs)) for outputs, inputs in self.layers)

    @property
    def transformer_hash(self) -> int:
        """The word before the feature transformer."""
        return self.features.hash ^ 2 * self.width

    @property
    def network_hash(self) -> int:
        """The word before the layers."""
        value = _HASH_INPUT ^ 2 * self.width
        for outputs, _ in self.layers:
            layer = (_HASH_AFFINE + outputs) & _MASK32
            layer ^= value >> 1 ^ (value << 31 & _MASK32)
            value = layer if outputs == 1 else (layer + _HASH_CLIPPED_RELU) & _MASK32
        return value


# ---- Names

_ALIASES: Final = {
    "halfka": "halfka1",
    "halfkasplit": "halfka1",
    "halfkamerged": "halfka2",
    "halfkahm": "halfkahm1",
    "halfkahmsplit": "halfkahm1",
    "halfkahmmerged": "halfkahm2",
}
"""Other names of feature sets in files and readmes, all in the form that `plain` returns."""
_NAME: Final = re.compile(r"(?:nnue[\W_]*)?(.*?)[\W_]*(\d{2,5})(?:x2)?[^0-9]+(\d{1,4})[^0-9]+(\d{1,4})", re.IGNORECASE)


def plain(name: str) -> str:
    """The name of a feature set in its simplest form: ``K+P``, ``K-P(Friend)`` and ``kp`` all become ``kp``."""
    return re.sub(r"[\W_]|friend", "", name.casefold())


def find_features(name: str, dimensions: int | None = None) -> FeatureSet | None:
    """The feature set with this name, in any spelling, or the only one with this number of features."""
    by_name = {plain(features.name): features for features in FEATURE_SETS.values()}
    by_size = {features.dimensions: features for features in FEATURE_SETS.values()}
    word = plain(name)
    return by_size.get(dimensions or 0) or by_name.get(_ALIASES.get(word, word))


def named(text: str) -> Architecture | None:
    """The architecture of a short name: ``halfkp_1024x2-8-64``, ``HalfKP 1024x2-8-64``, ``NNUE_kp_256x2_32_32``."""
    match = _NAME.fullmatch(text.strip())
    features = find_features(match[1]) if match else None
    if match is None or features is None:
        return None
    width, hidden1, hidden2 = (int(match[number]) for number in (2, 3, 4))
    if width not in WIDTHS or not 0 < hidden1 <= MOST_HIDDEN or not 0 < hidden2 <= MOST_HIDDEN:
        return None
    return Architecture(features, width, hidden1, hidden2)

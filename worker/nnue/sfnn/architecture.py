"""The shape of an SFNN network, its name and its header.

    rows of the features -> accumulator[width] of each side
      -> product of its two halves, clipped: width / 2 of each side
      -> one of several stacks (`worker.nnue.sfnn.stacks`):
           hidden1 sums (and one more, the shortcut) -> squared and clipped ones side by side, 2 * hidden1
           -> hidden2 -> 1, plus the shortcut

Source: YaneuraOu ``source/eval/nnue/architectures/README.md`` (read, not copied).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from worker.nnue.features import (
    HALF_KA1,
    HALF_KA2,
    HALF_KA_HM1,
    HALF_KA_HM2,
    HALF_KP,
    HALF_KP_VM,
    HALF_KPE9,
    K_A2,
    K_P,
    FeatureSet,
)
from worker.nnue.sfnn.stacks import StackRule, parse_stacks


@dataclass(frozen=True)
class Input:
    """The input features of an SFNN file.

    Attributes:
        key: the key in an architecture's name.
        name: the name in the file's header.
        rows: of the feature transformer in the file.
        features: the set.
    """

    key: str
    name: str
    rows: int
    features: FeatureSet


INPUTS: Final = {
    key: Input(key, features.name, features.dimensions, features)
    for key, features in {
        "halfka2": HALF_KA2,
        "halfkahm2": HALF_KA_HM2,
        "halfkp": HALF_KP,
        "halfkpvm": HALF_KP_VM,
        "kp": K_P,
        "halfka1": HALF_KA1,
        "halfkahm1": HALF_KA_HM1,
        "ka2": K_A2,
        "halfkpe9": HALF_KPE9,
    }.items()
}
"""The input features by key."""
_BY_ROWS: Final = {chosen.rows: chosen for chosen in INPUTS.values()}

MAX_WIDTH: Final = 16384
MAX_HIDDEN: Final = 256
_WIDTH_STEP: Final = 64
_SHARD_STEP: Final = 64


@dataclass(frozen=True)
class Sharing:
    """The inputs that the first layer's sums see. All sums see the first ``common`` inputs; each group of sums also
    sees its own ``shard`` of the rest. All other weights are ignored, whatever the file holds there."""

    common: int
    shard: int
    groups: int

    def __str__(self) -> str:
        """Its part of an architecture's name."""
        return f"c{self.common}_s{self.shard}x{self.groups}"


@dataclass(frozen=True)
class SfnnArchitecture:
    """The shape of a network.

    Attributes:
        inputs: the features.
        width: of an accumulator, and of both sides' products together.
        hidden1: sums of the first layer that are squared and clipped: 8n, or 8n - 1 with an additional shortcut.
        hidden2: sums of the second layer.
        stacks: the rule that selects a position's stack.
        sharing: None: every sum of the first layer sees every input.
        fv_scale: the divisor of the output, if the file has it.

    Raises (constructor):
        ValueError: sizes that do not fit together; the message names them.
    """

    inputs: Input
    width: int
    hidden1: int
    hidden2: int
    stacks: StackRule
    sharing: Sharing | None = None
    fv_scale: int | None = None

    def __post_init__(self) -> None:
        if not _WIDTH_STEP <= self.width <= MAX_WIDTH or self.width % _WIDTH_STEP:
            raise ValueError(f"width {self.width}: expected {_WIDTH_STEP}..{MAX_WIDTH} in steps of {_WIDTH_STEP}")
        if not 7 <= self.hidden1 <= MAX_HIDDEN or self.hidden1 % 8 not in (0, 7):
            raise ValueError(f"first hidden layer of {self.hidden1}: expected 8n or 8n - 1, 7..{MAX_HIDDEN}")
        if not 1 <= self.hidden2 <= MAX_HIDDEN:
            raise ValueError(f"second hidden layer of {self.hidden2}: expected 1..{MAX_HIDDEN}")
        share = self.sharing
        if share is not None:
            seen = share.common + share.shard * share.groups
            if seen != self.width or share.common % _SHARD_STEP or share.shard % _SHARD_STEP or share.groups < 2:
                raise ValueError(f"{share}: expected parts in steps of {_SHARD_STEP} that make the width, {self.width}")
            if self.sums % share.groups:
                raise ValueError(f"{share}: {self.sums} sums of the first layer do not make {share.groups} groups")

    @property
    def features(self) -> FeatureSet:
        """The features."""
        return self.inputs.features

    @property
    def shortcut(self) -> bool:
        """Whether the first layer has one more sum, which goes straight to the output."""
        return self.hidden1 % 8 == 7

    @property
    def sums(self) -> int:
        """Outputs of the first layer."""
        return self.hidden1 + self.shortcut

    @property
    def layers(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """(outputs, inputs) of the three layers of a stack."""
        return (self.sums, self.width), (self.hidden2, 2 * self.hidden1), (1, self.hidden2)

    @property
    def has_progress(self) -> bool:
        """Whether the file has a section with the weights of the progress."""
        return self.stacks.progress > 1 and not self.stacks.outside

    def __str__(self) -> str:
        """The name, as YaneuraOu names its editions: ``SFNN_halfka2_1024_7_64_k3k3``."""
        parts = (f"SFNN_{self.inputs.key}", self.width, self.hidden1, self.hidden2, self.sharing or "", self.stacks)
        return "_".join(text for part in parts if (text := str(part)))

    @property
    def name(self) -> str:
        """The same as `str`; see `worker.nnue.architecture.Architecture.name`."""
        return str(self)

    @property
    def header(self) -> str:
        """The architecture string of a file of this shape."""
        name = "SFNN-1536" if str(self) == "SFNN_halfkahm2_1536_15_32_k3k3" else str(self).upper()
        if self.stacks.outside:
            name = str(replace(self, stacks=StackRule(king="k3k3"))).upper()
        scale = "" if self.fv_scale is None else f",fv_scale={self.fv_scale}"
        return (
            f"ModelType=SFNNWithoutPsqt;Features={self.inputs.name}[{self.inputs.rows}->{self.width}x2],"
            f"Network={name}{{LayerStack={self.stacks.count}}}{scale}"
        )


_NAME: Final = re.compile(
    r"(?:yaneuraou_engine_)?(?:nnue_)?sfnn_(?P<key>[a-z0-9]+)_(?P<width>\d{1,5})_(?P<h1>\d{1,3})_(?P<h2>\d{1,3})"
    r"(?:_c(?P<common>\d{1,5})_s(?P<shard>\d{1,5})x(?P<groups>\d{1,3}))?(?P<stacks>(?:_[a-z0-9]+)*)"
)
_OTHER_NAMES: Final = ("sfnn_1536", "sfnn1536", "sfnn_1536_v2", "yaneuraou_engine_sfnn1536")
"""Other names of the first network of the family, whose full name is `_FIRST`."""
_FIRST: Final = "sfnn_halfkahm2_1536_15_32_k3k3"


def is_sfnn_name(text: str) -> bool:
    """Whether an architecture's name is one of the SFNN family."""
    return re.match(r"(yaneuraou_engine_)?(nnue_)?sfnn", text.strip().lower().replace("-", "_")) is not None


def parse_sfnn_name(text: str) -> SfnnArchitecture:
    """Read a name as ``SFNN_halfka2_1024_7_64_hand16_k3k3``; case, and ``-`` or ``_``, do not matter.

    Raises:
        ValueError: it is not such a name; the message says what was expected.
    """
    name = text.strip().lower().replace("-", "_")
    found = _NAME.fullmatch(_FIRST if name in _OTHER_NAMES else name)
    if found is None:
        raise ValueError(f"architecture {text!r}: expected a name like SFNN_halfka2_1024_7_64_k3k3")
    inputs = INPUTS.get(found["key"].replace("_", ""))
    if inputs is None:
        raise ValueError(f"architecture {text!r}: unknown features {found['key']!r}, expected {', '.join(INPUTS)}")
    sharing = None
    if found["common"] is not None:
        sharing = Sharing(int(found["common"]), int(found["shard"]), int(found["groups"]))
    width, hidden1, hidden2 = int(found["width"]), int(found["h1"]), int(found["h2"])
    return SfnnArchitecture(inputs, width, hidden1, hidden2, parse_stacks(found["stacks"]), sharing)


def inputs_of(rows: int) -> Input | None:
    """The features with this number of rows in a file."""
    return _BY_ROWS.get(rows)

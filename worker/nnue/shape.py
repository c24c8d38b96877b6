"""The architecture of a network file, determined by its header, its size and its hashes together.

The header alone is not enough. Trainers derived from nnue-pytorch write one fixed text,
``Features=HalfKP(Friend)[125388->256x2],…AffineTransform[256<-512]…``, for any shape, but the size of the
file and the words before the transformer and the layers follow from the true shape. So every family of networks
(`FAMILIES`) lists the shapes whose files would have exactly this size, with the evidence for each. The user's choice
overrides all of it.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, Protocol

from worker.nnue.architecture import MOST_HIDDEN, WIDTHS, Architecture, NetworkFileError, find_features, named
from worker.nnue.features import FEATURE_SETS, FeatureSet

VERSION: Final = 0x7AF32F16
HEADER: Final = struct.Struct("<III")
WORD: Final = struct.Struct("<I")
_MAX_STRING: Final = 1 << 16
_FV_SCALES: Final = range(1, 129)
_USUAL_HIDDEN: Final = range(8, 129, 8)
"""Widths of hidden layers that are tried for a size if nothing else determines them."""
_SHOWN: Final = 60
"""Number of characters of the header that an error shows."""


@dataclass(frozen=True)
class Head:
    """The beginning of a network file, and other facts that determine its shape.

    Attributes:
        file: its name, for errors.
        data: all of its bytes.
        version: the first word.
        text: the architecture string.
        body: the first byte after it.
    """

    file: str
    data: bytes | mmap.mmap
    version: int
    text: str
    body: int

    def word(self, at: int) -> int | None:
        """The 32-bit word at a byte; None: the file ends before it."""
        return WORD.unpack_from(self.data, at)[0] if 0 <= at <= len(self.data) - WORD.size else None

    @property
    def fv_scale(self) -> int | None:
        """The FV_SCALE in the text; impossible numbers are ignored."""
        found = re.search(r"\bfv_scale=(\d{1,4})(?!\d)", self.text)
        return int(found[1]) if found and int(found[1]) in _FV_SCALES else None


@dataclass(frozen=True)
class Fit:
    """A shape whose file has this size.

    Attributes:
        hashes: the number of hashes in the file that match the shape.
        header: whether the architecture string describes it.
    """

    architecture: Architecture
    hashes: int
    header: bool


class Family(Protocol):
    """A kind of networks."""

    known: str
    """The shapes of this kind that Gougi reads, for errors."""

    def fits(self, head: Head, wanted: Architecture | None) -> Iterator[Fit]:
        """Every shape of this kind whose file would be as long as this one. ``wanted``: try only this shape."""
        ...

    def near(self, head: Head) -> Iterator[str]:
        """Shapes that the size would allow, or its difference from the header's: for the error if nothing fits."""
        ...


class Classic:
    """``features -> width x 2 -> hidden1 -> hidden2 -> 1``."""

    known = (
        f"features {', '.join(FEATURE_SETS)}; width {WIDTHS[0]} to {WIDTHS[-1]} in steps of {WIDTHS.step}; "
        f"hidden layers {_USUAL_HIDDEN[0]} to {_USUAL_HIDDEN[-1]} in steps of {_USUAL_HIDDEN.step}, "
        "or as the header says"
    )

    def fits(self, head: Head, wanted: Architecture | None) -> Iterator[Fit]:
        """See `Family.fits`."""
        if head.version != VERSION:
            return
        said = declared(head.text)
        for architecture in dict.fromkeys([wanted] if wanted else [*([said] if said else []), *self._of_size(head)]):
            if self._bytes(head, architecture) != len(head.data):
                continue
            layers_at = head.body + architecture.transformer_bytes
            hashes = (head.word(head.body) == architecture.transformer_hash) + (
                head.word(layers_at) == architecture.network_hash
            )
            yield Fit(architecture, hashes, architecture == said)

    def near(self, head: Head) -> Iterator[str]:
        """See `Family.near`."""
        said = declared(head.text)
        if said is not None:
            yield f"{said.name}, which the header describes, would have {self._bytes(head, said):,} bytes"
        for features, width, left in self._transformers(head):
            yield f"{features.name} {width}x2 would leave {left:,} bytes for the layers, which no known layers have"

    @staticmethod
    def _bytes(head: Head, architecture: Architecture) -> int:
        return head.body + architecture.transformer_bytes + architecture.layers_bytes

    @staticmethod
    def _transformers(head: Head) -> Iterator[tuple[FeatureSet, int, int]]:
        """Features and widths whose transformer leaves as many bytes as layers can take."""
        for features in FEATURE_SETS.values():
            for width in WIDTHS:
                largest = Architecture(features, width, _USUAL_HIDDEN[-1], _USUAL_HIDDEN[-1])
                left = len(head.data) - head.body - largest.transformer_bytes
                if 0 < left <= largest.layers_bytes:
                    yield features, width, left

    def _of_size(self, head: Head) -> Iterator[Architecture]:
        for features, width, left in self._transformers(head):
            for hidden1, hidden2 in product(_USUAL_HIDDEN, repeat=2):
                architecture = Architecture(features, width, hidden1, hidden2)
                if architecture.layers_bytes == left:
                    yield architecture


FAMILIES: Final[tuple[Family, ...]] = (Classic(),)
"""Kinds of networks whose size alone tells their shape. The SFNN family's is packed: see `worker.nnue.sfnn.shape`."""


def read_head(data: bytes | mmap.mmap, file: str) -> Head:
    """The beginning of a network file.

    Raises:
        NetworkFileError: it is not one, or ends too early.
    """
    if len(data) < HEADER.size:
        raise NetworkFileError(file, len(data), f"file ends inside the header: expected {HEADER.size} bytes")
    version, _, length = HEADER.unpack_from(data)
    if version != VERSION:
        raise NetworkFileError(file, 0, f"version word 0x{version:08X}, expected 0x{VERSION:08X}: no NNUE network file")
    if not 0 <= length <= _MAX_STRING:
        raise NetworkFileError(file, 8, f"architecture string of {length} bytes, expected at most {_MAX_STRING}")
    body = HEADER.size + length
    if len(data) < body:
        raise NetworkFileError(file, len(data), f"file ends inside the architecture string of {length} bytes")
    return Head(file, data, version, bytes(data[HEADER.size : body]).decode("ascii", "replace"), body)


PACKED: Final = b"COMPRESSED_LEB128"
"""The word before packed numbers (`worker.nnue.sfnn.leb128`), such as those of an SFNN transformer."""


def is_sfnn(head: Head) -> bool:
    """Whether a file has an SFNN network (`worker.nnue.sfnn`), judged by its header or its packed transformer."""
    after = head.body + WORD.size
    return "SFNN" in head.text.upper() or head.data[after : after + len(PACKED)] == PACKED


def declared(text: str) -> Architecture | None:
    """The classic shape that an architecture string describes; None: it does not describe one that Gougi knows."""
    features = re.search(r"Features=([^\[\],]{1,40})\[(\d{1,9})->(\d{1,5})(?:x2)?\]", text)
    layers = [
        (int(outputs), int(inputs))
        for outputs, inputs in re.findall(r"AffineTransform(?:SparseInput)?\[(\d{1,5})<-(\d{1,5})\]", text)
    ]
    if features is None or len(layers) != 3:
        return None
    (one, hidden2), (_, hidden1), (_, inputs) = layers
    found, width = find_features(features[1], int(features[2])), int(features[3])
    if found is None or width not in WIDTHS or not 0 < hidden1 <= MOST_HIDDEN or not 0 < hidden2 <= MOST_HIDDEN:
        return None
    shape = Architecture(found, width, hidden1, hidden2)
    return shape if one == 1 and inputs == 2 * width and layers == list(reversed(shape.layers)) else None


def choose(head: Head, wanted: str | None = None) -> Architecture:
    """The architecture of a file.

    Args:
        wanted: the name that the user gave (``halfkp_1024x2-8-64``); None or empty: none.

    Raises:
        NetworkFileError: no known shape fits, or two do, or the file does not have the shape that the user named.
    """
    named_one = named(wanted) if wanted else None
    if wanted and named_one is None:
        raise NetworkFileError(head.file, 0, f"architecture {wanted!r} is not known: expected {_known()}")
    fits = [fit for family in FAMILIES for fit in family.fits(head, named_one)]
    if not fits:
        raise NetworkFileError(head.file, head.body, _nothing_fits(head, named_one))
    best = max((fit.hashes, fit.header) for fit in fits)
    chosen = [fit.architecture for fit in fits if (fit.hashes, fit.header) == best]
    if len(chosen) > 1:
        names = ", ".join(architecture.name for architecture in chosen)
        raise NetworkFileError(
            head.file,
            head.body,
            f"its size fits {len(chosen)} architectures, and neither its header nor its hashes tell which: {names}. "
            "Name one (option EvalArchitecture, --architecture)",
        )
    return replace(chosen[0], fv_scale=head.fv_scale)


def _known() -> str:
    return "; ".join(family.known for family in FAMILIES)


def _nothing_fits(head: Head, wanted: Architecture | None) -> str:
    text = head.text if len(head.text) <= _SHOWN else f"{head.text[:_SHOWN]}…"
    parts = [f"no architecture that Gougi knows has a file of {len(head.data):,} bytes with the header {text!r}"]
    if wanted is not None:
        parts = [f"{wanted.name} does not fit its {len(head.data):,} bytes (header {text!r})"]
    parts += [line for family in FAMILIES for line in family.near(head)]
    return ". ".join([*parts, f"Known: {_known()}. The file may be cut off, or of another kind"])

"""A network in memory, arranged for the compiled evaluation. Read-only: any number of threads may share one.

Its neurons are in another order than in the file: those that are seldom active come first. The first layer skips each
group of four activations that are all 0 (`worker.nnue.vector`), and in a network's own order few groups are. In 1,474
game positions, 76 % of the fours of our network (generation 11) are not all 0, and 77 % of those of the K-P 256
reference network; in this order it is 70 and 67 %.
"""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from worker.jit.memory import aligned_zeros
from worker.nnue.architecture import Architecture
from worker.nnue.beside import PROGRESS_NAME, read_beside
from worker.nnue.features import FeatureSet, merged_rows, tables
from worker.nnue.format import NetworkFile, network_path, parse_network, read_file, serialise_network
from worker.nnue.kernels import kernels
from worker.nnue.reference import active_rows
from worker.nnue.sfnn import reference as sfnn_reference
from worker.nnue.sfnn.architecture import SfnnArchitecture
from worker.nnue.sfnn.file import PROGRESS_FILE_BYTES, SfnnFile, parse_sfnn, serialise_sfnn, sfnn_shape
from worker.nnue.sfnn.state import Stacks, in_halves, memory_width
from worker.nnue.shape import Head, choose, is_sfnn
from worker.nnue.shared import Fill, shared_rows
from worker.shogi import sfen
from worker.shogi.pieces import KING

_TYPICAL: Final = (
    "lns2g1nl/1r2g1kb1/p1ppsp1pp/1p2p1p2/9/1PP5P/PS1PPPPP1/1BG1G2R1/LN2K1SNL b - 21",
    "l5snl/1rgs1k3/n3ppgpp/p1pp2p2/9/PpPP5/1P2PPPPP/LGBS2K2/1N3GSNL b Br 33",
    "ln5n1/1r1s1gk1l/p1g1p1sp1/3pbpp1p/Ppp6/3P1PP1P/1P1GP+BSP1/1S1R2G2/LN4KNL b p 45",
    "ln1g3nl/3r1kgs1/1ppspp1p1/p5p1p/3p5/PPP1PP3/3SB1P1P/2GKGS1R1/LN5NL b Pbp 57",
    "1n3g1nl/l+S1g2k2/p4ppp1/1s2p3p/2bp5/P1g3PPP/2BPPPN2/1+p1S2S1L/LN3GK2 b R3Pr 69",
    "ln1g3+B1/1r1k1g3/p2ppp1p1/1pp5p/1L3s1P1/PPnS2pBP/3PP4/L1G4R1/1NK5L b SN2Pgsp 81",
    "l1B3skl/1r7/p1n3Sp1/2ppp1p1p/P2P3N1/2P3gPP/1P1GP4/LK3R3/1NSsb2NL b 4P2g 93",
    "+R5Gn1/4gg2l/2spb1sk1/4ppp1p/7P1/PPP3S2/L1NSPPP1P/2KP5/8+r b BNL3Pgnlp 105",
    "lns3snl/1rg2kgb1/1p1ppp1pp/p1p3p2/4P4/2P3P2/PP1P1PGPP/1BS2S1RL/LN1G1K1N1 b - 21",
    "ln2k2nl/3g1gsb1/p1psppppp/3p5/1r7/P5P2/1PBPP2PP/2GKGRS1L/LNS4N1 b P2p 33",
    "5gs2/l3g1kbl/2npsp1pp/prp3p2/1p2pP2P/P1PP2P2/1PBsP2P1/1R1N1GS1L/LN1G2KN1 b - 45",
    "ln1kg2nl/1rP1p1gs1/p1p+S1p1pp/3p2p2/7N1/P1s4PP/1P1PPPP2/2S1GG1R1/LN1K4L b Bbp 57",
    "l1+B4nl/4g1gk1/2ns3pp/prp1ppps1/2Pp4P/2gPPPP2/PP3S3/1SKG3R1/LN5NL b BPp 69",
    "1ng2k1nl/4g2s1/l1pspp3/p2p1Gppp/9/P1P1K4/1PNP4P/2S3+r1L/L1BG5 b RSPbn4p 81",
    "lns5+P/1r2k4/4g1gpp/p1ppppp2/1p3nL2/2PBP4/PP1Ps+p2P/1SGB3RL/LNK4N1 b GSP 93",
    "4Sg3/S1g4k1/2nn2np1/4Lpp2/b2PP3l/pP3PPPp/2NSB1g2/2G5P/1L1K3RL b R6Ps 105",
    "ln4gnl/1r1g1ksb1/1p1spp1pp/p1pp2p2/9/P1P1P4/1PSP1PPPP/1BG1G2RL/LN2K1SN1 b - 21",
    "ln1g1ksn1/6gbl/2ppp3p/p1s2ppR1/4P4/1rP6/P2P1PP1P/1BGS1S2L/LN2KG1N1 b 2P2p 33",
    "l6nl/1rg1kbgs1/n1p1pp1pp/4s1P2/pP1p2SP1/1pP3G1P/P1NPPPB2/2GS3R1/L2K3NL b P 45",
    "l1g3snl/+Rsgspk3/p1pp1g1pp/6p2/9/P4L3/3PPP1PP/4KS2R/+b3G2NL b N2Pbn3p 57",
    "1n4g1l/l3g1k2/p2p1pn1s/1r1sp1pPp/6b1L/P1PPPP1p1/1PG2SN2/1BKS1G1R1/LN7 b P3p 69",
    "lns5l/1r1sk1g2/2ppppnpp/pP1P2R2/6pB1/1pg1GP2P/P1N1P3N/1GSK1+b2L/L8 b 2Psp 81",
    "ln4sn1/2k6/1psp1p1p1/2s2g2P/p2Kp4/1LP1g4/PP1Pg1NPR/1B7/LN6L b RBGS3P3p 75",
    "7nl/6G+P1/p2g1p3/6pp1/P1P1kns1p/3gN4/3+R1PP1P/3GpKSR1/L2sL2NL b 2BS4P2p 105",
)
"""Positions from games of our searcher against itself, 8 to 92 moves after openings of 12 random moves."""


def by_activity(source: NetworkFile) -> npt.NDArray[np.intp]:
    """The neurons of the feature transformer [width], seldom active ones first, measured on typical positions."""
    active = np.zeros(source.architecture.width, np.int64)
    for rows in _typical_rows(source.architecture.features):
        active += source.transformer_bias + source.transformer_weight[rows].sum(axis=0, dtype=np.int64) > 0
    return np.argsort(active, kind="stable")


def _products_by_activity(source: SfnnFile) -> npt.NDArray[np.intp]:
    """The order of the products of an SFNN network [width / 2], by the same rule."""
    half = source.architecture.width // 2
    active = np.zeros(half, np.int64)
    for rows in _typical_rows(source.architecture.features):
        both = sfnn_reference.accumulator(source, rows).reshape(2, half) > 0
        active += both[0] & both[1]
    return np.argsort(active, kind="stable")


def _typical_rows(features: FeatureSet) -> Iterator[npt.NDArray[np.int64]]:
    """The active rows of both sides of each typical position, without compiled code: the start of an engine waits."""
    for text in _TYPICAL:
        setup = sfen.parse(text)
        board = np.array(setup.board)
        kings = [int(np.flatnonzero(board == (colour << 4 | KING))[0]) for colour in range(2)]
        for side in range(2):
            yield active_rows(features, side, board, setup.hands, kings)


def in_order(first: npt.NDArray[np.int8], order: npt.NDArray[np.intp]) -> npt.NDArray[np.int8]:
    """The first layer's weights, int8 [outputs, 2 * width], for neurons of the transformer in another order."""
    outputs, inputs = first.shape
    both: npt.NDArray[np.int8] = first.reshape(outputs, 2, inputs // 2)[:, :, order].reshape(outputs, inputs)
    return both


_ROWS_AT_ONCE: Final = 256
"""Number of rows that are reordered together, so that they fit into the cache."""
DEFAULT_FV_SCALE: Final = 16
"""Raw output per centipawn: the usual value in computer shogi. A network or its user may give another one."""


class Network:
    """Weights and feature tables in 64-byte aligned memory.

    Attributes:
        architecture: its shape.
        fv_scale: raw output per centipawn.
        name: its source, for logs.
        tables: of the features.
        transformer_bias: int16 [width].
        transformer_weight: int16 [rows, width].
        layers: bias and weights of the three layers; none for an SFNN network.
        attack_layers: the same of its attack network; none if it has none.
        stacks: the layers of such a network, else None.
    """

    transformer_bias: npt.NDArray[np.int16]
    transformer_weight: npt.NDArray[np.int16]

    def __init__(
        self,
        source: NetworkFile | SfnnFile,
        *,
        fv_scale: int | None = None,
        name: str = "network",
        digest: str | None = None,
    ) -> None:
        """Arrange the weights of a network file.

        Args:
            fv_scale: 1 or more; None: the file's value, else `DEFAULT_FV_SCALE`.
            digest: SHA-256 of the file, to share its rows with other processes (`worker.nnue.shared`); None: private.

        Raises:
            ValueError: ``fv_scale`` below 1.
        """
        arch = source.architecture
        if fv_scale is None:
            fv_scale = arch.fv_scale or DEFAULT_FV_SCALE
        if fv_scale < 1:
            raise ValueError(f"FV_SCALE is {fv_scale}, expected 1 or more")
        self.architecture: Final[Architecture | SfnnArchitecture] = arch
        self.fv_scale: Final = fv_scale
        self.name: Final = name
        self.tables: Final = tables(arch.features)
        self._digest = digest
        self.layers: tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], ...] = ()
        self.attack_layers: tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], ...] = ()
        self.stacks: Stacks | None = None
        if isinstance(source, SfnnFile):
            self._arrange_stacks(source)
        else:
            self._arrange_layers(source)

    def _arrange_layers(self, source: NetworkFile) -> None:
        features, width = source.architecture.features, source.architecture.width
        order = by_activity(source)
        rows = merged_rows(source.transformer_weight, features)

        def fill(into: npt.NDArray[np.int16]) -> None:
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                part = rows[start : start + _ROWS_AT_ONCE]
                # With "clip", which has nothing to clip here, numpy takes a tenth of the time that a plain index takes.
                np.take(part, order, axis=1, out=into[start : start + len(part)], mode="clip")

        self.transformer_bias = _aligned(source.transformer_bias[order])
        self.transformer_weight = self._rows(features, width, fill)
        source = replace(source, weights=(in_order(source.weights[0], order), *source.weights[1:]))
        self.layers = _arranged(source.biases, source.weights)
        if (attacks := source.attack_network) is not None:
            self.attack_layers = _arranged(attacks.biases, attacks.weights, put=True)

    def _arrange_stacks(self, source: SfnnFile) -> None:
        features, width = source.architecture.features, memory_width(source.architecture)
        order = _products_by_activity(source)
        # Doubled as YaneuraOu doubles them, so that accumulators wrap around as they do there.
        self.transformer_bias = _aligned(2 * in_halves(source.transformer_bias, width, order))

        def fill(into: npt.NDArray[np.int16]) -> None:
            rows = merged_rows(source.transformer_weight, features)
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                part = in_halves(rows[start : start + _ROWS_AT_ONCE], width, order)
                np.multiply(part, 2, out=into[start : start + len(part)])

        self.transformer_weight = self._rows(features, width, fill)
        self.stacks = Stacks(source, order)

    def _rows(self, features: FeatureSet, width: int, fill: Fill) -> npt.NDArray[np.int16]:
        """The transformer's weights in the kernels' order: shared with other processes, or private to this one."""

        def whole(into: npt.NDArray[np.int16]) -> None:
            fill(into)
            into[features.zero_rows] = 0

        shape = features.rows, width
        if self._digest is not None and (found := shared_rows(self._digest, shape, whole)) is not None:
            return found
        own = aligned_zeros(shape, np.int16)
        whole(own)
        return own

    def scaled(self, fv_scale: int) -> Network:
        """A network with the same weights, in the same memory, and another FV_SCALE."""
        other = copy.copy(self)
        object.__setattr__(other, "fv_scale", fv_scale)
        return other


def _arranged(
    biases: Sequence[npt.NDArray[np.int32]], weights: Sequence[npt.NDArray[np.int8]], *, put: bool = False
) -> tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], ...]:
    """Bias and weights of three layers in the kernels' order; ``put``: the inputs are not accumulators."""
    arranged = []
    for layer, (bias, weight) in enumerate(zip(biases, weights, strict=True)):
        found = kernels.arrange_layer(bias, weight, layer, put=put and layer == 0)
        arranged.append((_aligned(found[0]), _aligned(found[1])))
    return tuple(arranged)


def _aligned(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    copy = aligned_zeros(array.shape, array.dtype.newbyteorder("="))
    copy[...] = array
    return copy


DEFAULT_NETWORK: Final = "gougi.bin"
"""The network that comes with the package: the one that `gougi learn` promoted last (docs/nets.md)."""


def default_file() -> Path:
    """The file of the network that comes with the package."""
    return Path(__file__).parent / "data" / DEFAULT_NETWORK


def read_any(path: str | os.PathLike[str], *, architecture: str | None = None) -> NetworkFile | SfnnFile:
    """Read a network file of any family, or that of a folder, as `load_network` does.

    Raises:
        NetworkFileError: it is broken or of an unknown kind.
        OSError: it cannot be read.
    """
    return _read(read_file(path), architecture)


def _read(head: Head, architecture: str | None) -> NetworkFile | SfnnFile:
    if not is_sfnn(head):
        return parse_network(head.data, file=head.file, architecture=architecture)
    beside = _progress_beside(head)
    return parse_sfnn(head, architecture=architecture, progress=beside.read_bytes() if beside else None)


def serialise(network: NetworkFile | SfnnFile) -> bytes:
    """The bytes of a network file of any family."""
    return serialise_sfnn(network) if isinstance(network, SfnnFile) else serialise_network(network)


def architecture_of(
    path: str | os.PathLike[str], *, architecture: str | None = None
) -> Architecture | SfnnArchitecture:
    """The architecture of a network file of any family, without unpacking it; arguments and errors as `read_any`."""
    head = read_file(path)
    if not is_sfnn(head):
        return choose(head, architecture)
    return sfnn_shape(head, architecture=architecture, outside=_progress_beside(head) is not None)


def _progress_beside(head: Head) -> Path | None:
    beside = Path(head.file).with_name(PROGRESS_NAME)
    return beside if beside.is_file() and beside.stat().st_size == PROGRESS_FILE_BYTES else None


def load_network(
    path: str | os.PathLike[str] | None,
    *,
    fv_scale: int | None = None,
    architecture: str | None = None,
    share: bool = False,
) -> Network:
    """Read a network file (``nn.bin``) or that of a folder. None means the network that comes with the package.

    The user's settings come first, then the facts next to the file (`worker.nnue.beside`), then the file's header.

    Args:
        fv_scale: see `Network`.
        architecture: the short name of its shape; None or empty: found from its bytes.
        share: keep one copy of a large network's weights for all processes of the machine that share it.

    Raises:
        NetworkFileError: it is broken or of an unknown kind.
        ValueError: ``fv_scale`` below 1.
        OSError: it cannot be read.
    """
    if path is None:
        source = parse_network(default_file().read_bytes(), file=DEFAULT_NETWORK)
        return Network(source, fv_scale=fv_scale, name=f"<{DEFAULT_NETWORK}>")
    file = network_path(path)
    beside = read_beside(file)
    head = read_file(file, mapped=share)
    read = _read(head, architecture or beside.architecture)
    digest = hashlib.sha256(head.data).hexdigest() if share else None
    if fv_scale is None:
        fv_scale = beside.fv_scale
    return Network(read, fv_scale=fv_scale, name=os.fspath(file), digest=digest)


def default_network() -> Network:
    """The network that comes with the package."""
    return load_network(None)

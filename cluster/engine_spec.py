"""The recipe for a node's engine, as values that are sent to the node: our own searcher, or any USI engine by its
path."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cluster.network.messages import COMMON
from cluster.network.scale import Scale
from cluster.processors import processors
from worker.engine import Engine, EngineError
from worker.score import WIN_SCALE

if TYPE_CHECKING:
    from worker.nnue import Network

_MOST_THREADS: Final = 16
"""The most threads of a node if we choose the number: more than eight were never measured in a game."""


class Networks:
    """The networks that this process has loaded, by their recipe: engines with equal weights share one."""

    def __init__(self, share: bool = False) -> None:
        """``share``: also with other processes on this machine (`worker.nnue.shared`)."""
        self._loaded: dict[EngineSpec, Network] = {}
        self._share = share

    def of(self, spec: EngineSpec) -> Network:
        """The network of ``spec``, loaded if necessary.

        Raises:
            EngineError: it cannot be loaded.
        """
        weights = EngineSpec(eval_file=spec.eval_file, fv_scale=spec.fv_scale, architecture=spec.architecture)
        if weights not in self._loaded:
            self._loaded[weights] = weights.load_network(self._share)
        return self._loaded[weights]


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """Our own searcher. Modules are imported at first use because importing them compiles code: a master that
    only drives other engines need not wait for that."""

    hash_mb: int = 64
    threads: int = 1
    """0 (only for a node of a fleet): its share of the machine's processors (`FleetSpec.spec_here`)."""
    eval_file: str | None = None
    """A network file or folder; None: the one in the package. Machines of a Ray cluster get it from the master."""
    fv_scale: int | None = None
    """Raw network output to a centipawn; None: the value stored beside the file or in it, else 16."""
    architecture: str = ""
    """The short name of the network's shape; empty: detected from its bytes."""
    number: int = 0
    """Which depths to skip: those of this thread number in Lazy SMP. 0: none."""
    win_scale: float = 0.0
    """Centipawns at which the odds of the side ahead are e to 1, in games of seconds a move. 0: see `scale`."""

    def scale(self) -> Scale:
        """The scale of its scores: as given, else as measured (`gougi net calibrate`). Otherwise the network's own
        FV_SCALE is taken to give centipawns like those of our own network."""
        if self.win_scale:
            return Scale(self.win_scale)
        raw, usual = _raw_scale(self.eval_file, self.architecture)
        return Scale(raw / (self.fv_scale or usual))

    def build(self, networks: Networks | None = None) -> Engine:
        """Make the engine, with its network from ``networks`` if given.

        Raises:
            EngineError: the network cannot be read, or a number is out of range.
        """
        from worker.search.engine import NumbaEngine

        network = (networks or Networks()).of(self)
        return NumbaEngine(self.hash_mb, self.threads, network=network, number=self.number)

    def load_network(self, share: bool = False) -> Network:
        """The network, its weights shared with other processes if ``share``. Raises EngineError if the file cannot be
        used or a number is out of range."""
        from worker.nnue import NetworkFileError, load_network

        try:
            return load_network(self.eval_file, fv_scale=self.fv_scale, architecture=self.architecture, share=share)
        except (NetworkFileError, OSError, ValueError, MemoryError) as error:
            raise EngineError(str(error)) from error


@dataclass(frozen=True, slots=True)
class UsiSpec:
    """An external engine: the program and its options, on the node's own machine."""

    command: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    win_scale: float = WIN_SCALE
    """As for `EngineSpec`; by default it is taken to be that of our own network."""

    def scale(self) -> Scale:
        return Scale(self.win_scale)

    def build(self) -> Engine:
        """Start it. Raises EngineError if it does not start, is not a USI engine, or refuses an option."""
        from worker.usi.engine import UsiEngine

        return UsiEngine(self.command, dict(self.options))


NodeKind = EngineSpec | UsiSpec


@lru_cache
def _raw_scale(eval_file: str | None, architecture: str) -> tuple[float, int]:
    """Raw output of a network at which the odds of the side ahead are e to 1, and its usual FV_SCALE. If it cannot be
    read, that of our own network: a node will say why."""
    from worker.nnue import NetworkFileError
    from worker.nnue.beside import read_beside
    from worker.nnue.format import network_path
    from worker.nnue.network import DEFAULT_FV_SCALE, architecture_of, default_file

    try:
        net = default_file() if eval_file is None else network_path(eval_file)
        beside = read_beside(net)
        found = architecture_of(net, architecture=architecture or beside.architecture)
        usual = beside.fv_scale or found.fv_scale or DEFAULT_FV_SCALE
    except (NetworkFileError, OSError):
        return WIN_SCALE * DEFAULT_FV_SCALE, DEFAULT_FV_SCALE
    return beside.win_scale or WIN_SCALE * usual, usual


@dataclass(frozen=True, slots=True)
class FleetSpec:
    """The engines of a fleet. ``kinds`` are dealt to the nodes in turn.

    How to use one::

        fleet = FleetSpec((EngineSpec(), UsiSpec(("/usr/games/gpsusi",))))
        engine = fleet.build(3, 2)    # of the fourth node, on a machine of two; `fleet.build` pickles
    """

    kinds: tuple[NodeKind, ...] = (EngineSpec(),)
    fallback: EngineSpec = EngineSpec(hash_mb=16)
    """The engine that answers if no node does."""

    def spec_of(self, number: int) -> NodeKind:
        """The engine of node ``number``, from 0 on. Each of our own searchers but the first skips its own set of
        depths."""
        kind = self.kinds[number % len(self.kinds)]
        if isinstance(kind, UsiSpec):
            return kind
        own = sum(isinstance(other, EngineSpec) for other in self.kinds[: number % len(self.kinds)])
        every_round = sum(isinstance(other, EngineSpec) for other in self.kinds)
        place = number // len(self.kinds) * every_round + own
        return replace(kind, number=place)

    def spec_here(self, number: int, places: int) -> NodeKind:
        """The same with the number of threads filled in, if this machine runs ``places`` nodes of the fleet."""
        kind = self.spec_of(number)
        if isinstance(kind, EngineSpec) and not kind.threads:
            return replace(kind, threads=max(1, min(_MOST_THREADS, processors() // places)))
        return kind

    def net_of(self, number: int) -> str | None:
        """The network file or folder of node ``number``; None: it needs none, or has the one in the package."""
        kind = self.kinds[number % len(self.kinds)]
        return kind.eval_file if isinstance(kind, EngineSpec) else None

    def scale_of(self, number: int | None) -> Scale:
        """The scale of the scores of node ``number``; None: of the fallback. If all nodes are alike, nothing needs to
        be converted."""
        if len(set(self.kinds)) == 1:
            return COMMON
        return (self.fallback if number is None else self.kinds[number % len(self.kinds)]).scale()

    def build(self, number: int, places: int, net: str | None = None) -> Engine:
        """Make the engine of node ``number``, on its own machine, which runs ``places`` nodes. Raises EngineError.

        Args:
            net: the path of its network there; None: as on the master's machine.
        """
        kind = self.spec_here(number, places)
        if not isinstance(kind, EngineSpec):
            return kind.build()
        engine = replace(kind, eval_file=net or kind.eval_file).build(Networks(share=places > 1))
        engine.name = self.name_of(number)
        return engine

    def name_of(self, number: int) -> str:
        """The name of node ``number``, which is one of our own searchers. It is different for different networks: their
        depths are not comparable, and they do not share a tree."""
        index = number % len(self.kinds)
        named: dict[tuple[object, ...], str] = {}
        for kind in self.kinds[: index + 1]:
            if isinstance(kind, EngineSpec):
                weights = kind.eval_file, kind.architecture
                name = f"gougi, {_title(kind.eval_file)}" if kind.eval_file and len(self.kinds) > 1 else "gougi"
                taken = sum(other == name or other.startswith(f"{name} (") for other in named.values())
                named.setdefault(weights, f"{name} ({taken + 1})" if taken else name)
        kind = self.kinds[index]
        assert isinstance(kind, EngineSpec)
        return named[kind.eval_file, kind.architecture]


def _title(eval_file: str) -> str:
    """A network's name for people: that of its file, or of its folder if every network's file is called so."""
    path = Path(eval_file)
    return path.parent.name if path.name == "nn.bin" else path.stem

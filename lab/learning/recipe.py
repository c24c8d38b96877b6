"""The recipe of a run of ``gougi learn``: the next step, and the command of each step. Pure.

A user may also run the command of a step by hand: each has its own folder, and resumes an interrupted run.
"""

from __future__ import annotations

import shlex
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from lab.learning.ledger import Generation, Kind, Ledger
from lab.match.openings import NATURAL

T = TypeVar("T")

_COMPARED: Final = 5000
"""Positions over which the new net is compared with the best one."""
_SPARRING_BEST: Final = 6
"""Moves of an opening of the sparring match are among this number of best ones."""
_SPARRING_NODES: Final = 10_000
"""Nodes of the best net's move in that match, so that it loses often, and to positions that it overrated."""
_SEEDS: Final = 1000
"""Difference between the seeds of a generation's consecutive trainings."""


class RecipeError(ValueError):
    """An option of ``gougi learn`` cannot be used; the text names it."""


@dataclass(frozen=True, slots=True)
class Opponent:
    """An opponent against which promoted nets are measured, besides the first net.

    Attributes:
        name: its name in tables and folders.
        player: a USI command; or a ``.bin``, a net for our own searcher.
    """

    name: str
    player: str

    @classmethod
    def parse(cls, text: str) -> Opponent:
        """``NAME=PLAYER``. Raises RecipeError."""
        name, equals, player = text.partition("=")
        if not equals or not name.strip() or not player.strip():
            raise RecipeError(f"--against {text}: expected NAME=PLAYER, a USI command or a nn.bin")
        if not all(letter.isalnum() or letter in "-_." for letter in name):
            raise RecipeError(f"--against {text}: a name has letters, digits, '-', '_' and '.'")
        if name == FIRST.name:
            raise RecipeError(f"--against {text}: {name} is the first net, which is always measured against")
        return cls(name, player)


FIRST: Final = Opponent("generation-0", "")
"""The net with which the run began."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The recipe for generations. Sequences have a value for each generation; the last one serves for all later ones.

    Attributes:
        games: number of games of a generation.
        nodes: soft limit of a teacher's move.
        epochs: number of times that each position is used.
        window: generations of games from which a net learns, including the newest; only those in this folder.
        fresh: whether each net begins with random weights instead of the best net's.
        first_by_hand: whether the run's first net is the hand-made one, from which training cannot begin, because its
            hidden units are all alike.
        gate_nodes, gate_games, gate_sprt: the gate's match: nodes per move, maximum games, ``ELO0,ELO1``.
        match_nodes, match_games: of the matches against an opponent, one for each number of nodes per move; the match
            against the first net uses only the first of them.
        openings: of the gate and the matches, in the form of ``gougi match``.
        sparring: a USI command; the best net plays a match against it, and as many further games as ``games`` begin in
            positions of that match. Empty: no such games.
        sparring_games, sparring_words: the match's games, and further options with its pace.
        seed: seed of the first generation; each later one has the next number.
        processes: number on this machine, for games, training and matches.
        address: of a fleet that makes the games; None: this machine does.
        attacks: whether each new net gets an attack network, from the same games.
        games_words, attack_words, gate_words: further options of the commands, as a user would type them.
        train_words: the same for ``gougi train``; each of several trains a net, and their mean goes to the gate.
    """

    games: Sequence[int] = (20_000,)
    nodes: Sequence[int] = (400, 700)
    epochs: Sequence[float] = (5.0,)
    window: int = 2
    fresh: bool = True
    first_by_hand: bool = True
    gate_nodes: int = 20_000
    gate_games: int = 400
    gate_sprt: str = "0,20"
    match_nodes: Sequence[int] = (5000, 20_000, 100_000)
    match_games: int = 200
    openings: str = NATURAL
    sparring: str = ""
    sparring_games: int = 300
    sparring_words: str = ""
    seed: int = 1
    processes: int = 1
    address: str | None = None
    opponents: Sequence[Opponent] = ()
    attacks: bool = False
    games_words: str = ""
    train_words: Sequence[str] = ("",)
    attack_words: str = ""
    gate_words: str = ""

    @property
    def matches(self) -> tuple[str, ...]:
        """Names of a promoted net's matches: an opponent's, ``@``, nodes a move."""
        met = ((FIRST, self.match_nodes[:1]), *((one, self.match_nodes) for one in self.opponents))
        return tuple(f"{one.name}@{nodes}" for one, paces in met for nodes in paces) if self.match_games else ()

    def begins_with(self, teacher: int) -> bool:
        """Whether a training begins with the weights of this generation's net."""
        return not self.fresh and (teacher > 0 or not self.first_by_hand)


def net_path(folder: str, number: int) -> str:
    """The file of a generation's net; 0: the first net."""
    return f"{folder}/nets/generation-{number}.bin"


def training_name(place: int) -> str:
    """The name of a generation's training: empty for the first one (place 0), then numbers from 2 on."""
    return str(place + 1) if place else ""


def step_path(folder: str, number: int, kind: Kind, name: str = "") -> str:
    """The folder of a step."""
    own = "against" if kind is Kind.MATCH else kind.value
    return f"{folder}/generation-{number}/{own}{f'-{name}' if name else ''}"


def trained_path(folder: str, one: Generation) -> str:
    """The net of a generation that goes to the gate."""
    return f"{step_path(folder, one.number, one.last_made or Kind.TRAIN)}/nn.bin"


def command(
    recipe: Recipe, folder: str, ledger: Ledger, one: Generation, kind: Kind, name: str, with_games: Container[int]
) -> tuple[str, ...]:
    """The words after ``gougi`` for a step.

    Args:
        folder: folder of the whole run.
        one: the generation to which the step belongs.
        name: name of the step (`lab.learning.ledger.Done`).
        with_games: generations whose games are in this folder, including this one's.

    Raises:
        RecipeError: further options cannot be read.
    """
    number = one.number
    out = ("--out", step_path(folder, number, kind, name))
    seed = ("--seed", str(recipe.seed + number - 1))
    match kind:
        case Kind.GAMES:
            return (*_selfplay(recipe, folder, ledger, one, kind), "--json")
        case Kind.SPARRING:
            # Not the gate's openings: training would see positions that follow from them.
            return (
                "match", "gougi", recipe.sparring, *out, "-A", f"EvalFile={net_path(folder, one.teacher)}",
                "-A", f"NodesLimit={_SPARRING_NODES}", "--opening-best", str(_SPARRING_BEST), *seed,
                "--concurrency", str(recipe.processes), *words("--sparring-options", recipe.sparring_words),
                "--games", str(recipe.sparring_games), "--json",
            )  # fmt: skip
        case Kind.FROM_SPARRING:
            return (
                *_selfplay(recipe, folder, ledger, one, kind), "--openings", step_path(folder, number, Kind.SPARRING),
                "--plies", "0-4", "--natural", "1", "--unusual", "0", "--entering", "0", "--json",
            )  # fmt: skip
        case Kind.TRAIN:
            place = int(name or 1) - 1
            own = ("--seed", str(recipe.seed + number - 1 + place * _SEEDS))
            begin = ("--from", net_path(folder, one.teacher)) if recipe.begins_with(one.teacher) else ()
            return (
                "train", *_data(recipe, folder, ledger, number, with_games), *out, *begin,
                "--epochs", f"{_of(recipe.epochs, number):g}", *own, "--threads", str(recipe.processes),
                *words("--train-options", recipe.train_words[place]), "--json",
            )  # fmt: skip
        case Kind.BLEND:
            nets = (f"{step_path(folder, number, Kind.TRAIN, made)}/nn.bin" for made in one.trainings)
            return ("net", "blend", *nets, "--out", f"{step_path(folder, number, kind)}/nn.bin", "--json")
        case Kind.ATTACKS:
            return (
                "net", "attacks", trained_path(folder, one), *_data(recipe, folder, ledger, number, with_games),
                "--out", f"{step_path(folder, number, kind)}/nn.bin", *_scale(ledger, number),
                *words("--attack-options", recipe.attack_words), "--json",
            )  # fmt: skip
        case Kind.COMPARE:
            return (
                "net", "compare", net_path(folder, one.teacher), trained_path(folder, one), "--data",
                step_path(folder, number, Kind.GAMES), "--positions", str(_COMPARED), "--json",
            )  # fmt: skip
        case Kind.GATE:
            return (
                "match", "gougi", "gougi", *_sides(number, f"generation-{one.teacher}"),
                "-A", f"EvalFile={trained_path(folder, one)}", "-B", f"EvalFile={net_path(folder, one.teacher)}",
                "--nodes", str(recipe.gate_nodes), "--sprt", recipe.gate_sprt,
                "--openings", recipe.openings, *seed, "--concurrency", str(recipe.processes), *out,
                *words("--gate-options", recipe.gate_words), "--games", str(recipe.gate_games), "--json",
            )  # fmt: skip
        case Kind.MATCH:
            opponent, _, nodes = name.rpartition("@")
            player, option = _player(recipe, folder, opponent)
            return (
                "match", "gougi", player, *_sides(number, opponent), "-A", f"EvalFile={net_path(folder, number)}",
                *option, "--nodes", nodes, "--games", str(recipe.match_games), "--openings", recipe.openings, *seed,
                "--concurrency", str(recipe.processes), *out, "--json",
            )  # fmt: skip


def _selfplay(recipe: Recipe, folder: str, ledger: Ledger, one: Generation, kind: Kind) -> tuple[str, ...]:
    """The words that both kinds of teacher games have in common."""
    return (
        "selfplay", "--out", step_path(folder, one.number, kind), "--net", net_path(folder, one.teacher),
        "--games", str(_of(recipe.games, one.number)), "--nodes", str(_of(recipe.nodes, one.number)),
        "--seed", str(recipe.seed + one.number - 1),
        *(("--address", recipe.address) if recipe.address else ("--processes", str(recipe.processes))),
        *words("--games-options", recipe.games_words), *_scale(ledger, one.teacher),
    )  # fmt: skip


def _data(recipe: Recipe, folder: str, ledger: Ledger, number: int, with_games: Container[int]) -> tuple[str, ...]:
    """``--data`` for each folder of games from which a generation learns."""
    sources = [
        step_path(folder, source, made)
        for source in range(number, max(0, number - recipe.window), -1)
        if source in with_games and (other := ledger.generation(source)) is not None
        for made in (Kind.GAMES, Kind.FROM_SPARRING)
        if made is Kind.GAMES or other.result(made) is not None
    ]
    return tuple(word for source in sources for word in ("--data", source))


def _of(values: Sequence[T], number: int) -> T:
    return values[min(number, len(values)) - 1]


def _sides(number: int, other: str) -> tuple[str, ...]:
    return ("--name-a", f"generation-{number}", "--name-b", other)


def _scale(ledger: Ledger, number: int) -> tuple[str, ...]:
    """A generation's centipawns per logistic unit, as fitted by its training; for the first net the commands' own."""
    one = ledger.generation(number)
    report = None if one is None else one.result(Kind.TRAIN)
    return () if report is None else ("--scale", str(round(report["scale"])))


def _player(recipe: Recipe, folder: str, opponent: str) -> tuple[str, tuple[str, ...]]:
    """The other side of a match, and its options."""
    if opponent == FIRST.name:
        return "gougi", ("-B", f"EvalFile={net_path(folder, 0)}")
    player = next(one.player for one in recipe.opponents if one.name == opponent)
    return ("gougi", ("-B", f"EvalFile={player}")) if player.endswith(".bin") else (player, ())


def words(option: str, text: str) -> list[str]:
    """An option's text as words, in shell syntax. Raises RecipeError."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise RecipeError(f"{option} {text!r}: {error}") from error


@dataclass(frozen=True, slots=True)
class Step:
    """The next step of a run.

    Attributes:
        number: number of the generation.
        kind: kind of the step.
        name: as in `lab.learning.ledger.Done`.
    """

    number: int
    kind: Kind
    name: str = ""

    def __str__(self) -> str:
        words = f"generation {self.number}: {self.kind.value}"
        if not self.name:
            return words
        return f"{words} against {self.name}" if self.kind is Kind.MATCH else f"{words} {self.name}"


def next_step(
    ledger: Ledger,
    recipe: Recipe,
    generations: int,
    here: frozenset[int] = frozenset(),
    nets: frozenset[int] | None = None,
) -> Step | None:
    """The next step to do; None: all generations are complete.

    Generations come in order, and so do the steps of each. An opponent added later also plays nets that were promoted
    before. The gate of the last generation resumes if it was undecided and may now have more games.

    generations: number of the whole run; more may be requested later.
    here: numbers of the generations that this folder made; gates of others cannot resume.
    nets: numbers of the generations whose promoted nets are here; others play no matches. None: all.
    """
    for number in range(1, max(generations, len(ledger.generations)) + 1):
        one = ledger.generation(number) or Generation(number, ledger.best)
        step = _missing(one, recipe)
        plays = nets is None or number in nets
        if step is not None and (plays or step.kind is not Kind.MATCH):
            return step
        is_last = number == len(ledger.generations)
        if is_last and number in here and one.open_after is not None and one.open_after < recipe.gate_games:
            return Step(number, Kind.GATE)
    return None


def _missing(one: Generation, recipe: Recipe) -> Step | None:
    spars = bool(recipe.sparring) and not one.trainings and one.result(Kind.COMPARE) is None
    for kind, wanted in ((Kind.SPARRING, spars), (Kind.GAMES, True), (Kind.FROM_SPARRING, spars)):
        if wanted and one.result(kind) is None:
            return Step(one.number, kind)
    if one.result(Kind.COMPARE) is None:
        return _missing_net(one, recipe) or Step(one.number, Kind.COMPARE)
    if one.result(Kind.GATE) is None:
        return Step(one.number, Kind.GATE)
    if one.promoted:
        for name in recipe.matches:
            if one.result(Kind.MATCH, name) is None:
                return Step(one.number, Kind.MATCH, name)
    return None


def _missing_net(one: Generation, recipe: Recipe) -> Step | None:
    """The next training, the mean of all, or the attack network. Finished nets stay unchanged, even if the recipe has
    changed since."""
    attacks = Step(one.number, Kind.ATTACKS) if recipe.attacks else None
    if one.last_made is Kind.ATTACKS:
        return None
    if one.last_made is Kind.BLEND:
        return attacks
    # Nets with random initial weights have no useful mean: the order of their units differs.
    for place in range(len(recipe.train_words) if recipe.begins_with(one.teacher) else 1):
        if training_name(place) not in one.trainings:
            return Step(one.number, Kind.TRAIN, training_name(place))
    return Step(one.number, Kind.BLEND) if len(one.trainings) > 1 else attacks

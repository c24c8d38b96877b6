"""Settings of a training, and the values derived from them for every moment of a run. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from lab.training.features import TRAINABLE
from worker.nnue.architecture import Architecture
from worker.nnue.sfnn.architecture import INPUTS, SfnnArchitecture, parse_sfnn_name
from worker.nnue.sfnn.stacks import StackRule

CHECKPOINT: Final = "checkpoint.pt"
CHECKPOINT_BEFORE: Final = "checkpoint-before.pt"
LAST_RATE: Final = 0.01
"""The learning rate at the end, as a share of the highest."""
WARM_UP: Final = 0.02
"""Share of the run over which the learning rate rises."""
VALIDATIONS: Final = 50
"""Number of validations of a run."""
HELD_OUT: Final = 0.02
"""Default share of the games that a run does not learn from."""
_VALIDATION_POSITIONS: Final = (20_000, 200_000)
"""Minimum and maximum positions of a validation; in between, a share of the run that takes little of its time."""
_VALIDATION_SHARE: Final = 150
_STACKS: Final = ("", "k3k3", "k9k9")
"""Rules of an SFNN network that can be trained: they see no more of a king than its rank."""


def check_sfnn(architecture: SfnnArchitecture) -> None:
    """Raises ValueError: the trainer does not make networks of this shape; the text gives the reason."""
    features = [inputs.key for inputs in INPUTS.values() if inputs.features.name in TRAINABLE]
    if architecture.inputs.key not in features:
        raise ValueError(f"{architecture}: its features cannot be trained; expected one of {', '.join(features)}")
    if architecture.stacks not in [StackRule(king=king) for king in _STACKS]:
        raise ValueError(f"{architecture}: its stacks cannot be trained; expected none, {' or '.join(_STACKS[1:])}")
    if architecture.sharing is not None:
        raise ValueError(f"{architecture}: {architecture.sharing} cannot be trained; expected none")


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """Settings of a run; all of them affect the result.

    Raises:
        ValueError: a value is out of range; the text names it.
    """

    features: str = "K+P"
    width: int = 256
    hidden1: int = 32
    hidden2: int = 32
    epochs: float | None = 10.0
    """Times that each position is learned from; None: ``positions`` sets the length of the run."""
    positions: int | None = None
    batch: int = 4096
    rate: float = 0.001
    """The highest learning rate."""
    decay: float = 0.01
    """Weight decay of AdamW."""
    score_from: float = 1.0
    """Share of the score in a label at the start; the rest is the game's result."""
    score_to: float = 0.9
    """The same at the end."""
    horizon: float = 0.0
    """Mean number of plies by which a position's score looks ahead in its game."""
    scale: float | None = None
    """Centipawns per logistic unit; None: fitted to the positions."""
    quantised: float = 0.2
    """Share of the run, at its end, that computes with the evaluator's integers."""
    validation: float = HELD_OUT
    """Share of the games kept for validation."""
    decided: bool = False
    """Whether to learn from decided positions too."""
    debias: bool = False
    """Whether to correct the scores by the later course of the games (`lab.training.network.debias`)."""
    exponent: float = 0.0
    """The loss is the difference of win probabilities to this power; 0: cross-entropy."""
    average: float = 0.1
    """Share of the run, at its end, whose mean weights are tried as well; 0: none."""
    seed: int = 1
    sfnn: str | None = None
    """The name of an SFNN shape. It replaces features, width and the hidden layers."""

    def __post_init__(self) -> None:
        if self.features not in TRAINABLE:
            raise ValueError(f"features is {self.features}: expected one of {', '.join(TRAINABLE)}")
        if (self.epochs is None) == (self.positions is None):
            raise ValueError("epochs and positions: expected one of them")
        for name, least, most in (
            ("width", 128, 4096),
            ("hidden1", 1, 1024),
            ("hidden2", 1, 1024),
            ("epochs", 1e-6, 1e6),
            ("positions", 1, 10**15),
            ("batch", 1, 1 << 20),
            ("rate", 1e-9, 1),
            ("decay", 0, 10),
            ("score_from", 0, 1),
            ("score_to", 0, 1),
            ("horizon", 0, 1000),
            ("scale", 1, 1e5),
            ("quantised", 0, 1),
            ("exponent", 0, 4),
            ("average", 0, 0.5),
            ("validation", 1e-6, 0.5),
        ):
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise ValueError(f"{name} is {value}: expected {least:g} to {most:g}")
        if 0 < self.exponent < 1:
            raise ValueError(f"exponent is {self.exponent}: expected 0, or 1 to 4")
        if self.width % 128:
            raise ValueError(f"width is {self.width}: expected a multiple of 128")
        if self.sfnn is not None:
            check_sfnn(parse_sfnn_name(self.sfnn))

    @property
    def has_factors(self) -> bool:
        """Whether inputs of one kind share a part of their weights: if the own king's square multiplies them."""
        return self.architecture.features.king_rows

    @property
    def architecture(self) -> Architecture | SfnnArchitecture:
        """The shape of the net."""
        if self.sfnn is not None:
            return parse_sfnn_name(self.sfnn)
        return Architecture(TRAINABLE[self.features], self.width, self.hidden1, self.hidden2)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The values at each moment of a run, by the number of positions of its plan that are done."""

    settings: TrainSettings
    total: int
    """Positions of the plan."""

    @classmethod
    def of(cls, settings: TrainSettings, training: int) -> Schedule:
        """The plan for a number of training positions."""
        if settings.positions is not None:
            return cls(settings, settings.positions)
        assert settings.epochs is not None
        return cls(settings, max(1, round(settings.epochs * training)))

    @property
    def quantised_from(self) -> int:
        """The position of the plan at which the second part begins, which computes with integers."""
        return round(self.total * (1 - self.settings.quantised))

    def is_quantised(self, over: int) -> bool:
        """Whether the moment belongs to the second part."""
        return over >= self.quantised_from and self.settings.quantised > 0

    def is_averaged(self, over: int) -> bool:
        """Whether the weights at the moment count for the mean."""
        return over >= self.total * (1 - self.settings.average)

    def rate(self, over: int) -> float:
        """The learning rate: a linear rise, then half a cosine down to `LAST_RATE` of the highest."""
        highest, warm_up = self.settings.rate, WARM_UP * self.total
        if over < warm_up:
            return highest * (over + 1) / (warm_up + 1)
        share = min(1.0, (over - warm_up) / max(1.0, self.total - warm_up))
        return highest * (LAST_RATE + (1 - LAST_RATE) * (1 + math.cos(math.pi * share)) / 2)

    def score_share(self, over: int) -> float:
        """The share of the score in a label."""
        share = min(1.0, over / self.total)
        return self.settings.score_from + (self.settings.score_to - self.settings.score_from) * share

    @property
    def validation_positions(self) -> int:
        """The maximum number of positions of a validation."""
        least, most = _VALIDATION_POSITIONS
        return min(most, max(least, self.total // _VALIDATION_SHARE))

    def validations(self, over: int) -> int:
        """The number of validations that are due up to this moment."""
        return min(over, self.total) * VALIDATIONS // self.total

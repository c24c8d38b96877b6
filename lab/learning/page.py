"""The page of a run of ``gougi learn``: what each generation was made of, and how strong it is. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from lab.learning.ledger import Generation, Kind, Ledger
from lab.match.statistics import Strength

_HEAD: Final = (
    "generation", "teacher", "games", "positions", "learned from", "loss", "integers, cp rms", "pair rate, mean rank",
    "result loss", "gate: Elo", "", "hours",
)  # fmt: skip

_HEADING: Final = """# Networks

`gougi learn` writes this page. Generation 0 is the net that the run began with; a teacher's net plays the games, and
the gate is the match of the new net against it. Loss in nats; integers: how far the exported net is from the one in
floating point; pair rate and mean rank: how the net's evaluation alone ranks the moves that the teacher played; result
loss: how well it foretells the results of the teacher's games (nats; all positions, and those from move 100 on). If
several nets were trained, the gate is for their mean; loss and integers are those of the first.

"""


def page(ledger: Ledger, folder: str) -> str:
    """The page as Markdown: a table, the matches, and every command.

    Args:
        folder: as the commands name it; the page leaves it out of them.
    """
    parts = [_HEADING, table(ledger), "\n"]
    if rows := _match_rows(ledger):
        parts += ["\n## Matches\n\nAt equal nodes, colours swapped, 95 % intervals.\n\n"]
        parts.append(_markdown(("generation", "against", "pace", "games", "won, drawn, lost", "score", "Elo"), rows))
        parts.append("\n")
    for one in ledger.generations:
        parts.append(f"\n## Recipe of generation {one.number}\n\n```sh\n")
        parts += [f"gougi {shlex.join(_short(word, folder) for word in step.command)}\n" for step in one.steps]
        parts.append("```\n")
        report = one.result(Kind.TRAIN)
        if report is not None:
            parts.append(f"\nnn.bin: SHA-256 `{one.sha256}`; win-rate scale {report['scale']:,.0f} centipawns.\n")
    return "".join(parts)


def _short(word: str, folder: str) -> str:
    """A command's word without the run's folder before its files."""
    name, equals, file = word.rpartition("=")
    return f"{name}{equals}{file.removeprefix(f'{folder}/')}"


def table(ledger: Ledger) -> str:
    """All generations, one a row, as a Markdown table."""
    return _markdown(_HEAD, [_row(one) for one in ledger.generations])


def _row(one: Generation) -> tuple[str, ...]:
    games, report = one.result(Kind.GAMES), one.result(Kind.TRAIN)
    compared, gate = one.result(Kind.COMPARE), one.result(Kind.GATE)
    ranking = compared and compared["ranking_b"]
    foretold = compared and compared.get("results_b")
    word = {True: "promoted", False: "refused", None: "under way"}[one.promoted]
    spent = one.spent_s + sum(step.spent_s for step in one.steps)
    return (
        str(one.number),
        str(one.teacher),
        f"{games['games']:,}" if games else "",
        f"{games['positions']:,}" if games else "",
        f"{report['training_positions']:,}" if report else "",
        f"{report['validation_loss']:.5f}" if report else "",
        f"{report['quantised_rms']:.1f}" if report else "",
        f"{ranking['pair_rate']:.1%}, {ranking['mean_rank']:.2f}" if ranking else "",
        _foretold_text(foretold) if foretold else "",
        str(Strength.of_facts(gate)) if gate else "",
        word,
        f"{spent / 3600:.1f}",
    )


def _foretold_text(loss: Mapping[str, float | None]) -> str:
    late = loss["late"]
    return f"{loss['loss']:.4f}" + (f", {late:.4f}" if late is not None else "")


def _match_rows(ledger: Ledger) -> list[tuple[str, ...]]:
    return [
        (
            str(one.number), step.name, step.result["pace"], str(step.result["games"]),
            f"{step.result['wins']}, {step.result['draws']}, {step.result['losses']}", f"{step.result['score']:.1%}",
            str(Strength.of_facts(step.result)),
        )
        for one in ledger.generations
        for step in one.steps
        if step.kind is Kind.MATCH
    ]  # fmt: skip


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

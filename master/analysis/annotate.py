"""Annotated records: the game as it was, with the analysis in the comments, as CSA V3 and as KIF through rsshogi.

The comment of a move tells of the position behind it, in the lines that ShogiHome writes for its own analysis and
shows in its graph (``#評価値=``, ``#詰み=``, ``#読み筋=``, scores from black's view), with the judgement of the move in
words. The players' own scores, where the record has them, stay what they are (``'** 123 ...``, ``**評価値=``).
"""

from __future__ import annotations

from collections.abc import Iterator

from rsshogi.record import EngineInfo, MoveEntry, Record

from master.analysis.judgement import Judged, Quality
from master.analysis.notation import before, move_words, pv_words, score_words
from master.analysis.plan import Evaluation, Point
from master.analysis.report import GameReport, Settings, black_bound, black_view
from worker.engine import Bound
from worker.score import is_mate, mate_distance

_MARKS = str.maketrans("☗☖", "▲△")


def csa_text(report: GameReport, settings: Settings) -> str:
    """The annotated record as CSA V3. Branches that the file has beside the game are left out."""
    return str(_annotated(report, settings, mover_view=False).to_csa(version="3.0"))


def kif_text(report: GameReport, settings: Settings) -> str:
    """The annotated record as KIF. Branches that the file has beside the game are left out."""
    return str(_annotated(report, settings, mover_view=True).to_kif())


def _annotated(report: GameReport, settings: Settings, *, mover_view: bool) -> Record:
    """The record with comments.

    Args:
        mover_view: rsshogi's KIF writer turns white's scores round, its CSA writer does not.
    """
    source = report.game.record
    told = {point.ply: (point, found) for point, found in zip(report.points, report.known, strict=True)}
    judged = {move.number: move for move in report.moves}
    entries = []
    for number, entry in enumerate(source.moves, start=1):
        lines = [entry.comment] if entry.comment else []
        if number in judged:
            lines += _judgement(report, judged[number], told[number - 1][0])
        if number in told:
            lines += _evaluation(report, *told[number])
        entries.append(
            MoveEntry(
                entry.move.to_usi(),
                time_ms=entry.time_ms,
                comment="\n".join(lines) or None,
                engine_info=_own_info(report, number, entry.engine_info, mover_view),
            )
        )
    opening = [source.initial_comment] if source.initial_comment else []
    opening.append(f"analysis: {settings.engine}; {settings.effort}")
    return Record(source.init_position_sfen, entries, source.metadata, source.main_terminal, "\n".join(opening))


def _own_info(report: GameReport, number: int, info: EngineInfo | None, mover_view: bool) -> EngineInfo | None:
    """The player's own score and PV, with the sign that the writer wants."""
    score = report.game.moves[number - 1].own_score
    if info is None or score is None:
        return info
    white = (number - 1 + (report.game.start_sfen.split()[1] == "w")) % 2 == 1
    return EngineInfo(-score if mover_view and white else score, info.depth, info.nodes, extras=info.extras)


def _judgement(report: GameReport, move: Judged, point: Point) -> Iterator[str]:
    """The words about a move that was not the best."""
    if move.before is None or not move.had_better:
        return
    last = before(report, point)
    best = move_words(point, move.before.best, last).translate(_MARKS)
    if move.quality is not Quality.GOOD:
        sure = "" if move.sureness is None else f" ({move.sureness.value})"
        yield f"{move.quality.kanji} ({move.quality.word}): 勝率 -{100 * move.loss:.0f}%{sure}"
    if move.missed_mate:
        yield "詰み逃し (missed mate)"
    if move.allowed_mate:
        yield "頓死 (allows a mate)"
    score = score_words(black_view(move.before.score, move.turn)).translate(_MARKS)
    yield f"最善手 (best): {best} {score} " + _line(point, move.before.pv, last)


def _evaluation(report: GameReport, point: Point, found: Evaluation | None) -> Iterator[str]:
    if found is None:
        return
    score = found.score if point.turn == 0 else -found.score
    if found.bound is not Bound.EXACT:
        yield "評価値 " + score_words(score, black_bound(found.bound, point.turn)).translate(_MARKS)
    elif is_mate(score):
        winner = "先手勝ち" if (found.score > 0) == (point.turn == 0) else "後手勝ち"
        distance = abs(mate_distance(score))
        yield f"#詰み={winner}" + (f":{distance}手" if distance else "")
    else:
        yield f"#評価値={score}"
    if found.pv and found.best != "win":
        yield "#読み筋=" + _line(point, found.pv, before(report, point))
    if found.depth:
        yield f"#深さ={found.depth}"


def _line(point: Point, pv: tuple[str, ...], last: str | None) -> str:
    """As ShogiHome writes a variation: a triangle before each move and nothing between."""
    return "".join(pv_words(point, pv, last)).translate(_MARKS)

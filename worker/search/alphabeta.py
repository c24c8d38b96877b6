"""The tree search: principal variation search. A thread has a Record of each: position, net, thread.

``ply`` counts from the search's root (the position's own ``ply`` counts from the game's). It returns 0 when
``th.stopped`` is set: callers return at once and ignore the score.

It is of the same family as Stockfish's and YaneuraOu's. Its numbers are in `worker.search.parameters`.
``docs/notebook/search.md`` has the measured value of each part; each part can be left out (`worker.search.parts`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.bits import toward_zero
from worker.jit.memory import ld16
from worker.nnue.evaluation import evaluate_score, prepare
from worker.score import INFINITE, MATE, MATE_BOUND, MAX_PLY, NO_SCORE
from worker.search import late_moves, node, parts, tt
from worker.search import parameters as p
from worker.search.correction import corrected, correction_of, learn_correction
from worker.search.exchange import exchange_at_least
from worker.search.history import (
    butterfly_address,
    learn_best,
    learn_change,
    learn_continuations,
    learn_multicut,
    learn_prior,
    learn_table_cut,
    learn_table_move,
    slot_of,
)
from worker.search.mate1 import mate_in_one
from worker.search.picker import EVASIONS, MAIN, PROBCUT, next_move, start_picker
from worker.search.quiescence import quiescence
from worker.search.state import OFFSET, TRIED
from worker.shogi.makemove import is_legal, unmake, unmake_null
from worker.shogi.movegen import is_pseudo_legal
from worker.shogi.pieces import DROP_BIT

_TIE_NODES: Final = 14
"""A tie counts at node counts without these bits: at two of sixteen."""


@jit()
def search(pos: Any, nn: Any, th: Any, ply: int, alpha: int, beta: int, depth: Any, kind: int) -> Any:
    """The score of the position for the side to move (int64, `worker.score`), exact within (alpha, beta), otherwise a
    bound.

    Args:
        ply: from the search's root.
        alpha, beta: the window; scores outside of it are fail-soft bounds.
        depth: plies; at 0 and below `quiescence` takes over.
        kind: `ALL`, `CUT` or `PV`.
    """
    if depth <= 0:
        return quiescence(pos, nn, th, ply, alpha, beta, kind == node.PV)
    depth = min(depth, np.int64(MAX_PLY - 1))
    if th.nodes >= th.next_poll:
        node.poll(th)
    if th.stopped != 0:
        return np.int64(0)

    # 1. The node, and whether the rules end the game here.
    at = OFFSET + ply
    child = ply + np.int64(1)
    is_pv = kind == node.PV
    all_node = kind == node.ALL
    cut_node = np.int64(node.CUT if kind == node.CUT else node.ALL)
    if is_pv:
        th.pv_length[ply] = 0
    th.seldepth = max(th.seldepth, ply)
    checked = node.enter_node(pos, th, ply)
    prior = pos.st_move[pos.ply - 1]
    prior_quiet = prior != 0 and pos.st_captured[pos.ply - 1] == 0
    excluded = th.excluded[at]
    follows = th.follows_pv[at - 1] != 0 and ply <= th.last_pv_length and th.last_pv[ply - 1] == prior
    th.follows_pv[at] = 1 if follows else 0
    prior_reduction = th.reduction[at - 1]
    th.reduction[at - 1] = 0
    th.stat_score[at] = 0
    th.move_count[at] = 0
    th.cutoffs[at + 2] = 0
    ended = node.game_end_score(pos, th, ply)
    if ended != NO_SCORE:
        return ended
    if ply >= MAX_PLY - 2:
        return evaluate_score(pos, nn)
    # Mate distance: no line from here can beat a mate already found nearer the root.
    alpha = max(alpha, ply - MATE)
    beta = min(beta, MATE - ply - 1)
    if alpha >= beta:
        return alpha

    # 2. The table's entry.
    key = pos.key
    if not checked:
        # Its memory is still being fetched (`do_move`): meanwhile do work that most nodes need.
        prepare(pos, nn)
    data = tt.probe(th, key)
    hit = data != np.uint64(0)
    th.table_hit[at] = 1 if hit else 0
    table_move = np.int64(0)
    table_score = np.int64(NO_SCORE)
    table_bound = np.int64(0)
    table_depth = np.int64(-1)
    raw_eval = np.int64(NO_SCORE)
    if hit:
        raw_eval = tt.entry_eval(data)
        table_bound = tt.entry_bound(data)
        if table_bound != 0:
            table_score = tt.entry_score(data, ply)
            table_depth = tt.entry_depth(data)
            if node.beyond_limit(pos, th, ply, table_score):
                table_score, table_depth, table_bound = np.int64(NO_SCORE), np.int64(-1), np.int64(0)
        table_move = tt.entry_move(pos, data)
        if table_move != 0 and not is_pseudo_legal(pos, table_move):
            table_move = np.int64(0)
    if excluded == 0:
        th.former_pv[at] = 1 if is_pv or (hit and tt.entry_is_pv(data)) else 0
    table_captures = np.int64(0)
    if table_move != 0 and not (table_move & DROP_BIT) and pos.board[table_move & 127] != 0:
        table_captures = np.int64(1)

    # 3. Mate in one.
    if parts.MATE_IN_ONE and not checked and not hit and excluded == 0 and pos.ply + 1 < th.draw_ply:
        mate = mate_in_one(pos, th.list_end[at - 1])
        if mate != 0:
            if is_pv:
                th.pv_length[ply + 1] = 0
                node.update_pv(th, ply, mate)
            score: Any = np.int64(MATE - 1) - ply
            tt.store(th, key, ply, mate, score, np.int64(NO_SCORE), depth, np.int64(tt.EXACT), th.former_pv[at])
            return score

    # 4. Static evaluation.
    correction = correction_of(th, ply)
    static_eval = th.static_eval[at]
    evaluation = static_eval
    if checked:
        static_eval = th.static_eval[at - 2]
        th.static_eval[at] = static_eval
        raw_eval = np.int64(NO_SCORE)
    elif excluded == 0:
        if raw_eval == NO_SCORE:
            raw_eval = evaluate_score(pos, nn)
            if not hit:
                no_move, no_bound, unsearched = np.int64(0), np.int64(0), np.int64(tt.UNSEARCHED)
                tt.store(th, key, ply, no_move, raw_eval, raw_eval, unsearched, no_bound, th.former_pv[at])
        static_eval = corrected(raw_eval, correction)
        th.static_eval[at] = static_eval
        evaluation = static_eval
        if table_score != NO_SCORE and (table_bound & (tt.LOWER if table_score > evaluation else tt.UPPER)):
            evaluation = table_score
    improving = static_eval > th.static_eval[at - 2]
    worsening = static_eval > -th.static_eval[at - 1]

    # 5. Hindsight: correct the previous move's reduction, now that the evaluation after it is known.
    if parts.HINDSIGHT:
        if prior_reduction >= p.HINDSIGHT_DEEPER and not worsening:
            depth += 1
        if (
            prior_reduction >= p.HINDSIGHT_SHALLOWER
            and depth >= 2
            and static_eval + th.static_eval[at - 1] > p.HINDSIGHT_SUM
        ):
            depth -= 1

    # 6. The table's cut-off.
    if not is_pv and excluded == 0 and table_score != NO_SCORE:
        high = table_score >= beta
        deep_enough = table_depth > depth - (1 if table_score <= beta else 0)
        fits = (table_bound & (tt.LOWER if high else tt.UPPER)) != 0
        expected = (cut_node != 0) == high or depth > p.TABLE_ANY_NODE_DEPTH
        if fits and ((deep_enough and expected) or table_score == MATE - 1 - ply):
            if table_move != 0 and high:
                learn_table_cut(th, ply, table_move, table_captures != 0, prior if prior_quiet else np.int64(0), depth)
            doubtful = parts.TABLE_VERIFICATION and depth >= p.TABLE_VERIFY_DEPTH and abs(table_score) < MATE_BOUND
            if not doubtful or node.table_agrees(pos, th, ply, table_move, high, beta):
                return table_score

    noted = False
    if not checked:
        # The change of the evaluation trains the histories of the previous move.
        if prior_quiet and th.checked[at - 1] == 0:
            learn_change(th, ply, prior, hit)

        # 7. Reverse futility: an evaluation far above beta stays above it.
        if (
            parts.REVERSE_FUTILITY
            and th.former_pv[at] == 0
            and depth < p.REVERSE_DEPTH
            and evaluation >= beta
            and evaluation < MATE_BOUND
            and beta > -MATE_BOUND
            and (table_move == 0 or table_captures != 0)
            and evaluation - late_moves.reverse_margin(depth, hit, improving, worsening, correction) >= beta
        ):
            return toward_zero(2 * beta + evaluation, np.int64(3))

        # 8. Null move: even a pass holds beta.
        if (
            parts.NULL_MOVE
            and cut_node != 0
            and excluded == 0
            and static_eval >= beta - p.NULL_SLOPE * depth - (p.NULL_IMPROVING if improving else 0) + p.NULL_BASE
            and ply >= th.null_floor
            and beta > -MATE_BOUND
        ):
            reduced = depth - p.NULL_REDUCTION - depth // p.NULL_DIVISOR
            reduced -= max((static_eval - beta) // p.NULL_EVALUATION, np.int64(0))
            th.list_end[at] = th.list_end[at - 1]
            node.do_null_move(pos, th, ply)
            score = -search(pos, nn, th, child, -beta, -beta + np.int64(1), reduced, np.int64(node.ALL))
            unmake_null(pos)
            if th.stopped != 0:
                return np.int64(0)
            # An unproven mate is not passed on.
            if score >= beta and score < MATE_BOUND:
                if not parts.NULL_VERIFICATION or th.null_floor != 0 or depth < p.NULL_VERIFY_DEPTH:
                    return score
                # Zugzwang is rare in shogi, but a null move is also blind to slow mates: verify with a real search.
                th.null_floor = ply + toward_zero(3 * reduced, np.int64(4))
                verified = search(pos, nn, th, ply, beta - np.int64(1), beta, reduced, np.int64(node.ALL))
                th.null_floor = 0
                if th.stopped != 0:
                    return np.int64(0)
                if verified >= beta:
                    return score
                # That search went through this node.
                th.former_pv[at] = 1 if hit and tt.entry_is_pv(data) else 0
                th.static_eval[at] = static_eval
        improving = improving or static_eval >= beta

        # 9. Internal reduction: without a table move this node is not worth its depth yet.
        if (
            parts.INTERNAL_REDUCTION
            and not follows
            and not all_node
            and depth >= p.INTERNAL_DEPTH
            and table_move == 0
            and prior_reduction <= p.INTERNAL_PRIOR
        ):
            depth -= 1

        # 10. ProbCut: a capture far above beta in a shallower search is above beta in a deeper one too.
        probcut_beta = beta + p.PROBCUT_MARGIN - (p.PROBCUT_IMPROVING if improving else 0)
        if (
            parts.PROBCUT
            and depth >= p.PROBCUT_DEPTH
            and abs(beta) < MATE_BOUND
            and not (table_score != NO_SCORE and table_score < probcut_beta)
        ):
            gain = probcut_beta - static_eval
            less = np.int64(p.PROBCUT_LESS + (p.PROBCUT_LESS_IMPROVING if improving else 0))
            node.note_checks(pos, th, ply)
            noted = True
            start_picker(pos, th, ply, PROBCUT, table_move if table_captures != 0 else np.int64(0))
            while True:
                move = next_move(pos, th, ply, np.int64(0), np.int64(0))
                if move == 0:
                    break
                if move == excluded or (move != table_move and not exchange_at_least(pos, move, gain)):
                    continue
                if not is_legal(pos, move, th.list_end[at]):
                    continue
                node.do_move(pos, th, ply, move, node.checks_by(pos, th, ply, move))
                below, above = -probcut_beta, -probcut_beta + np.int64(1)
                score = -quiescence(pos, nn, th, child, below, above, False)
                if score >= probcut_beta and depth > less:
                    score = -search(pos, nn, th, child, below, above, depth - less, node.CUT - cut_node)
                unmake(pos)
                if th.stopped != 0:
                    return np.int64(0)
                if score >= probcut_beta:
                    searched = depth - less + 1
                    tt.store(th, key, ply, move, score, raw_eval, searched, np.int64(tt.LOWER), th.former_pv[at])
                    if score < MATE_BOUND:
                        return score - (probcut_beta - beta)

    # 11. Small ProbCut: the table's score is far above beta.
    probcut_beta = beta + p.SMALL_PROBCUT_MARGIN
    if (
        parts.SMALL_PROBCUT
        and table_bound & tt.LOWER
        and table_depth >= depth - p.SMALL_PROBCUT_LESS
        and table_score >= probcut_beta
        and abs(beta) < MATE_BOUND
        and abs(table_score) < MATE_BOUND
    ):
        return probcut_beta

    # 12. The moves.
    table = (table_move, table_score, table_depth, table_captures)
    stage = EVASIONS if checked else MAIN
    start_picker(pos, th, ply, stage, table_move)
    if not noted:
        node.note_checks(pos, th, ply)
    best: Any = np.int64(-INFINITE)
    best_move = np.int64(0)
    number = np.int64(0)
    skip_quiets = np.int64(0)
    tried_quiets = np.int64(0)
    tried_captures = np.int64(0)
    tried_at = at * 2 * TRIED
    while True:
        move = next_move(pos, th, ply, depth, skip_quiets)
        if move == 0:
            break
        if move == excluded or not is_legal(pos, move, th.list_end[at]):
            continue
        number += 1
        captured = np.int64(0)
        if not (move & DROP_BIT):
            captured = np.int64(pos.board[move & 127])
        checks = node.checks_by(pos, th, ply, move)
        new_depth = depth - 1
        grains = late_moves.reduction(th, improving, depth, number, beta - alpha)
        if th.former_pv[at] != 0:
            grains += p.REDUCTION_FORMER_FIRST

        # 13. Pruning, once some move is known to avoid a mate.
        if best > -MATE_BOUND:
            if parts.LATE_MOVE_PRUNING and number >= (p.LATE_MOVES + depth * depth) >> (0 if improving else 1):
                skip_quiets = np.int64(1)
            reduced = new_depth - toward_zero(grains, np.int64(p.GRAIN))
            if captured != 0 or checks:
                if late_moves.prunes_capture(pos, th, ply, move, captured, checks, depth, reduced, alpha):
                    continue
            elif not follows or not is_pv:
                slot = 2 * slot_of(move)
                history = ld16(th.row[at - 1] + slot) + ld16(th.row[at - 2] + slot) + ld16(th.pawn_row[at] + slot)
                if parts.HISTORY_PRUNING and history < -p.HISTORY_PRUNING * depth:
                    continue
                butterfly = p.HISTORY_BUTTERFLY[0] * ld16(butterfly_address(th, move))
                history += toward_zero(butterfly, np.int64(p.HISTORY_BUTTERFLY[1]))
                reduced += toward_zero(history, np.int64(p.HISTORY_DEPTH))
                reach = static_eval + p.QUIET_FUTILITY_BASE + p.QUIET_FUTILITY_SLOPE * reduced
                if best_move == 0:
                    reach += p.QUIET_FUTILITY_NO_BEST
                if static_eval > alpha:
                    reach += p.QUIET_FUTILITY_ABOVE
                if parts.FUTILITY and not checked and reduced < p.QUIET_FUTILITY_DEPTH and reach <= alpha:
                    if best <= reach and best < MATE_BOUND and reach < MATE_BOUND:
                        best = reach
                    continue
                reduced = max(reduced, np.int64(0))
                if parts.SEE_PRUNING and not exchange_at_least(pos, move, -p.QUIET_SEE_SQUARE * reduced * reduced):
                    continue

        # 14. Extensions: a table move without a rival is searched deeper, one with rivals less deep.
        extension = np.int64(0)
        if (
            parts.SINGULAR
            and move == table_move
            and excluded == 0
            and depth >= p.SINGULAR_DEPTH + th.former_pv[at]
            and table_bound & tt.LOWER
            and table_depth >= depth - p.SINGULAR_TABLE_LESS
            and abs(table_score) < MATE_BOUND
        ):
            former = th.former_pv[at]
            slope = p.SINGULAR_SLOPE + (p.SINGULAR_SLOPE_PV if former != 0 and not is_pv else 0)
            bar = table_score - slope * depth // p.SINGULAR_DIVISOR
            th.excluded[at] = move
            score = search(pos, nn, th, ply, bar - np.int64(1), bar, new_depth // 2, cut_node)
            th.excluded[at] = 0
            if th.stopped != 0:
                return np.int64(0)
            # The inner search used this ply's slots: restart the list after the table's move.
            th.follows_pv[at] = 1 if follows else 0
            start_picker(pos, th, ply, stage, table_move)
            next_move(pos, th, ply, depth, np.int64(0))
            if score < bar:
                extension = late_moves.singular_extension(th, ply, is_pv, score, bar, table_captures, correction)
                depth += 1
            elif score >= beta and abs(score) < MATE_BOUND:
                learn_multicut(th, depth)
                return score
            elif table_score >= beta:
                extension = np.int64(p.NEGATIVE_HIGH)
            elif cut_node != 0:
                extension = np.int64(p.NEGATIVE_CUT)
        new_depth += extension

        # 15. Search the move with its reduction; search it again in full if it does better than expected.
        th.move_count[at] = number
        th.stat_score[at] = late_moves.statistics(pos, th, ply, move, captured)
        grains = late_moves.late_reduction(
            th, ply, grains, depth, number, is_pv, cut_node, table, alpha, correction, move == table_move
        )
        node.do_move(pos, th, ply, move, checks)
        score = np.int64(0)
        full = is_pv
        if is_pv:
            th.pv_length[ply + 1] = 0
        if parts.LATE_MOVE_REDUCTION and depth >= 2 and number > 1:
            shallow = max(np.int64(1), min(new_depth - toward_zero(grains, np.int64(p.GRAIN)), new_depth + 2))
            if is_pv:
                shallow += 1
            th.reduction[at] = new_depth - shallow
            score = -search(pos, nn, th, child, -alpha - np.int64(1), -alpha, shallow, np.int64(node.CUT))
            th.reduction[at] = 0
            if score > alpha:
                if new_depth > shallow:
                    score = -search(pos, nn, th, child, -alpha - np.int64(1), -alpha, new_depth, node.CUT - cut_node)
                learn_continuations(th, ply, slot_of(move), np.int64(p.RESEARCH_BONUS))
            full = is_pv and score > alpha
        elif not is_pv or number > 1:
            if table_move == 0:
                grains += p.FULL_NO_MOVE
            shallow = new_depth
            if grains > p.FULL_REDUCTION:
                shallow -= 1
            if grains > p.FULL_REDUCTION_TWICE and new_depth > 2:
                shallow -= 1
            score = -search(pos, nn, th, child, -alpha - np.int64(1), -alpha, shallow, node.CUT - cut_node)
            full = is_pv and score > alpha
        if full:
            th.pv_length[ply + 1] = 0
            if move == table_move and late_moves.is_worth_a_ply(table_score, table_depth):
                new_depth = max(new_depth, np.int64(1))
            score = -search(pos, nn, th, child, -beta, -alpha, new_depth, np.int64(node.PV))
        unmake(pos)
        if th.stopped != 0:
            return np.int64(0)

        # 16. A new best move?
        # Near the horizon one tie in eight counts as better: with a coarse evaluation the first of equal moves is no
        # better than the others.
        tie = ply + 2 >= th.root_depth and (th.nodes & _TIE_NODES) == 0 and abs(score) < MATE_BOUND - 1
        rated = score + 1 if score == best and tie else score
        if rated > best:
            best = score
            if rated > alpha:
                best_move = move
                if is_pv:
                    node.update_pv(th, ply, move)
                if score >= beta:
                    if extension < 2 or is_pv:
                        th.cutoffs[at] += 1
                    break
                alpha = score
                if (
                    parts.ALPHA_DEPTH
                    and depth > p.ALPHA_DEPTHS[0]
                    and depth < p.ALPHA_DEPTHS[1]
                    and abs(score) < MATE_BOUND
                ):
                    depth -= p.ALPHA_LESS
        if move != best_move and number <= TRIED:
            if captured != 0:
                th.tried[tried_at + TRIED + tried_captures] = move
                tried_captures += 1
            else:
                th.tried[tried_at + tried_quiets] = move
                tried_quiets += 1

    # 17. The result, and learning from it.
    if number == 0:
        # With a move excluded, the result only shows that no other move is as good.
        best = alpha if excluded != 0 else np.int64(-MATE) + ply
    else:
        if best_move != 0:
            learn_best(pos, th, ply, is_pv, best_move, table_move, depth, tried_quiets, tried_captures)
            if not is_pv:
                learn_table_move(th, np.int64(p.TABLE_MOVE_BONUS if best_move == table_move else -p.TABLE_MOVE_MALUS))
        elif parts.PRIOR_MOVE:
            learn_prior(pos, th, ply, best, depth)
    if best <= alpha and th.former_pv[at - 1] != 0:
        th.former_pv[at] = 1
    if excluded == 0:
        bound = tt.LOWER if best >= beta else (tt.EXACT if is_pv and best_move != 0 else tt.UPPER)
        tt.store(th, key, ply, best_move, best, raw_eval, depth, bound, th.former_pv[at])
    if not checked and (best > static_eval) == (best_move != 0):
        captures = best_move != 0 and (best_move & DROP_BIT) == 0 and pos.board[best_move & 127] != 0
        if not captures:
            learn_correction(th, ply, best - static_eval, depth, best_move)
    return best

"""The tree search: principal variation search. A thread has a Record of each: position, net, thread.

``ply`` counts from the search's root (the position's own ``ply`` counts from the game's). A score of 0 comes back when
``th.stopped`` is set: callers return at once and use nothing of it.

The family is Stockfish's and YaneuraOu's; which part is worth what is measured in ``docs/search.md`` and each can be
left out (`worker.search.parts`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.nnue.evaluation import evaluate_score
from worker.score import INFINITE, MATE, MATE_BOUND, MAX_PLY, NO_SCORE
from worker.search.correction import corrected, learn_correction
from worker.search.exchange import exchange_at_least
from worker.search.history import add_killer, bonus_of, capture_address, learn, learn_quiet, quiet_history
from worker.search.mate1 import mate_in_one
from worker.search.node import do_move, game_end_score, poll, update_pv
from worker.search.parts import part
from worker.search.picker import EVASIONS, MAIN, PROBCUT, next_move, start_picker
from worker.search.quiescence import quiescence
from worker.search.state import LOG_SCALE, OFFSET, TRIED
from worker.search.tt import (
    EXACT,
    LOWER,
    UPPER,
    entry_bound,
    entry_depth,
    entry_eval,
    entry_is_pv,
    entry_move,
    entry_score,
    prefetch_entry,
    probe,
    store,
)
from worker.shogi.attacks import in_check, update_checks
from worker.shogi.checks import discoverers, gives_check
from worker.shogi.makemove import is_legal, make_null, unmake, unmake_null
from worker.shogi.movegen import is_pseudo_legal
from worker.shogi.pieces import DROP_BIT, PAWN, PROMOTE_BIT

_CHECK_EXTENSION = part("check_extension")
_CORRECTION = part("correction_history")
_DEEPER = part("deeper")
_DOUBLE_EXTENSION = part("double_extension")
_FUTILITY = part("futility")
_HISTORY_PRUNING = part("history_pruning")
_INTERNAL_REDUCTION = part("internal_reduction")
_LATE_MOVE_PRUNING = part("late_move_pruning")
_LATE_MOVE_REDUCTION = part("late_move_reduction")
_MATE_IN_ONE = part("mate_in_one")
_NULL_MOVE = part("null_move")
_NULL_VERIFICATION = part("null_verification")
_PRIOR_MOVE = part("prior_move")
_PROBCUT = part("probcut")
_RAZORING = part("razoring")
_REVERSE_FUTILITY = part("reverse_futility")
_SEE_PRUNING = part("see_pruning")
_SINGULAR = part("singular")

_VERIFY_DEPTH: Final = 12
"""From this depth on a null move's cut-off is verified."""
_PROBCUT_DEPTH: Final = 5
_PROBCUT_MARGIN: Final = 150


@jit()
def reduction(th: Any, depth: int, number: int) -> Any:
    """Base late-move reduction in plies of the ``number``-th move."""
    product = th.log_table[min(depth, np.int64(63))] * th.log_table[min(number, np.int64(63))]
    return (product // LOG_SCALE + LOG_SCALE // 2) // (2 * LOG_SCALE)


@jit()
def search(pos: Any, nn: Any, th: Any, ply: int, alpha: int, beta: int, depth: int, cut_node: int) -> Any:
    """The score of the position for the side to move, exact within (alpha, beta), else a bound (fail-soft).

    ``cut_node`` is 1 where a fail-high is expected.
    """
    if depth <= 0:
        return quiescence(pos, nn, th, ply, alpha, beta, np.int64(1))
    if th.nodes >= th.next_poll:
        poll(th)
    if th.stopped != 0:
        return np.int64(0)
    at = OFFSET + ply
    is_pv = beta - alpha > 1
    if is_pv:
        th.pv_length[ply] = 0
    th.seldepth = max(th.seldepth, ply)
    update_checks(pos)
    checked = in_check(pos)
    excluded = th.excluded[at]
    th.killers[2 * at + 2] = 0
    th.killers[2 * at + 3] = 0
    th.cutoffs[at + 1] = 0

    ended = game_end_score(pos, th, ply)
    if ended != NO_SCORE:
        return ended
    if ply >= MAX_PLY - 2:
        return evaluate_score(pos, nn)
    # Mate distance: no line from here can beat a mate already found nearer the root.
    alpha = max(alpha, ply - MATE)
    beta = min(beta, MATE - ply - 1)
    if alpha >= beta:
        return alpha

    key = pos.key
    data = np.uint64(0)
    table_move = np.int64(0)
    table_score = np.int64(NO_SCORE)
    table_bound = np.int64(0)
    table_depth = np.int64(-1)
    was_pv = is_pv
    if excluded == 0:
        data = probe(th, key)
    if data != np.uint64(0):
        table_score = entry_score(data, ply)
        table_bound = entry_bound(data)
        table_depth = entry_depth(data)
        was_pv = is_pv or entry_is_pv(data)
        table_move = entry_move(pos, data)
        if table_move != 0 and not is_pseudo_legal(pos, table_move):
            table_move = np.int64(0)
        if not is_pv and (table_depth >= depth or table_score == MATE - 1 - ply):
            if table_score >= beta:
                if table_bound & LOWER:
                    if table_move != 0 and pos.board[table_move & 127] == 0:
                        learn_quiet(th, ply, table_move, bonus_of(depth))
                    return table_score
            elif table_bound & UPPER:
                return table_score

    if _MATE_IN_ONE and not checked and data == np.uint64(0) and excluded == 0 and pos.ply + 1 < th.draw_ply:
        mate = mate_in_one(pos, th.list_end[at - 1])
        if mate != 0:
            if is_pv:
                th.pv_length[ply + 1] = 0
                update_pv(th, ply, mate)
            score = np.int64(MATE - 1) - ply
            store(th, key, ply, mate, score, np.int64(NO_SCORE), depth, np.int64(EXACT), np.int64(was_pv))
            return score

    # Static evaluation, and what it allows to leave out.
    raw_eval = np.int64(NO_SCORE)
    static_eval = np.int64(NO_SCORE)
    improving = False
    evaluation = np.int64(NO_SCORE)
    if not checked:
        if excluded != 0:
            static_eval = th.static_eval[at]
        else:
            if data != np.uint64(0):
                raw_eval = entry_eval(data)
            if raw_eval == NO_SCORE:
                raw_eval = evaluate_score(pos, nn)
                if data == np.uint64(0):
                    store(th, key, ply, np.int64(0), raw_eval, raw_eval, np.int64(0), np.int64(0), np.int64(was_pv))
            static_eval = corrected(pos, th, ply, raw_eval) if _CORRECTION else raw_eval
        evaluation = static_eval
        if table_score != NO_SCORE and (
            (table_bound & LOWER and table_score > evaluation) or (table_bound & UPPER and table_score < evaluation)
        ):
            evaluation = table_score
        earlier = th.static_eval[at - 2]
        if earlier == NO_SCORE:
            earlier = th.static_eval[at - 4]
        improving = earlier == NO_SCORE or static_eval > earlier
    th.static_eval[at] = static_eval

    if not checked and not is_pv and excluded == 0:
        if _RAZORING and depth <= 3 and evaluation + 250 + 220 * depth * depth < alpha:
            score = quiescence(pos, nn, th, ply, alpha, alpha + np.int64(1), np.int64(0))
            if score <= alpha or th.stopped != 0:
                return score
        if _REVERSE_FUTILITY and depth < 9 and evaluation >= beta and evaluation < MATE_BOUND and beta > -MATE_BOUND:
            margin = 95 * (depth - (1 if improving else 0))
            if evaluation - margin >= beta:
                return (2 * beta + evaluation) // 3
        if (
            _NULL_MOVE
            and evaluation >= beta
            and static_eval >= beta - 20 * depth + 150
            and depth >= 2
            and beta > -MATE_BOUND
            and ply >= th.null_floor
            and pos.st_move[pos.ply - 1] != 0
        ):
            reduced = depth - 4 - depth // 4 - min((evaluation - beta) // 200, np.int64(3))
            th.slot[at] = 0
            th.list_end[at] = th.list_end[at - 1]
            make_null(pos)
            prefetch_entry(th, pos.key)
            score = -search(pos, nn, th, ply + np.int64(1), -beta, -beta + np.int64(1), reduced, 1 - cut_node)
            unmake_null(pos)
            if th.stopped != 0:
                return np.int64(0)
            if score >= beta:
                # An unproven mate is not passed on.
                if score >= MATE_BOUND:
                    score = beta
                if not _NULL_VERIFICATION or th.null_floor != 0 or depth < _VERIFY_DEPTH:
                    return score
                # Zugzwang is rare in shogi, but a null move is also blind to slow mates: look with a real move.
                th.null_floor = ply + 3 * max(np.int64(1), reduced) // 4
                verified = search(pos, nn, th, ply, beta - np.int64(1), beta, reduced, np.int64(0))
                th.null_floor = 0
                if th.stopped != 0:
                    return np.int64(0)
                if verified >= beta:
                    return score

    if _INTERNAL_REDUCTION and depth >= 4 and table_move == 0 and (is_pv or cut_node != 0):
        depth -= 1

    hidden = discoverers(pos)
    probcut_beta = beta + _PROBCUT_MARGIN - (50 if improving else 0)
    if (
        _PROBCUT
        and not checked
        and not is_pv
        and excluded == 0
        and depth >= _PROBCUT_DEPTH
        and abs(beta) < MATE_BOUND
        and not (table_score != NO_SCORE and table_depth >= depth - 3 and table_score < probcut_beta)
    ):
        # A capture that wins far more than beta asks, by a shallower search, will do so by a deeper one.
        gain = probcut_beta - static_eval
        start_picker(pos, th, ply, PROBCUT, np.int64(0))
        while True:
            move = next_move(pos, th, ply, np.int64(0))
            if move == 0:
                break
            if not exchange_at_least(pos, move, gain) or not is_legal(pos, move, th.list_end[at]):
                continue
            do_move(pos, th, ply, move)
            score = -quiescence(pos, nn, th, ply + np.int64(1), -probcut_beta, -probcut_beta + np.int64(1), np.int64(0))
            if score >= probcut_beta and depth > 4:
                score = -search(
                    pos, nn, th, ply + np.int64(1), -probcut_beta, -probcut_beta + np.int64(1), depth - 4, 1 - cut_node
                )
            unmake(pos)
            if th.stopped != 0:
                return np.int64(0)
            if score >= probcut_beta:
                store(th, key, ply, move, score, raw_eval, depth - 3, np.int64(LOWER), np.int64(was_pv))
                return score if score >= MATE_BOUND else score - (probcut_beta - beta)

    start_picker(pos, th, ply, EVASIONS if checked else MAIN, table_move)
    best = np.int64(-INFINITE)
    best_move = np.int64(0)
    old_alpha = alpha
    number = np.int64(0)
    skip_quiets = np.int64(0)
    tried_quiets = np.int64(0)
    tried_captures = np.int64(0)
    tried_at = at * 2 * TRIED
    while True:
        move = next_move(pos, th, ply, skip_quiets)
        if move == 0:
            break
        if move == excluded:
            continue
        list_end = th.list_end[at]
        captured = np.int64(0)
        if not (move & DROP_BIT):
            captured = np.int64(pos.board[move & 127]) & 15
        quiet = captured == 0 and not ((move & PROMOTE_BIT) != 0 and ((move >> 16) & 15) == PAWN)
        checks = gives_check(pos, move, hidden)
        history = np.int64(0)

        # Pruning at shallow depth, once some move is known to avoid a mate.
        if number > 0 and best > -MATE_BOUND:
            if _LATE_MOVE_PRUNING and number >= (4 + depth * depth) // (1 if improving else 2) + 2:
                skip_quiets = np.int64(1)
            lmr_depth = max(np.int64(0), depth - reduction(th, depth, number))
            if quiet and not checks:
                history = quiet_history(th, ply, move)
                if skip_quiets != 0 and not checked:
                    continue
                if _HISTORY_PRUNING and lmr_depth < 6 and history < -4500 * depth:
                    continue
                margin = 130 + 110 * lmr_depth + history // 256
                if _FUTILITY and not checked and lmr_depth < 8 and static_eval + margin <= alpha:
                    continue
                if (
                    _SEE_PRUNING
                    and not checked
                    and lmr_depth < 9
                    and not exchange_at_least(pos, move, -28 * lmr_depth * lmr_depth)
                ):
                    continue
            elif _SEE_PRUNING and not checked and depth < 7 and not exchange_at_least(pos, move, -150 * depth):
                continue
        elif quiet:
            history = quiet_history(th, ply, move)
        if not is_legal(pos, move, list_end):
            continue
        number += 1

        extension = np.int64(0)
        if (
            _SINGULAR
            and move == table_move
            and excluded == 0
            and depth >= 7
            and table_bound & LOWER
            and table_depth >= depth - 3
            and abs(table_score) < MATE_BOUND
            and ply < 2 * th.root_depth
        ):
            # Singular: if no other move comes near the table's, this one is searched deeper.
            bar = table_score - 2 * depth
            th.excluded[at] = move
            score = search(pos, nn, th, ply, bar - np.int64(1), bar, (depth - 1) // 2, cut_node)
            th.excluded[at] = 0
            if th.stopped != 0:
                return np.int64(0)
            # The inner search used this ply's picker: begin the list anew behind the table's move.
            start_picker(pos, th, ply, EVASIONS if checked else MAIN, table_move)
            next_move(pos, th, ply, np.int64(0))
            list_end = th.list_end[at]
            if score < bar:
                extension = np.int64(1)
                if _DOUBLE_EXTENSION and not is_pv and score < bar - 20 and ply < th.root_depth:
                    extension = np.int64(2)
            elif bar >= beta:
                return bar
            elif table_score >= beta:
                extension = np.int64(-1)
        elif (
            _CHECK_EXTENSION
            and checks
            and depth < 12
            and ply < 2 * th.root_depth
            and exchange_at_least(pos, move, np.int64(0))
        ):
            extension = np.int64(1)

        new_depth = depth - 1 + extension
        do_move(pos, th, ply, move)
        score = np.int64(0)
        full = is_pv and number == 1
        if is_pv:
            th.pv_length[ply + 1] = 0
        if _LATE_MOVE_REDUCTION and depth >= 2 and number > 1 and (quiet or number > 6):
            less = reduction(th, depth, number)
            if cut_node != 0:
                less += 2
            if not improving:
                less += 1
            if was_pv:
                less -= 1
            if checks or checked:
                less -= 1
            if th.cutoffs[at + 1] > 3:
                less += 1
            if quiet:
                less -= history // 12000
            else:
                less -= 1
            shallow = min(new_depth, max(np.int64(1), new_depth - less))
            score = -search(pos, nn, th, ply + np.int64(1), -alpha - np.int64(1), -alpha, shallow, np.int64(1))
            if score > alpha and shallow < new_depth:
                if _DEEPER:
                    # How clearly it beat the rest says how deep it deserves to be looked at again.
                    if score > best + 60:
                        new_depth += 1
                    elif score < best + 8:
                        new_depth -= 1
                score = -search(pos, nn, th, ply + np.int64(1), -alpha - np.int64(1), -alpha, new_depth, 1 - cut_node)
            full = is_pv and score > alpha and score < beta
        elif not is_pv or number > 1:
            score = -search(pos, nn, th, ply + np.int64(1), -alpha - np.int64(1), -alpha, new_depth, 1 - cut_node)
            full = is_pv and score > alpha and score < beta
        if full:
            score = -search(pos, nn, th, ply + np.int64(1), -beta, -alpha, new_depth, np.int64(0))
        unmake(pos)
        if th.stopped != 0:
            return np.int64(0)

        if score > best:
            best = score
            if score > alpha:
                best_move = move
                if is_pv:
                    update_pv(th, ply, move)
                if score >= beta:
                    break
                alpha = score
        if quiet and tried_quiets < TRIED:
            th.tried[tried_at + tried_quiets] = move
            tried_quiets += 1
        elif not quiet and tried_captures < TRIED:
            th.tried[tried_at + TRIED + tried_captures] = move
            tried_captures += 1

    if number == 0:
        # With a move excluded nothing is known but that no other is as good.
        return alpha if excluded != 0 else np.int64(-MATE) + ply

    if best >= beta:
        th.cutoffs[at] += 1
        bonus = bonus_of(depth)
        captured = np.int64(pos.board[best_move & 127])
        promotes = (best_move & PROMOTE_BIT) != 0 and ((best_move >> 16) & 15) == PAWN
        if captured == 0 and not promotes:
            add_killer(th, ply, best_move)
            learn_quiet(th, ply, best_move, bonus)
            for i in range(tried_quiets):
                learn_quiet(th, ply, th.tried[tried_at + i], -bonus)
        else:
            learn(capture_address(th, best_move, captured), bonus)
        for i in range(tried_captures):
            other = th.tried[tried_at + TRIED + i]
            learn(capture_address(th, other, np.int64(pos.board[other & 127])), -bonus)
    elif _PRIOR_MOVE and best <= old_alpha and ply > 0 and excluded == 0:
        # Nothing here was good enough: the quiet move that led here was a good one.
        before = pos.st_move[pos.ply - 1]
        if before != 0 and pos.st_captured[pos.ply - 1] == 0:
            learn_quiet(th, ply - np.int64(1), before, bonus_of(depth))
    if excluded == 0:
        bound = LOWER if best >= beta else (EXACT if is_pv and best > old_alpha else UPPER)
        store(th, key, ply, best_move, best, raw_eval, min(depth, np.int64(127)), bound, np.int64(was_pv))
        if _CORRECTION and not checked:
            # Only where the score says something about a quiet position's evaluation.
            loud = best_move != 0 and (not (best_move & DROP_BIT)) and pos.board[best_move & 127] != 0
            if (
                not loud
                and not (bound == LOWER and best <= static_eval)
                and not (bound == UPPER and best >= static_eval)
            ):
                learn_correction(pos, th, ply, best - static_eval, depth)
    return best

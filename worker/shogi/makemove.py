"""Make and unmake moves, full legality, perft, repetition. NNUE finds the changes in the stacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.jit.bits import high, low, single
from worker.jit.llvm import never_inline
from worker.jit.memory import ldu64
from worker.shogi import tables
from worker.shogi.attacks import update_checks
from worker.shogi.movegen import generate, generate_evasions, is_pseudo_legal, leaves_king_safe
from worker.shogi.pieces import BLACK, DROP_BIT, GOLD, KING, PAWN, PRO_PAWN, PRO_SILVER
from worker.shogi.state import GOLDS

_ZOBRIST_BOARD, _ZOBRIST_HAND, _SIDE = tables.ZOBRIST_BOARD, tables.ZOBRIST_HAND, tables.ZOBRIST_SIDE


@jit()
def _toggle(pos: Any, piece: int, mask: Any) -> None:
    pos.bb[2 * piece] ^= low(mask)
    pos.bb[2 * piece + 1] ^= high(mask)


@jit()
def _moves_like_gold(kind: int) -> bool:
    return kind == GOLD or (kind >= PRO_PAWN and kind <= PRO_SILVER)


@jit()
def toggle_piece(pos: Any, piece: int, sq: int) -> None:
    """Put a piece on, or take it off, the bitboards of its kind and its colour."""
    mask = single(sq)
    _toggle(pos, piece, mask)
    _toggle(pos, piece & 16, mask)
    if _moves_like_gold(piece & 15):
        _toggle(pos, (piece & 16) | GOLDS, mask)


@jit()
def _shift_piece(pos: Any, piece: int, origin: int, target: int) -> None:
    """Move a piece without promotion on its bitboards: both squares at once, which is cheaper than removing and
    adding."""
    both = single(origin) | single(target)
    _toggle(pos, piece, both)
    _toggle(pos, piece & 16, both)
    if _moves_like_gold(piece & 15):
        _toggle(pos, (piece & 16) | GOLDS, both)


@jit()
def zobrist_board(pos: Any, piece: int, sq: int) -> Any:
    return ldu64(pos.tables + _ZOBRIST_BOARD + (piece * 81 + sq) * 8)


@jit()
def zobrist_hand(pos: Any, colour: int, kind: int, number: int) -> Any:
    return ldu64(pos.tables + _ZOBRIST_HAND + ((colour * 8 + kind) * 20 + number) * 8)


@jit()
def keys_after(pos: Any, move: int) -> tuple[Any, Any]:
    """The board's key and the hands' key (two uint64) after a legal move, before it is made."""
    side = pos.side
    board, hands = pos.board_key ^ _SIDE, pos.key ^ pos.board_key
    target = move & 127
    piece = move >> 16
    board ^= zobrist_board(pos, piece | ((move >> 11) & 8), target)
    if move & DROP_BIT:
        held = pos.hand[side * 8 + (piece & 15)]
        hands ^= zobrist_hand(pos, side, piece & 15, held) ^ zobrist_hand(pos, side, piece & 15, held - 1)
    else:
        board ^= zobrist_board(pos, piece, (move >> 7) & 127)
        captured = np.int64(pos.board[target])
        if captured != 0:
            held = pos.hand[side * 8 + (captured & 7)]
            hands ^= zobrist_hand(pos, side, captured & 7, held) ^ zobrist_hand(pos, side, captured & 7, held + 1)
            board ^= zobrist_board(pos, captured, target)
    return board, hands


@jit()
def make(pos: Any, move: int) -> None:
    """Make a legal move."""
    board, hands = keys_after(pos, move)
    make_known(pos, move, board, hands)


@jit()
def make_known(pos: Any, move: int, board: Any, hands: Any) -> None:
    """Make a legal move whose `keys_after` are known."""
    side = pos.side
    ply = pos.ply
    target = move & 127
    piece = move >> 16
    kind = piece & 15
    own = side * 8
    pos.st_move[ply] = move
    captured = np.int64(0)
    if move & DROP_BIT:
        held = pos.hand[own + kind]
        pos.hand[own + kind] = held - 1
        pos.st_hand[ply] = held - 1
        pos.board[target] = piece
        toggle_piece(pos, piece, target)
    else:
        origin = (move >> 7) & 127
        captured = np.int64(pos.board[target])
        placed = piece | ((move >> 11) & 8)
        if captured != 0:
            held = pos.hand[own + (captured & 7)]
            pos.hand[own + (captured & 7)] = held + 1
            pos.st_hand[ply] = held
            toggle_piece(pos, captured, target)
        pos.board[origin] = 0
        pos.board[target] = placed
        if placed == piece:
            _shift_piece(pos, piece, origin, target)
            if kind == KING:
                pos.ksq[side] = target
        else:
            toggle_piece(pos, piece, origin)
            toggle_piece(pos, placed, target)
    pos.st_captured[ply] = captured
    pos.side = 1 - side
    pos.ply = ply + 1
    pos.board_key = board
    pos.key = board ^ hands
    pos.st_board[ply + 1] = board
    pos.st_key[ply + 1] = board ^ hands


@jit()
def unmake(pos: Any) -> None:
    """Take the last move back."""
    ply = pos.ply - 1
    side = 1 - pos.side
    move = pos.st_move[ply]
    target = move & 127
    piece = move >> 16
    kind = piece & 15
    pos.ply = ply
    pos.side = side
    pos.key = pos.st_key[ply]
    pos.board_key = pos.st_board[ply]
    if move & DROP_BIT:
        pos.hand[side * 8 + kind] += 1
        pos.board[target] = 0
        toggle_piece(pos, piece, target)
        return
    origin = (move >> 7) & 127
    captured = pos.st_captured[ply]
    placed = piece | ((move >> 11) & 8)
    pos.board[origin] = piece
    pos.board[target] = captured
    if placed == piece:
        _shift_piece(pos, piece, target, origin)
        if kind == KING:
            pos.ksq[side] = origin
    else:
        toggle_piece(pos, placed, target)
        toggle_piece(pos, piece, origin)
    if captured != 0:
        pos.hand[side * 8 + (captured & 7)] -= 1
        toggle_piece(pos, captured, target)


@jit()
def make_null(pos: Any) -> None:
    """Pass. Only for a side that is not in check."""
    ply = pos.ply
    pos.st_move[ply] = 0
    pos.st_captured[ply] = 0
    pos.side = 1 - pos.side
    pos.ply = ply + 1
    pos.key ^= _SIDE
    pos.board_key ^= _SIDE
    pos.st_key[ply + 1] = pos.key
    pos.st_board[ply + 1] = pos.board_key


@jit()
def unmake_null(pos: Any) -> None:
    """Take a pass back."""
    pos.ply -= 1
    pos.side = 1 - pos.side
    pos.key = pos.st_key[pos.ply]
    pos.board_key = pos.st_board[pos.ply]


@jit()
def _drop_mates(pos: Any, move: int, n: int) -> bool:
    """Whether a checking pawn drop mates. Uses ``pos.moves`` from ``n`` on."""
    never_inline()
    make(pos, move)
    update_checks(pos)
    end = generate_evasions(pos, n, 1)
    mated = True
    for i in range(n, end):
        if leaves_king_safe(pos, pos.moves[i]):
            mated = False
            break
    unmake(pos)
    return mated


@jit()
def is_legal(pos: Any, move: int, n: int) -> bool:
    """Whether a pseudo-legal move is legal. Uses ``pos.moves`` from ``n`` on as scratch."""
    if not leaves_king_safe(pos, move):
        return False
    if (move & DROP_BIT) and ((move >> 7) & 127) == PAWN:
        # At the end of a file the square ahead belongs to the next file, but no pawn may be dropped there.
        ahead = (move & 127) - 1 if pos.side == BLACK else (move & 127) + 1
        if ahead == pos.ksq[1 - pos.side]:
            return not _drop_mates(pos, move, n)
    return True


@jit()
def legal_moves(pos: Any, n: int, every: int) -> int:
    """Write the legal moves to ``pos.moves`` from ``n`` on and return the end. Calls `update_checks`."""
    update_checks(pos)
    end = generate(pos, n, every)
    kept = n
    for i in range(n, end):
        move = pos.moves[i]
        if is_legal(pos, move, end):
            pos.moves[kept] = move
            kept += 1
    return kept


@jit()
def check_move(pos: Any, move: int) -> bool:
    """Whether any number at all is a legal move here. Calls `update_checks`."""
    update_checks(pos)
    return is_pseudo_legal(pos, move) and is_legal(pos, move, np.int64(0))


@jit(whole=True)
def perft(pos: Any, depth: int, n: int, bulk: int) -> int:
    """Number of move sequences of ``depth`` plies (≥ 1). ``bulk`` counts the last ply without making it."""
    update_checks(pos)
    end = generate(pos, n, np.int64(1))
    nodes: Any = np.int64(0)
    for i in range(n, end):
        move = pos.moves[i]
        if not is_legal(pos, move, end):
            continue
        if depth <= 1:
            if bulk == 0:
                make(pos, move)
                unmake(pos)
            nodes += 1
        else:
            make(pos, move)
            nodes += perft(pos, depth - 1, end, bulk)
            unmake(pos)
    return nodes


@jit()
def repetition_distance(pos: Any, oldest: int) -> int:
    """Plies back to the last occurrence of this position, not before ply ``oldest``; 0 if there is none."""
    key = pos.key
    at = pos.ply - 4
    while at >= oldest:
        if pos.st_key[at] == key:
            return pos.ply - at
        at -= 2
    return 0


@jit()
def fourth_time(pos: Any) -> Any:
    """Plies back to the first of four occurrences of the position in the game; 0: fewer occurrences."""
    times = np.int64(0)
    at = pos.ply - 4
    while at >= 0:
        if pos.st_key[at] == pos.key:
            times += 1
            if times == 3:
                return pos.ply - at
        at -= 2
    return np.int64(0)


@jit()
def perpetual_check(pos: Any, distance: int) -> int:
    """The side that checked with all its moves of the last ``distance`` plies: 1 the one to move, -1 the other, 0 none.

    The side that checked loses. Expects `update_checks` for the current ply.
    """
    ply = pos.ply
    side = pos.side
    if pos.st_run[2 * ply + side] >= distance:
        return 1
    if pos.st_run[2 * ply + 1 - side] >= distance:
        return -1
    return 0


@jit()
def legal_length(pos: Any, moves: Any, count: int) -> int:
    """Count the moves at the beginning of ``moves[:count]`` that are legal; the position is unchanged.

    Args:
        moves: int64 array of moves without their piece (`worker.shogi.notation.usi_code`), no more of them than the
            stacks of the position hold.
    """
    made = 0
    while made < count:
        move = moves[made]
        if move == 0:
            break
        origin = (move >> 7) & 127
        if move & DROP_BIT:
            move |= ((pos.side << 4) | origin) << 16
        else:
            move |= np.int64(pos.board[origin]) << 16
        if not check_move(pos, move):
            break
        make(pos, move)
        made += 1
    for _ in range(made):
        unmake(pos)
    return made

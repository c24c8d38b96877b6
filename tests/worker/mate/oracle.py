"""The truth about a small position without any of this project's code: rsshogi's moves and rules, plain Python."""

from __future__ import annotations

from rsshogi.core import Board


def _place(board: Board) -> str:
    """A position without its move number: pieces, side to move and hands."""
    return str(board.to_sfen()).rsplit(" ", 1)[0]


def _children(place: str, attacks: bool) -> list[str]:
    """The positions after each check, or after each move of the defender."""
    board = Board()
    board.set_sfen(f"{place} 1")
    found = []
    for move in board.legal_moves():
        board.apply_move(move)
        if not attacks or board.is_in_check():
            found.append(_place(board))
        board.undo_move(move)
    return found


def mates(sfen: str, cap: int) -> bool | None:
    """Whether the side to move mates by checks alone; None if more than ``cap`` positions arise.

    All of them are generated, then "mated" spreads from the mates backwards until nothing changes: a side that can only
    repeat positions does not mate.
    """
    root = sfen.rsplit(" ", 1)[0]
    attacker = root.split()[1]
    children: dict[str, list[str]] = {}
    todo = [root]
    while todo:
        place = todo.pop()
        if place in children:
            continue
        if len(children) == cap:
            return None
        children[place] = _children(place, place.split()[1] == attacker)
        todo += children[place]
    won: set[str] = set()
    changed = True
    while changed:
        changed = False
        for place, after in children.items():
            enough = any if place.split()[1] == attacker else all
            if place not in won and enough(child in won for child in after):
                won.add(place)
                changed = True
    return root in won


def mates_within(sfen: str, plies: int) -> bool:
    """Brute force: whether the side to move mates by checks alone within ``plies`` (odd)."""
    board = Board()
    board.set_sfen(sfen)
    return _mates_within(board, plies)


def _mates_within(board: Board, plies: int) -> bool:
    for move in board.legal_moves():
        board.apply_move(move)
        mated = board.is_in_check() and _is_mated_within(board, plies - 1)
        board.undo_move(move)
        if mated:
            return True
    return False


def _is_mated_within(board: Board, plies: int) -> bool:
    replies = board.legal_moves()
    if plies == 0:
        return not replies
    for move in replies:
        board.apply_move(move)
        mated = _mates_within(board, plies - 1)
        board.undo_move(move)
        if not mated:
            return False
    return True

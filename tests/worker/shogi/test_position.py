"""Position: make and unmake, repetition, declaration, history."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.playouts import STARTS
from worker.shogi import (
    HANDICAPS,
    STARTPOS,
    MoveError,
    Position,
    Repetition,
    SfenError,
    declaration,
    move_to_csa,
    move_to_usi,
)
from worker.shogi.makemove import make_null, unmake_null
from worker.shogi.position import Replay
from worker.shogi.state import MAX_HISTORY

SHUFFLE = ("2h3h", "8b7b", "3h2h", "7b8b")
OTHER = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"


def snapshot(position: Position) -> tuple[object, ...]:
    record = position.record
    return (
        position.sfen(),
        position.key,
        tuple(record.bb),
        tuple(record.ksq),
        position.in_check(),
        int(record.ply),
    )


@given(seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_unmake_restores_everything(seed: int) -> None:
    rng = random.Random(seed)
    position = Position.from_sfen(rng.choice([*HANDICAPS.values()]))
    stack = []
    for _ in range(120):
        stack.append(snapshot(position))
        moves = position.legal_moves()
        if not moves:
            break
        position.push(rng.choice(moves))
        fresh = Position.from_sfen(position.sfen())
        assert fresh.key == position.key
        assert list(fresh.record.bb) == list(position.record.bb)
    while position.history:
        position.pop()
        stack = stack[: len(position.history) + 1]
        assert snapshot(position) == stack[-1]


@given(seed=st.integers(0, 2**32))
@settings(max_examples=30)
def test_moves_survive_both_notations(seed: int) -> None:
    rng = random.Random(seed)
    position = Position.startpos()
    for _ in range(60):
        moves = position.legal_moves()
        if not moves:
            break
        for move in moves:
            assert position.parse_usi(move_to_usi(move)) == move
            assert position.parse_csa(move_to_csa(move)) == move
        position.push(rng.choice(moves))


def test_a_refused_move_leaves_the_position() -> None:
    position = Position.startpos()
    before = snapshot(position)
    for text in ("7g7e", "7f7e", "P*5e", "8h2b+", "xyz", "", "7g7f+", "0a1b"):
        with pytest.raises(MoveError):
            position.push_usi(text)
    for text in ("-3334FU", "+7775FU", "+7776TO", "+0055FU", "+7776XX", "%TORYO", "+0055OU"):
        with pytest.raises(MoveError):
            position.push_csa(text)
    with pytest.raises(MoveError, match="move 2"):
        position.push_all(["7g7f", "7g7f"])
    assert snapshot(position) == before
    with pytest.raises(IndexError):
        position.pop()


def test_fourth_occurrence_is_a_draw() -> None:
    position = Position.startpos()
    for round_ in range(1, 4):
        position.push_all(SHUFFLE)
        assert position.occurrences() == round_ + 1
        assert position.repetition() is (Repetition.DRAW if round_ == 3 else Repetition.NONE)


CHASE = "4k4/9/9/9/9/9/9/4R4/3K5 w - 1"


def test_perpetual_check_loses_for_the_checker() -> None:
    """The rook checks along the ranks for ever; each position is judged for its side to move."""
    position = Position.from_sfen(CHASE)
    cycle = ("5a4a", "5h4h", "4a5a", "4h5h")
    for _ in range(3):
        position.push_all(cycle)
    assert position.occurrences() == 4
    assert position.repetition() is Repetition.WIN  # white, in check, is to move
    position.push_usi("5a4a")
    assert position.repetition() is Repetition.LOSE  # black made the checks and is to move


def test_one_quiet_move_in_the_cycle_makes_it_a_draw() -> None:
    position = Position.from_sfen(CHASE)
    for moves in (("5a4a", "5h4h", "4a5a", "4h5h"), ("5a4a", "5h6h", "4a5a", "6h5h")) * 2:
        position.push_all(moves)
    assert position.occurrences() == 5
    assert position.repetition() is Repetition.DRAW


# Black's king, ten other pieces in the camp (8 small ones, rook and bishop: 18 points), rook and bishop in hand: 28.
DECLARABLE = "2SGKGS2/1R5B1/PPPP5/9/9/9/9/9/4k4 b RB 1"


@pytest.mark.parametrize(
    ("sfen", "expected"),
    [
        (DECLARABLE, True),
        ("2SGKGS2/1R5B1/PPPP5/9/9/9/9/9/4k4 b R4P 1", False),  # 27 points
        ("2SGKGS2/1R5B1/PPPP5/9/9/9/9/9/4k4 b R5P 1", True),
        ("2SG1GS2/1R5B1/PPPP5/4K4/9/9/9/9/4k4 b RB4P 1", False),  # the king is outside
        ("2SGKGS2/1R5B1/PPP6/9/9/9/9/9/4k4 b RB9P 1", False),  # nine pieces beside the king
        ("2SGKGS2/1R5B1/PPPPr4/9/9/9/9/9/4k4 b B9P 1", False),  # in check
        ("4K4/9/9/9/9/9/pppp5/1r5b1/2sgkgs2 w rb 1", True),
        ("4K4/9/9/9/9/9/pppp5/1r5b1/2sgkgs2 w r4p 1", True),  # white needs 27 only
        ("4K4/9/9/9/9/9/pppp5/1r5b1/2sgkgs2 w r3p 1", False),
    ],
)
def test_declaration(sfen: str, expected: bool) -> None:
    assert Position.from_sfen(sfen).can_declare() is expected


HANDICAP = "4K4/9/9/9/9/9/pppppp3/9/2sgkgs2 w {} 1"
"""White has ten points in the camp. All pieces are there, but the hands have one rook and one bishop only."""


@pytest.mark.parametrize(
    ("hands", "rule", "expected"),
    [
        ("RB2G2S4N4L5P7p", declaration.CSA_27H, True),  # 17, and 10 that are missing
        ("RB2G2S4N4L6P6p", declaration.CSA_27H, False),
        ("RB2G2S4N4L5P7p", declaration.CSA_27, False),
        ("RB2G2S4N4L5Prb7p", declaration.CSA_27H, True),  # an even game
        ("RB2G2S4N4L6Prb6p", declaration.CSA_27H, False),
        ("RB2G2S4N4LP11p", declaration.CSA_24H, True),
        ("RB2G2S4N4L2P10p", declaration.CSA_24H, False),
        ("RB2G2S4N4LP11p", declaration.CSA_24, False),
    ],
)
def test_who_gives_a_handicap_has_the_points_of_what_is_missing(hands: str, rule: int, expected: bool) -> None:
    assert Position.from_sfen(HANDICAP.format(hands)).can_declare(rule) is expected


@pytest.mark.parametrize(("sfen", "expected"), [(DECLARABLE, True), (DECLARABLE.replace(" RB ", " R4P "), False)])
def test_who_takes_a_handicap_needs_the_same_points(sfen: str, expected: bool) -> None:
    assert Position.from_sfen(sfen).can_declare(declaration.CSA_27H) is expected


def test_a_try_is_no_declaration() -> None:
    assert not Position.from_sfen("9/5K3/9/9/9/9/9/9/4k4 b - 1").can_declare(declaration.TRY_RULE)


def test_drop_pawn_mate_is_not_legal_but_a_pawn_push_that_mates_is() -> None:
    smothered = Position.from_sfen("7nk/7n1/8G/9/9/9/9/9/K8 b P 1")
    with pytest.raises(MoveError, match="not legal"):
        smothered.push_usi("P*1b")
    pushed = Position.from_sfen("7nk/7n1/8P/8G/9/9/9/9/K8 b - 1")
    pushed.push_usi("1c1b")
    assert pushed.in_check()


def test_a_position_without_a_king_is_played() -> None:
    """Tsume positions leave the attacker's king out."""
    position = Position.from_sfen("8k/9/8P/9/9/9/9/9/9 b G2r2b3g4s4n4l17p 1")
    position.push_usi("G*1b")
    assert position.is_mated()


def test_a_game_longer_than_the_history_goes_on() -> None:
    position = Position.startpos()
    for i in range(MAX_HISTORY + 300):
        position.push_usi(SHUFFLE[i % 4])
        assert position.move_number == i + 2
    assert position.repetition() is Repetition.DRAW
    assert position.perft(2) == Position.from_sfen(position.sfen()).perft(2)


def test_copies_are_independent() -> None:
    position = Position.startpos()
    position.push_all(SHUFFLE)
    twin = position.copy()
    twin.push_usi("7g7f")
    assert position.move_number == 5
    assert position.occurrences() == 2
    assert twin.pop() and snapshot(twin) == snapshot(position)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=30)
def test_a_position_becomes_another_in_its_own_memory(seed: int) -> None:
    rng = random.Random(seed)

    def game() -> Position:
        position = Position.from_sfen(rng.choice([*HANDICAPS.values()]))
        for _ in range(rng.randrange(60)):
            moves = position.legal_moves()
            if not moves:
                break
            position.push(rng.choice(moves))
        return position

    model, position = game(), game()
    record = position.record
    before = snapshot(model)
    position.become(model)
    assert position.record is record
    assert snapshot(position) == before
    assert position.history == model.history
    assert position.occurrences() == model.occurrences()
    assert position.perft(1) == model.perft(1)
    while position.history:
        assert position.pop() == model.pop()
        assert snapshot(position) == snapshot(model)


def test_a_declined_promotion_is_legal_but_can_be_left_out() -> None:
    position = Position.from_sfen("4k4/9/9/4P4/9/9/9/9/4K4 b - 1")
    every, useful = ({move_to_usi(move) for move in position.legal_moves(every=every)} for every in (True, False))
    assert every - useful == {"5d5c"}
    assert useful < every


@pytest.mark.parametrize(
    ("sfen", "words"),
    [
        ("", "0 fields"),
        ("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1 b - 1", "8 ranks"),
        ("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNLL b - 1", "rank 9: 10 files"),
        ("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSN b - 1", "rank 9: 8 files"),
        ("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNX b - 1", "unknown piece 'X'"),
        ("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNS+GKGSNL b - 1", "cannot promote"),
        ("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSN+ b - 1", "'+' at the end"),
        ("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B2K2R1/LNSGKGSNL b - 1", "of kind K"),
        ("3gkg3/4K4/9/9/9/9/9/9/4K4 b - 1", "of kind K"),
        ("9/4K4/9/9/9/9/9/9/4K4 b - 1", "two kings of black"),
        ("4k4/9/9/9/9/9/9/9/4K4 b 19P 1", "19P is impossible"),
        ("4k4/9/9/9/9/9/9/9/4K4 b 3R 1", "3R is impossible"),
        ("4k4/9/9/9/9/9/9/9/4K4 b 0P 1", "0P is impossible"),
        ("4k4/9/9/9/9/9/9/9/4K4 b K 1", "unexpected 'K'"),
        ("4k4/9/9/9/9/9/9/9/4K4 b 10P9P 1", "19P is impossible"),
        ("4k4/9/9/9/9/9/9/9/4K4 b RpRR 1", "3R is impossible"),
        (f"4k4/9/9/9/9/9/9/9/4K4 b {'9' * 5000}P 1", "hands: unexpected"),
        ("4k4/9/9/9/9/9/9/R8/R3K4 b r 1", "3 pieces of kind R"),
        ("4k4/9/9/9/4P4/9/4P4/9/4K4 b - 1", "two pawns of black on file 5"),
        ("4k3P/9/9/9/9/9/9/9/4K4 b - 1", "P on 1a has no move left"),
        ("4k4/N8/9/9/9/9/9/9/4K4 b - 1", "N on 9b has no move left"),
        ("4k4/9/9/9/9/9/9/4R4/4K4 b - 1", "could take the king"),
        ("4k4/9/9/9/9/9/9/9/4K4 x - 1", "'x'"),
        ("4k4/9/9/9/9/9/9/9/4K4 b - one", "move number"),
        ("4k4/9/9/9/9/9/9/9/4K4 b - 1 2", "5 fields"),
    ],
)
def test_an_error_of_an_sfen_names_the_fault(sfen: str, words: str) -> None:
    with pytest.raises(SfenError, match=words.replace("+", r"\+")):
        Position.from_sfen(sfen)


SIGNS = "lnsgkbrpLNSGKBRP+123456789/ bw-"


@given(
    st.text(alphabet=SIGNS, max_size=80)
    | st.builds(
        lambda sfen, at, sign: sfen[:at] + sign + sfen[at + 1 :],
        st.sampled_from([*HANDICAPS.values(), OTHER]), st.integers(0, 70), st.sampled_from(SIGNS),
    )
)  # fmt: skip
@settings(max_examples=150)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        position = Position.from_sfen(text)
    except SfenError:
        return
    assert Position.from_sfen(position.sfen()).sfen() == position.sfen()


def test_sfen_round_trip() -> None:
    endgame = "8l/1l+R2P3/p2pBG1pp/kps1p4/Nn1P2G2/P1P1P2PP/1PS6/1KSG3+r1/LN2+p3L w Sbgn3p 124"
    for text in (*HANDICAPS.values(), DECLARABLE, endgame):
        assert Position.from_sfen(text).sfen() == text


def fresh(sfen: str, moves: list[str]) -> Position:
    position = Position.from_sfen(sfen)
    position.push_all(moves)
    return position


def same(a: Position, b: Position) -> bool:
    facts = [(p.sfen(), p.key, p.history, p.occurrences(), p.repetition(), p.in_check()) for p in (a, b)]
    return facts[0] == facts[1]


def more(rng: random.Random, sfen: str, moves: list[str], number: int) -> list[str]:
    """``moves`` and up to ``number`` random ones."""
    position = fresh(sfen, moves)
    moves = list(moves)
    for _ in range(number):
        legal = position.legal_moves()
        if not legal:
            break
        moves.append(move_to_usi(move := rng.choice(legal)))
        position.push(move)
    return moves


def test_games_that_go_on_go_back_and_branch() -> None:
    rng, replay = random.Random(5), Replay()
    sfen, moves = STARTPOS, list[str]()
    for _ in range(150):
        match rng.randrange(5):
            case 0 | 1:
                moves = more(rng, sfen, moves, rng.randint(0, 3))
            case 2:
                moves = more(rng, sfen, moves[: max(0, len(moves) - rng.randint(0, 4))], rng.randint(0, 2))
            case 3:
                moves = moves[: rng.randint(0, len(moves))]
            case _ if rng.random() < 0.2:
                sfen, moves = rng.choice([STARTPOS, OTHER]), []
        position = replay.position(sfen, moves)
        assert same(position, fresh(sfen, moves))
        # It belongs to the caller: a change of it does not come back.
        if legal := position.legal_moves():
            position.push(legal[0])


def test_errors_name_the_move_and_leave_no_trace() -> None:
    replay = Replay()
    replay.position(STARTPOS, ["7g7f"])
    with pytest.raises(MoveError, match=r"move 3: 7f7d"):
        replay.position(STARTPOS, ["7g7f", "3c3d", "7f7d"])
    with pytest.raises(SfenError):
        replay.position("9/9", [])
    assert same(replay.position(STARTPOS, ["7g7f", "3c3d"]), fresh(STARTPOS, ["7g7f", "3c3d"]))


def test_games_longer_than_a_positions_history() -> None:
    """The oldest moves are forgotten; the rest is the same."""
    shuttle = ["2h3h", "8b7b", "3h2h", "7b8b"]
    moves = [shuttle[i % 4] for i in range(1100)]
    replay = Replay()
    replay.position(STARTPOS, moves[:1020])
    for end in (1023, 1024, 1030, 1028, 1100, 1060):
        a, b = replay.position(STARTPOS, moves[:end]), fresh(STARTPOS, moves[:end])
        assert (a.sfen(), a.key, a.repetition()) == (b.sfen(), b.key, b.repetition())
    replay.position(STARTPOS, moves[:10])
    with pytest.raises(MoveError, match="move 1101"):
        replay.position(STARTPOS, [*moves, "1a1b"])
    assert same(replay.position(STARTPOS, moves[:10]), fresh(STARTPOS, moves[:10]))


def keys(position: Position) -> tuple[int, int]:
    return int(position.record.key), int(position.record.board_key)


def from_scratch(position: Position) -> tuple[int, int]:
    """Read anew from its SFEN; the board's key does not depend on the hands."""
    board, turn, _hands, number = position.sfen().split()
    bare = Position.from_sfen(f"{board} {turn} - {number}")
    assert int(bare.record.key) == int(bare.record.board_key)
    return int(Position.from_sfen(position.sfen()).record.key), int(bare.record.key)


def test_kept_keys_are_those_from_scratch() -> None:
    rng = random.Random(5)
    for start in STARTS:
        position = Position.from_sfen(start)
        known = [keys(position)]
        for _ in range(250):
            moves = position.legal_moves()
            if len(known) > 1 and (not moves or rng.random() < 0.3):
                position.pop()
                known.pop()
            elif moves:
                position.push(rng.choice(moves))
                known.append(from_scratch(position))
            assert keys(position) == known[-1]
            if not position.in_check():
                make_null(position.record)
                assert keys(position) == tuple(key ^ 1 for key in known[-1])
                unmake_null(position.record)
                assert keys(position) == known[-1]

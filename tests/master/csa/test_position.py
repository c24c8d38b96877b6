from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from master.csa.position import CsaPositionError, csa_from_sfen, sfen_from_csa
from worker.shogi import SfenError

START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"


@pytest.mark.parametrize(
    "sfen",
    [
        START,
        "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
        "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
        "8l/1l+R2P3/p2pBG1pp/kps1p4/Nn1P2G2/P1P1P2PP/1PS6/1KSG3+r1/LN2+p3L w Sbgn3p 1",
        "4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1",
        "+n+l+s+r+b+pk2/9/9/9/9/9/9/9/4K4 b - 1",
    ],
)
def test_there_and_back(sfen: str) -> None:
    assert sfen_from_csa(csa_from_sfen(sfen)) == sfen


def test_writes_as_the_server_does() -> None:
    assert csa_from_sfen("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPP2/9/LNSGKGSNL b 2Pr 1") == [
        "P1-KY-KE-GI-KI-OU-KI-GI-KE-KY",
        "P2 * -HI *  *  *  *  * -KA * ",
        "P3-FU-FU-FU-FU-FU-FU-FU-FU-FU",
        "P4 *  *  *  *  *  *  *  *  * ",
        "P5 *  *  *  *  *  *  *  *  * ",
        "P6 *  *  *  *  *  *  *  *  * ",
        "P7+FU+FU+FU+FU+FU+FU+FU *  * ",
        "P8 *  *  *  *  *  *  *  *  * ",
        "P9+KY+KE+GI+KI+OU+KI+GI+KE+KY",
        "P+00FU00FU",
        "P-00HI",
        "+",
    ]


@pytest.mark.parametrize(
    ("lines", "sfen"),
    [
        (["PI", "+"], START),
        (["PI82HI22KA", "-"], "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        (["P-51OU", "P+59OU52KI53FU00KI", "P-00AL", "+"], "4k4/4G4/4P4/9/9/9/9/9/4K4 b G2r2b2g4s4n4l17p 1"),
        (["P2 * -HI", "P-51OU", "P+59OU", "-"], "4k4/1r7/9/9/9/9/9/9/4K4 w - 1"),
        (["P1*  *  *  *  -OU*  *  *  *", "P9 *  *  *  * +OU", "+"], "4k4/9/9/9/9/9/9/9/4K4 b - 1"),
    ],
)
def test_forms_of_a_position(lines: list[str], sfen: str) -> None:
    assert sfen_from_csa(lines) == sfen


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["PI"], "side to move"),
        (["+", "PI"], "after the side to move"),
        (["P1-KY-KE-GI-KI-OU-KI-GI-KE-KY-KY", "+"], "more than nine"),
        (["P1-XX", "+"], "no piece"),
        (["P1 ?-KY", "+"], "no piece"),
        (["PI", "P1-KY", "+"], "already set"),
        (["PI55HI", "+"], "no HI stands on 55"),
        (["PI82H", "+"], "must look like"),
        (["P+55FU", "P-55FU", "+"], "already set"),
        (["P+00OU", "+"], "in hand"),
        (["P+00TO", "+"], "in hand"),
        (["P+50FU", "+"], "no piece on a square"),
        (["P+00HI00HI00HI", "+"], "more HI in hand"),
        (["P+11HI12HI13RY", "P-00AL", "+"], "more HI than a set"),
        (["Q1", "+"], "no line of a position"),
    ],
)
def test_errors_name_the_line(lines: list[str], why: str) -> None:
    with pytest.raises(CsaPositionError, match=why):
        sfen_from_csa(lines)


@pytest.mark.parametrize("sfen", ["", "9/9 b - 1", "x8/9/9/9/9/9/9/9/9 b - 1", "99/9/9/9/9/9/9/9/9 b - 1"])
def test_refuses_what_is_no_sfen(sfen: str) -> None:
    with pytest.raises(SfenError):
        csa_from_sfen(sfen)


LINES = ["PI", "PI82HI22KA", "P-51OU", "P+59OU52KI53FU00KI", "P-00AL", "P2 * -HI", "P+00FU"]


@given(
    st.lists(st.sampled_from(LINES) | st.text(alphabet="P123456789I+-00FUKYALOU *", max_size=32), max_size=12),
    st.sampled_from(["+", "-", ""]),
)
def test_any_lines_give_a_position_or_the_error(lines: list[str], turn: str) -> None:
    lines = [*lines, turn]
    try:
        sfen = sfen_from_csa(lines)
        back = csa_from_sfen(sfen)
    except (CsaPositionError, SfenError):
        return
    assert sfen_from_csa(back) == sfen

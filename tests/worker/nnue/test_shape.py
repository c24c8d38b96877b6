"""The shape of a network from its bytes: header, size and hashes decide, then the user; else a helpful error."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.nnue.architecture import Architecture, NetworkFileError, find_features, named
from worker.nnue.features import (
    FEATURE_SETS,
    HALF_KA1,
    HALF_KA2,
    HALF_KA_HM1,
    HALF_KA_HM2,
    HALF_KP,
    HALF_KP_VM,
    K_P,
    FeatureSet,
)
from worker.nnue.format import network_path
from worker.nnue.shape import HEADER, VERSION, Head, choose, declared, read_head

K_P_256 = (
    "Features=K+P[1710->256x2],Network=AffineTransform[1<-32](ClippedReLU[32](AffineTransform[32<-32]"
    "(ClippedReLU[32](AffineTransform[32<-512](InputSlice[512(0:512)])))))"
)
HALF_KP_512 = (
    "Features=HalfKP(Friend)[125388->512x2],Network=AffineTransform[1<-32](ClippedReLU[32](AffineTransform[32<-16]"
    "(ClippedReLU[16](AffineTransformSparseInput[16<-1024](InputSlice[1024(0:1024)])))))"
)
# The text that nnue-pytorch and its children write for any shape: AobaNNUE the first, Shinden 3 the second.
FIXED_256 = (
    "Features=HalfKP(Friend)[125388->256x2],Network=AffineTransform[1<-256](ClippedReLU[256](AffineTransform[256<-256]"
    "(ClippedReLU[256](AffineTransform[256<-512](InputSlice[512(0:512)])))))"
)
FIXED_32 = FIXED_256.replace("[1<-256]", "[1<-32]").replace("[256]", "[32]").replace("[256<-", "[32<-")
FIXED_32 = FIXED_32.replace("[32<-256]", "[32<-32]")


class Zeros(bytes):
    """Bytes of a file that is too large for a test: the beginning, then zeros, and words at places."""

    size: int
    words: dict[int, int]

    def __len__(self) -> int:
        return self.size


def head(text: str, size: int, words: dict[int, int] | None = None) -> Head:
    """The head of a file of ``size`` bytes, with these words (by offset) and zeros otherwise."""
    data = Zeros(HEADER.pack(VERSION, 0, len(text)) + text.encode())
    data.size, data.words = size, words or {}

    class Sparse(Head):
        def word(self, at: int) -> int | None:
            return data.words.get(at, 0) if at <= size - 4 else None

    return Sparse("nn.bin", data, VERSION, text, HEADER.size + len(text))


def file_of(text: str, shape: Architecture, *, hashes: bool = False) -> Head:
    """The head of a file that holds ``shape`` and says ``text``."""
    body = HEADER.size + len(text)
    words = {body: shape.transformer_hash, body + shape.transformer_bytes: shape.network_hash} if hashes else {}
    return head(text, body + shape.transformer_bytes + shape.layers_bytes, words)


@pytest.mark.parametrize(
    ("text", "architecture"),
    [
        (K_P_256, Architecture(K_P, 256, 32, 32)),
        (K_P_256.replace("K+P", "K-P(Friend)"), Architecture(K_P, 256, 32, 32)),
        (HALF_KP_512, Architecture(HALF_KP, 512, 16, 32)),
        (K_P_256.replace("K+P[1710", "HalfKP_vm(Friend)[69660"), Architecture(HALF_KP_VM, 256, 32, 32)),
        (K_P_256.replace("K+P[1710", "HalfKA_hm(Friend)[73305"), Architecture(HALF_KA_HM2, 256, 32, 32)),
        (K_P_256.replace("K+P[1710", "HalfKA_hm(Friend)[76950"), Architecture(HALF_KA_HM1, 256, 32, 32)),
        (FIXED_256, Architecture(HALF_KP, 256, 256, 256)),
        (FIXED_32, Architecture(HALF_KP, 256, 32, 32)),
    ],
)
def test_architecture_strings(text: str, architecture: Architecture) -> None:
    assert declared(text) == architecture


@pytest.mark.parametrize("features", FEATURE_SETS.values())
def test_the_own_string_is_read(features: FeatureSet) -> None:
    assert declared(str(Architecture(features, 512, 8, 96))) == Architecture(features, 512, 8, 96)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Features=HalfKP(Friend)[125388->256x2]",
        K_P_256.replace("256x2", "255x2"),
        K_P_256.replace("256x2", "128x2"),
        K_P_256.replace("[1<-32]", "[2<-32]"),
        K_P_256.replace("[32<-32]", "[16<-32]"),
        K_P_256.replace("K+P[1710", "Some[17"),
        K_P_256.replace("[1<-32]", "[1<-0]"),
    ],
)
def test_strings_that_describe_nothing(text: str) -> None:
    assert declared(text) is None


@pytest.mark.parametrize(
    "shape",
    [
        Architecture(HALF_KP, 1024, 8, 64),
        Architecture(HALF_KP, 512, 8, 96),
        Architecture(HALF_KP, 768, 16, 64),
        Architecture(HALF_KP, 512, 8, 64),
        Architecture(HALF_KP, 1024, 8, 32),
        Architecture(HALF_KP, 256, 32, 32),
        Architecture(HALF_KA_HM2, 1024, 16, 64),
        Architecture(K_P, 256, 32, 32),
    ],
)
@pytest.mark.parametrize("text", [FIXED_256, FIXED_32, "what anybody writes"])
def test_the_size_decides_if_the_header_is_wrong(shape: Architecture, text: str) -> None:
    assert choose(file_of(text, shape)) == shape
    assert choose(file_of(text, shape, hashes=True)) == shape


@pytest.mark.parametrize(
    ("size", "text", "shape"),
    [  # sizes that public sources name
        (64_217_066, FIXED_32, Architecture(HALF_KP, 256, 32, 32)),  # Suisho5, Hao
        (192_624_720, FIXED_256, Architecture(HALF_KP, 768, 16, 64)),  # AobaNNUE
        (128_409_130, FIXED_32, Architecture(HALF_KP, 512, 8, 64)),  # Shinden 3
        (893_917, K_P_256.replace("K+P", "K-P(Friend)")[:-9] + ")", Architecture(K_P, 256, 32, 32)),  # SuishoPetite
    ],
)
def test_the_fields_files(size: int, text: str, shape: Architecture) -> None:
    assert choose(head(text, size)) == shape


def test_the_scale_of_the_header_stays() -> None:
    shape = Architecture(HALF_KP, 1024, 8, 64)
    assert choose(file_of(f"{FIXED_256},fv_scale=24", shape)).fv_scale == 24
    assert choose(file_of(f"{FIXED_256},fv_scale=0", shape)).fv_scale is None
    assert choose(file_of(f"{FIXED_256},fv_scale=99999", shape)).fv_scale is None


def two_of_one_size() -> tuple[Architecture, Architecture]:
    found: dict[int, Architecture] = {}
    for hidden1 in range(8, 129, 8):
        for hidden2 in range(8, 129, 8):
            shape = Architecture(HALF_KP, 128, hidden1, hidden2)
            if shape.layers_bytes in found:
                return found[shape.layers_bytes], shape
            found[shape.layers_bytes] = shape
    raise AssertionError("no two shapes have one size")


def test_two_shapes_fit() -> None:
    """Hashes tell them apart, then the header, then the user."""
    one, other = two_of_one_size()
    for shape in (one, other):
        assert choose(file_of("nothing", shape, hashes=True)) == shape
        assert choose(file_of(str(shape), shape)) == shape
        assert choose(file_of("nothing", one), shape.name) == shape
    assert choose(file_of(str(one), other, hashes=True)) == other
    with pytest.raises(NetworkFileError, match=f"fits 2 architectures.*{one.name}, {other.name}.*EvalArchitecture"):
        choose(file_of("nothing", one))


def test_the_user_is_wrong() -> None:
    shape = Architecture(HALF_KP, 1024, 8, 64)
    with pytest.raises(NetworkFileError, match=r"halfkp_512x2-8-64 does not fit its 256,8\d\d,\d{3} bytes"):
        choose(file_of(FIXED_256, shape), "HalfKP 512x2-8-64")
    with pytest.raises(NetworkFileError, match="architecture 'halfzz_512x2-8-64' is not known: expected features K"):
        choose(file_of(FIXED_256, shape), "halfzz_512x2-8-64")


def test_nothing_fits() -> None:
    shape = Architecture(HALF_KP, 512, 8, 64)
    whole = file_of(FIXED_32, shape)
    with pytest.raises(NetworkFileError) as failure:
        choose(head(FIXED_32, len(whole.data) - 1))
    text = str(failure.value)
    assert text.startswith("nn.bin: byte 190: no architecture that Gougi knows has a file of 128,409,129 bytes")
    assert "header 'Features=HalfKP(Friend)[125388->256x2]" in text
    assert "halfkp_256x2-32-32, which the header describes, would have 64,217,066 bytes" in text
    assert "HalfKP(Friend) 512x2 would leave 10,599 bytes for the layers" in text
    assert "Known: features K+P, HalfKP(Friend)" in text


@given(
    text=st.text(max_size=80),
    body=st.integers(0, 1 << 33)
    | st.builds(
        lambda *shape: (found := Architecture(*shape)).transformer_bytes + found.layers_bytes,
        st.sampled_from([*FEATURE_SETS.values()]),
        *map(st.sampled_from, ((256, 512, 1024), (8, 16, 32), (32, 64))),
    ),
)
@settings(max_examples=200)
def test_any_header_and_size(text: str, body: int) -> None:
    """A clear error or a shape of exactly that size; nothing is allocated for it."""
    found = head(text.encode("ascii", "replace").decode(), HEADER.size + len(text) + body)
    try:
        shape = choose(found)
    except NetworkFileError:
        return
    assert found.body + shape.transformer_bytes + shape.layers_bytes == len(found.data)


@given(words=st.lists(st.integers(0, (1 << 32) - 1), min_size=3, max_size=3), rest=st.binary(max_size=60))
def test_any_beginning(words: list[int], rest: bytes) -> None:
    for data in (struct.pack("<III", *words) + rest, struct.pack("<III", VERSION, *words[1:]) + rest):
        try:
            choose(read_head(data, "any"))
        except NetworkFileError as error:
            assert str(error).startswith("any: byte ")  # noqa: PT017 - which error it is depends on the bytes


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("halfkp_256x2-32-32", Architecture(HALF_KP, 256, 32, 32)),
        ("HalfKP 1024x2-8-64", Architecture(HALF_KP, 1024, 8, 64)),
        ("NNUE_halfkp_512x2_8_96", Architecture(HALF_KP, 512, 8, 96)),
        ("halfkp-768-16-64", Architecture(HALF_KP, 768, 16, 64)),
        ("k-p-256-32-32", Architecture(K_P, 256, 32, 32)),
        ("K-P 256x2-32-32", Architecture(K_P, 256, 32, 32)),
        ("K+P_256x2_32_32", Architecture(K_P, 256, 32, 32)),
        ("halfkahm2_1024x2-16-64", Architecture(HALF_KA_HM2, 1024, 16, 64)),
        ("HalfKA_hm2(Friend) 512x2-8-32", Architecture(HALF_KA_HM2, 512, 8, 32)),
        ("halfkpvm_256x2-32-32", Architecture(HALF_KP_VM, 256, 32, 32)),
    ],
)
def test_names(text: str, shape: Architecture) -> None:
    assert named(text) == shape
    assert named(shape.name) == shape


@pytest.mark.parametrize("text", ["", "halfkp", "halfkp_100x2-8-64", "halfkp_512x2-0-64", "halfzz_512x2-8-64"])
def test_names_that_are_none(text: str) -> None:
    assert named(text) is None


def test_names_of_features() -> None:
    assert find_features("HalfKA") is HALF_KA1
    assert find_features("HalfKaHmMerged(Friend)") is HALF_KA_HM2
    assert find_features("anything", 131_949) is HALF_KA2
    assert find_features("anything") is None


def test_a_folder_stands_for_its_network(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"the folder has no nn\.bin and no network"):
        network_path(tmp_path)
    (tmp_path / "suisho.bin").touch()
    (tmp_path / "readme.txt").touch()
    assert network_path(tmp_path) == tmp_path / "suisho.bin"
    (tmp_path / "other.nnue").touch()
    with pytest.raises(OSError, match=r"several networks: other\.nnue, suisho\.bin"):
        network_path(tmp_path)
    (tmp_path / "nn.bin").touch()
    assert network_path(tmp_path) == tmp_path / "nn.bin"
    assert network_path(tmp_path / "suisho.bin") == tmp_path / "suisho.bin"
    assert network_path(tmp_path / "missing.bin") == tmp_path / "missing.bin"

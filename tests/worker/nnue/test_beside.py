"""Facts beside a network file: our own file, for exactly these bytes, then YaneuraOu's."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.random_networks import random_network
from worker.nnue.architecture import Architecture, NetworkFileError
from worker.nnue.beside import Beside, beside_path, read_beside, write_beside
from worker.nnue.features import K_P
from worker.nnue.format import serialise_network
from worker.nnue.network import load_network


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nets")
    (folder / "nn.bin").write_bytes(serialise_network(random_network(Architecture(K_P, 128, 8, 8, fv_scale=24))))
    return folder


@pytest.fixture
def net(made: Path, tmp_path: Path) -> Path:
    (tmp_path / "nn.bin").hardlink_to(made / "nn.bin")
    return tmp_path / "nn.bin"


def test_nothing_lies_there(net: Path) -> None:
    assert read_beside(net) == Beside()


def test_written_files_are_read_again(net: Path) -> None:
    write_beside(net, {"fv_scale": 31, "positions": 4000})
    write_beside(net, {"architecture": "kp_128x2-8-8"})
    assert read_beside(net) == Beside(31, "kp_128x2-8-8")
    assert "positions = 4000" in beside_path(net).read_text()


def test_another_network_in_its_place(net: Path) -> None:
    write_beside(net, {"fv_scale": 31})
    net.unlink()
    net.write_bytes(b"another one")
    assert read_beside(net) == Beside()
    write_beside(net, {"architecture": "kp_128x2-8-8"})
    assert read_beside(net) == Beside(None, "kp_128x2-8-8")


@pytest.mark.parametrize(
    ("line", "scale"),
    [
        ("FV_SCALE=20", 20),
        ("option name FV_SCALE type spin default 28 min 1 max 128", 28),
        ("Threads 4\r\nFV_SCALE 40\r\n", 40),
        ("FV_SCALE=0", None),
        ("; nothing", None),
    ],
)
def test_the_authors_scale(net: Path, line: str, scale: int | None) -> None:
    net.with_name("eval_options.txt").write_text(line)
    assert read_beside(net) == Beside(scale)
    write_beside(net, {"fv_scale": 31})
    assert read_beside(net) == Beside(31)


@pytest.mark.parametrize("text", [b"\xef\xbb\xbfFV_SCALE=24\r\n", "// 水匠\r\nFV_SCALE=24\r\n".encode("cp932")])
def test_the_authors_scale_from_windows(net: Path, text: bytes) -> None:
    net.with_name("eval_options.txt").write_bytes(text)
    assert read_beside(net) == Beside(24)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fv_scale = ", "no TOML"),
        ('of = "{of}"\nfv_scale = 0', "fv_scale is 0, expected 1 to 1024"),
        ('of = "{of}"\narchitecture = 3', "architecture is 3, expected a text"),
    ],
)
def test_a_broken_file(net: Path, text: str, message: str) -> None:
    write_beside(net, {})
    of = beside_path(net).read_text().split('"')[1]
    beside_path(net).write_text(text.replace("{of}", of))
    with pytest.raises(NetworkFileError, match=rf"nn\.bin\.toml: byte 0: {message}"):
        read_beside(net)


def test_which_scale_counts(net: Path) -> None:
    """The user's, then the measured one, then the author's, then the file's own."""
    assert load_network(net).fv_scale == 24
    assert load_network(net.parent).fv_scale == 24
    net.with_name("eval_options.txt").write_text("FV_SCALE=20")
    assert load_network(net).fv_scale == 20
    write_beside(net, {"fv_scale": 31})
    assert load_network(net.parent).fv_scale == 31
    assert load_network(net, fv_scale=12).fv_scale == 12


def test_the_architecture_beside_counts(net: Path) -> None:
    write_beside(net, {"architecture": "kp_128x2-8-16"})
    with pytest.raises(NetworkFileError, match="kp_128x2-8-16 does not fit"):
        load_network(net)
    assert load_network(net, architecture="kp_128x2-8-8").architecture.name == "kp_128x2-8-8"

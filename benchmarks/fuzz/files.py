"""Fuzz targets for the readers of files: positions, game records, networks, opening books, game logs, settings."""

from __future__ import annotations

import contextlib
import os
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rsshogi.core import Board

from benchmarks.fuzz.target import FIXTURES, Target
from benchmarks.random_networks import random_sfnn
from master.analysis.game import GameFileError, parse_games
from master.book.importing import GameFilter, read_games
from master.config import ConfigError, load_config, sample
from master.game.journal import ReplayError, read_log
from worker.book import Book, BookError, open_file
from worker.book.binary import YBB_MAGIC, apery_key, packed_sfen
from worker.nnue.architecture import NetworkFileError
from worker.nnue.format import parse_network, serialise_network
from worker.nnue.network import default_file
from worker.nnue.sfnn.architecture import parse_sfnn_name
from worker.nnue.sfnn.file import PROGRESS_FILE_BYTES, parse_progress, parse_sfnn, serialise_sfnn
from worker.nnue.sfnn.shape import NETWORK_HASH, PROGRESS_HASH
from worker.nnue.shape import PACKED, is_sfnn, read_head
from worker.shogi import MoveError, Position, SfenError
from worker.shogi.sfen import parse

_KINDS: Final = (".csa", ".kif", ".ki2", "")
_CSA: Final = """V2.2
N+anna
N-bert
$START_TIME:2026/11/22 10:00:00
PI
+
+7776FU,T3
'** 35 -3334FU +2726FU
-3334FU,T2
%TORYO
"""
_KIF: Final = """手合割：平手
先手：anna
後手：bert
手数----指手---------消費時間--
   1 ７六歩(77)   ( 0:03/00:00:03)
   2 ３四歩(33)   ( 0:02/00:00:02)
   3 投了
"""
_BOOK: Final = """#YANEURAOU-DB2016 1.00
sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1
7g7f 3c3d 50 20 3
2g2f none 40 20 1
sfen lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 2
3c3d 2g2f -50 20 3
"""
_LOG: Final = (
    '{"event": "input", "game": 1, "call": "connected", "arguments": {}, "asked": [], "timestamp": "2026-11-22"}\n'
)


class Sfen(Target):
    """Positions and moves. A position that is read and written must read the same."""

    name = "sfen"

    def seeds(self) -> Iterator[bytes]:
        start = Position.startpos().sfen().encode()
        for line in (FIXTURES / "games.usi").read_bytes().splitlines()[:20]:
            line = b" ".join(line.split()[:12])
            yield start + b" moves " + line
        yield b"8l/1l+R2P3/p2pBG1pp/kps1p4/Nn1P2G2/P1P1P2PP/1PS6/1KSG3+r1/LN2+p3L w Sbgn3p 124 moves -5141OU"

    def one(self, data: bytes) -> None:
        sfen, _, moves = data.decode("utf-8", "replace").partition(" moves ")
        try:
            position = Position.from_sfen(sfen)
        except SfenError:
            return
        assert Position.from_sfen(position.sfen()).sfen() == position.sfen()
        for move in moves.split():
            try:
                if move[0] in "+-":
                    position.push_csa(move)
                else:
                    position.push_usi(move)
            except MoveError:
                pass


class Records(Target):
    """A record for the analysis, in the format selected by the first byte. All moves read must be legal."""

    name = "records"

    def seeds(self) -> Iterator[bytes]:
        for number in range(len(_KINDS)):
            yield bytes([number]) + _CSA.encode()
            yield bytes([number]) + _KIF.encode()
            yield bytes([number]) + _KIF.encode("cp932")
            yield bytes([number]) + "開始日時：2026/11/22\n▲７六歩 △３四歩 ▲２六歩\nまで3手で先手の勝ち\n".encode()
            yield bytes([number]) + (
                b'{"header":{},"initial":{"preset":"HIRATE"},"moves":[{},{"move":{"from":{"x":7,"y":7},'
                b'"to":{"x":7,"y":6},"piece":"FU"}},{"special":"TORYO"}]}'
            )

    def one(self, data: bytes) -> None:
        try:
            games = parse_games(data[1:], "game" + _KINDS[data[0] % len(_KINDS)] if data else "game")
        except GameFileError:
            return
        for game in games:
            position = Position.from_sfen(game.start_sfen)
            position.push_all([move.usi for move in game.moves])


class Network(Target):
    """A network's file of either family, or ``progress.bin``, cut off, with some of its bytes changed.

    The first byte selects the file. The next two are the number of bytes cut off its end, the next three the offset of
    the rest of the input in it.
    """

    name = "nets"

    def __init__(self) -> None:
        shapes = ("SFNN_kp_64_7_8_k3k3", "SFNN_kp_64_8_8_hand4_progress2", "SFNN_kp_64_7_8_progress8kpabs")
        packed = [serialise_sfnn(random_sfnn(parse_sfnn_name(name))) for name in shapes]
        self._progress = bytes(PROGRESS_FILE_BYTES)
        self._files = (default_file().read_bytes(), *packed, self._progress)

    def seeds(self) -> Iterator[bytes]:
        for number, file in enumerate(self._files):
            for at in (0, 150, len(file) // 2, len(file) - 200):
                yield bytes([number, 0, 0]) + at.to_bytes(3, "little") + file[at : at + 300]
        for number in range(1, 4):
            file = self._files[number]
            for word in (PACKED, NETWORK_HASH.to_bytes(4, "little"), PROGRESS_HASH.to_bytes(4, "little")):
                at = max(0, file.rfind(word))
                yield bytes([number, 0, 0]) + at.to_bytes(3, "little") + file[at : at + 60]
        yield b"\0\0\0\0\0\0" + self._files[0][:200] + b"\xff" * 100
        text = b"Features=HalfKP(Friend)[125388->256x2],Network=AffineTransform[1<-32](ClippedReLU[32]("
        yield b"\0\5\0\0\0\0" + self._files[0][:8] + len(text).to_bytes(4, "little") + text

    def one(self, data: bytes) -> None:
        if len(data) < 6:
            return
        file = self._files[data[0] % len(self._files)]
        lacks, at = int.from_bytes(data[1:3], "little"), int.from_bytes(data[3:6], "little") % len(file)
        whole = file[:at] + data[6:] + file[at + len(data) - 6 : len(file) - lacks]
        try:
            if file is self._progress:
                parse_progress(whole)
                return
            head = read_head(whole, "nn.bin")
            if not is_sfnn(head):
                network = parse_network(whole)
                assert parse_network(serialise_network(network)).architecture == network.architecture
                return
            read = parse_sfnn(head, progress=self._progress)
        except NetworkFileError:
            return
        again = parse_sfnn(read_head(serialise_sfnn(read), "nn.bin"), progress=self._progress)
        assert again.architecture == read.architecture


class BinaryBooks(Target):
    """A book in YaneuraOu's or Apery's binary format, in memory and on the disk."""

    name = "binary-books"

    def __init__(self) -> None:
        self._paths = (_scratch_file("book.ybb"), _scratch_file("book.bin"))

    def seeds(self) -> Iterator[bytes]:
        start = parse(Position.startpos().sfen())
        index = packed_sfen(start) + struct.pack("<QHH", 0, 1, 1)
        yield YBB_MAGIC + struct.pack("<QQ", 1, 1) + index + struct.pack("<HhH", 59 << 7 | 58, 30, 20)
        yield struct.pack("<QHHi", apery_key(start), 59 << 7 | 58, 3, 40)

    def one(self, data: bytes) -> None:
        for path in self._paths:
            path.write_bytes(data)
            for on_the_fly in (False, True):
                with contextlib.suppress(BookError):
                    book = open_file(path, on_the_fly)
                    book.find(Position.startpos().sfen())
                    book.find(Position.startpos().sfen(), any_ply=True)


class Books(Target):
    """A book in YaneuraOu's format, in memory and on the disk; every position of it is looked up."""

    name = "books"

    def __init__(self) -> None:
        self._path = _scratch_file("book.db")

    def seeds(self) -> Iterator[bytes]:
        yield _BOOK.encode()
        yield b"\xef\xbb\xbf" + _BOOK.replace("\n", "\r\n").encode()

    def one(self, data: bytes) -> None:
        self._path.write_bytes(data)
        for on_the_fly in (False, True):
            try:
                book = Book(self._path, on_the_fly)
                for line in _BOOK.splitlines():
                    if line.startswith("sfen "):
                        book.find(line[5:])
                        book.find(line[5:], any_ply=True)
            except BookError:
                pass


class FloodgateRecords(Target):
    """A record from which a book is made."""

    name = "book-import"

    def __init__(self) -> None:
        self._path = _scratch_file("game.csa")

    def seeds(self) -> Iterator[bytes]:
        yield _CSA.encode()
        yield _CSA.replace("%TORYO", "%TORYO\n'summary:toryo:anna win:bert lose\n'black_rate:anna+x:3000.5").encode()

    def one(self, data: bytes) -> None:
        self._path.write_bytes(data)
        for game in read_games(self._path, GameFilter(min_plies=1, min_rating=None)):
            if isinstance(game, list):
                for ply in game:
                    Board(f"{ply.key} {ply.ply}")


class Logs(Target):
    """A game's log, as `gougi replay` reads it."""

    name = "logs"

    def __init__(self) -> None:
        self._path = _scratch_file("gougi-20261122-100000-1.jsonl")

    def seeds(self) -> Iterator[bytes]:
        yield _LOG.encode() * 2

    def one(self, data: bytes) -> None:
        self._path.write_bytes(data)
        with contextlib.suppress(ReplayError):
            read_log(self._path)


class Settings(Target):
    """A configuration file."""

    name = "config"

    def __init__(self) -> None:
        self._path = _scratch_file("gougi.toml")

    def seeds(self) -> Iterator[bytes]:
        yield sample().encode()
        yield b'[engine]\nthreads = 2\nhash_mb = "many"\n[cluster]\nnodes = 0\n[book]\nfiles = ["a", 3]\n'

    def one(self, data: bytes) -> None:
        self._path.write_bytes(data)
        with contextlib.suppress(ConfigError):
            load_config(file=self._path)


def _scratch_file(name: str) -> Path:
    """A file, in memory if the machine has such a folder: it is written thousands of times a second."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="gougi-fuzz-", dir=memory)) / name

"""Checks of a command's inputs before it starts anything: kinds of files, networks, folders, addresses."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from master.commands.common import FAILED, CommandError, EndsOn
from worker.files import reason

if TYPE_CHECKING:
    from master.config import Config

_HEAD: Final = 4096
"""Number of bytes from which the kind is recognized."""
_BOM: Final = b"\xef\xbb\xbf"


class Kind(Enum):
    """The kind of a file, in words, and the commands that take it."""

    RECORD = ("a game record", "gougi analyze, gougi watch, gougi book import")
    LOG = ("the log of a player", "gougi watch, gougi replay, gougi log")
    BOOK = ("an opening book", "gougi book stats, [book] files")
    LEARNED = ("a book that learns", "gougi book stats, gougi book export, [book] learn")
    NET = ("a network", "gougi net info, --net")
    POSITIONS = ("a list of positions", "gougi match --openings")
    CONFIG = ("a configuration", "--config")
    PAGE = ("a web page", "your browser")

    def __init__(self, words: str, takers: str) -> None:
        self.words = words
        self.takers = takers


_SUFFIXES: Final = {
    **dict.fromkeys((".csa", ".kif", ".kifu", ".ki2", ".ki2u", ".jkf"), Kind.RECORD),
    **dict.fromkeys((".html", ".htm"), Kind.PAGE),
    ".jsonl": Kind.LOG,
    ".sfen": Kind.POSITIONS,
    ".toml": Kind.CONFIG,
}
_BEGINNINGS: Final = (
    (b"#YANEURAOU-DB", Kind.BOOK),
    (b"YANE-BINBOOK-", Kind.BOOK),
    (b"SQLite format 3\0", Kind.LEARNED),
    ((0x7AF32F16).to_bytes(4, "little"), Kind.NET),
    (b"sfen ", Kind.POSITIONS),
    (b"startpos", Kind.POSITIONS),
    (b"V2", Kind.RECORD),
    (b"V3", Kind.RECORD),
    (b"#KIF", Kind.RECORD),
    (b"<!doctype html", Kind.PAGE),
    (b"<!DOCTYPE html", Kind.PAGE),
)


def kind_of(path: Path) -> Kind | None:
    """The kind of a file by its first bytes, else by its name; None: unknown, or the file cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD).removeprefix(_BOM)
    except OSError:
        return None
    for beginning, kind in _BEGINNINGS:
        if head.startswith(beginning):
            # A book without its first line begins as a list of positions does.
            return Kind.BOOK if kind is Kind.POSITIONS and path.suffix.lower() == ".db" else kind
    return Kind.LOG if _is_log(head) else _SUFFIXES.get(path.suffix.lower())


def check_kind(path: Path, *wanted: Kind, where: str = "") -> None:
    """End the command if a file is clearly of another kind than those wanted. ``where``: the option at fault."""
    kind = kind_of(path)
    if kind is not None and kind not in wanted:
        raise CommandError(f"{where}{': ' if where else ''}{path}: this is {kind.words}, for {kind.takers}")


def only(*wanted: Kind) -> Callable[[Any], Any]:
    """A callback for an option or argument that is a file, or a list of files."""

    def check(value: Any) -> Any:
        for path in value if isinstance(value, list) else [value] if value is not None else []:
            check_kind(path, *wanted)
        return value

    return check


def _is_log(head: bytes) -> bool:
    line = head.partition(b"\n")[0]
    if not line.startswith(b"{"):
        return False
    try:
        return "event" in json.loads(line)
    except (ValueError, RecursionError):
        return b'"event":' in line


def check_fleet(settings: Config, *, single: bool = False, net_option: str = " (--net)") -> None:
    """Check the requirements of the configured fleet: the networks, the engines of this machine, the cluster's address.

    Args:
        single: check for one searcher in this process, not for a fleet.
        net_option: the command's own option for the network; empty: it has none.
    """
    cluster = settings.cluster
    if cluster.address and not single:
        check_address(cluster.address)
    check_net(settings.engine.eval_file, f"[engine] eval_file{net_option}", settings.engine.eval_architecture)
    for number, kind in enumerate(() if single else cluster.kinds):
        where = f"[cluster] kinds[{number}]"
        check_net(kind.eval_file or "", where, kind.eval_architecture or "")
        if kind.command and not cluster.address and shutil.which(kind.command[0]) is None:
            raise CommandError(f"{where}: {kind.command[0]}: no such program")


def check_net(file: str, where: str, architecture: str = "") -> str:
    """The path of a network's file or folder, with ``~`` expanded. End the command if it is no network. Empty: the
    network that ships with Gougi. ``architecture``: the name of its shape, as given by the user."""
    from worker.nnue import NetworkFileError
    from worker.nnue.beside import read_beside
    from worker.nnue.format import network_path
    from worker.nnue.network import architecture_of

    path = os.path.expanduser(file)
    if path:
        with EndsOn(NetworkFileError, OSError, where=where):
            net = network_path(path)
            check_kind(net, Kind.NET, where=where)
            architecture_of(net, architecture=architecture or read_beside(net).architecture)
    return path


def network_file(net: Path | None, fv_scale: int | None) -> tuple[bytes, int | None]:
    """The bytes of a network's file, and its FV_SCALE by the user or by the files beside it; None: the network that
    ships, and the header's scale. A broken file is refused here, once, and not on every machine.

    Raises:
        NetworkFileError: it is no network.
        ValueError: the scale does not fit it.
        OSError: it cannot be read.
    """
    from worker.nnue import Network
    from worker.nnue.beside import read_beside
    from worker.nnue.format import parse_network
    from worker.nnue.network import default_file

    data = (net or default_file()).read_bytes()
    if net is not None and fv_scale is None:
        fv_scale = read_beside(net).fv_scale
    Network(parse_network(data, file=str(net or "network")), fv_scale=fv_scale)
    return data, fv_scale


def check_folder(folder: Path, where: str) -> None:
    """Make a folder for output; end the command if the folder, or a file in it, cannot be created."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except OSError as error:
        raise CommandError(f"{where}: {folder}: {reason(error)}") from error


def check_address(address: str) -> None:
    """Check that Ray's head listens there: Ray itself would try for minutes."""
    import socket

    from master.csa.login import ServerAddress

    if address == "auto":
        return
    try:
        if ":" not in address:
            raise ValueError
        place = ServerAddress.parse(address)
    except ValueError:
        raise CommandError(f"--address: {address!r} is not HOST:PORT, such as 10.0.0.1:6379, nor auto") from None
    try:
        socket.create_connection((place.host, place.port), timeout=5.0).close()
    except TimeoutError as error:
        raise CommandError(f"--address: {address}: no answer within 5 s", FAILED) from error
    except socket.gaierror as error:
        raise CommandError(f"--address: {address}: the host {place.host!r} is not known", FAILED) from error
    except OSError as error:
        why = os.strerror(error.errno).lower() if error.errno else str(error)
        raise CommandError(f"--address: {address}: {why}: does Ray run there?", FAILED) from error

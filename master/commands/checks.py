"""Checks of a command's inputs before anything is started: files, folders, addresses."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from master.commands.common import FAILED, CommandError, EndsOn
from master.commands.kinds import Kind, check_kind
from worker.files import reason

if TYPE_CHECKING:
    from master.config import Config


def check_fleet(settings: Config, *, single: bool = False, net_option: str = " (--net)") -> None:
    """Check what the fleet of the configuration needs: networks and engines of this machine, or the cluster's address.

    Args:
        single: one searcher in this process is meant, and no fleet.
        net_option: the command's own option for the network; empty: it has none.
    """
    cluster = settings.cluster
    if cluster.address and not single:
        check_address(cluster.address)
        return  # files are the nodes' own, on their machines
    check_net(settings.engine.eval_file, f"[engine] eval_file{net_option}")
    for number, kind in enumerate(() if single else cluster.kinds):
        where = f"[cluster] kinds[{number}]"
        check_net(kind.eval_file or "", where)
        if kind.command and shutil.which(kind.command[0]) is None:
            raise CommandError(f"{where}: {kind.command[0]}: no such program")


def check_net(file: str, where: str) -> str:
    """The path of a network's file, with the home folder for ``~``. End the command where it is no network; empty: the
    one that ships."""
    from worker.nnue import NetworkFileError
    from worker.nnue.format import read_network

    path = os.path.expanduser(file)
    if path:
        check_kind(Path(path), Kind.NET, where=where)
        with EndsOn(NetworkFileError, OSError, where=where):
            read_network(Path(path))
    return path


def network_file(net: Path | None, fv_scale: int | None) -> bytes:
    """The bytes of a network's file; None: of the one that ships. A broken one is refused here, once, and not on every
    machine.

    Raises:
        NetworkFileError: it is no network.
        ValueError: the scale does not fit it.
        OSError: it cannot be read.
    """
    from worker.nnue import Network
    from worker.nnue.format import parse_network
    from worker.nnue.network import default_file

    data = (net or default_file()).read_bytes()
    Network(parse_network(data, file=str(net or "network")), fv_scale=fv_scale)
    return data


def check_folder(folder: Path, where: str) -> None:
    """Make a folder that will be written to, and end the command where that, or a file in it, cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except OSError as error:
        raise CommandError(f"{where}: {folder}: {reason(error)}") from error


def check_address(address: str) -> None:
    """See that Ray's head listens there: Ray itself would try for minutes."""
    import socket

    from master.csa.address import ServerAddress

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

"""``gougi usi``: a USI engine for any GUI, the whole fleet or a single searcher."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from master.commands.common import INTERRUPTED, CommandError, EndsOn, tell
from master.commands.options import Address, Nodes, PageOption, Single
from master.commands.services import live_page
from master.commands.settings import ConfigFile, load
from master.commands.single import gui_lines, gui_output, single_engine
from worker import VERSION
from worker.files import reason
from worker.usi.gui_reader import GuiReader, introduction

if TYPE_CHECKING:
    from cluster.api import Searcher
    from master.commands.services import Metrics
    from master.config import Config
    from master.usi.options import FleetOptions, FleetPlan

    Log = Callable[[str, dict[str, object]], None]


def usi(
    single: Single = False,
    nodes: Nodes = None,
    address: Address = None,
    records: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Folder for a log. Default: no log is written.")
    ] = None,
    page: PageOption = None,
    config: ConfigFile = None,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="Serve this engine to a GUI on another machine, which starts gougi usi --connect."
        ),
    ] = None,
    connect: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Be the engine that gougi usi --listen serves there.")
    ] = None,
    secret_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File (mode 600) with the secret of both sides. Default: GOUGI_USI_SECRET."),
    ] = None,
    keep: Annotated[
        float, typer.Option(min=0, metavar="S", help="--listen: seconds that the engine stays when its GUI is gone.")
    ] = 60.0,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="--listen: encrypt, with this certificate.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="--listen: the certificate's key.")] = None,
    tls_ca: Annotated[
        Path | None, typer.Option(metavar="FILE", help="--connect: encrypt, and trust this certificate.")
    ] = None,
    tls: Annotated[
        bool, typer.Option("--tls", help="--connect: encrypt, and trust the system's certificates.")
    ] = False,
) -> int:
    """Speak USI on standard input and output: an engine for any GUI.

    Register "gougi usi" in the GUI as an engine. It is the whole fleet: it opens when the GUI sends isready, and
    ends with the GUI. Nodes, threads, table, network and mode are options of the engine; their defaults come from
    the configuration. "gougi usi --single" is one searcher, without a fleet.

    A live page shows the fleet's search in a browser; an info string gives its address. --page off switches it off.

    Examples:

      gougi usi --nodes 4

      gougi usi --address 10.0.0.1:6379 --config ~/gougi.toml

      gougi usi --single

      gougi usi --listen 127.0.0.1:4083

      gougi usi --connect 127.0.0.1:4083
    """
    given = (nodes, address, records, page, config)
    if connect is not None:
        if single or listen is not None or any(option is not None for option in given):
            raise CommandError("--connect: the engine is elsewhere; its options are given there")
        return _connect(connect, secret_file, tls_ca, tls)
    if listen is not None:
        options = ("--nodes", "--address", "--records", "--page", "--config")
        words = ["--single"] if single else []
        words += [word for pair in zip(options, given, strict=True) if pair[1] is not None for word in map(str, pair)]
        return _listen(listen, secret_file, keep, tls_cert, tls_key, words)
    if single:
        if any(option is not None for option in given):
            raise CommandError("--single: it has no fleet, and takes no other option")
        return single_engine()
    return _fleet(load(config, {"cluster": {"nodes": nodes, "address": address}, "page": {"listen": page}}), records)


def _connect(place: str, secret_file: Path | None, ca: Path | None, tls: bool) -> int:
    from master.remote.client import connect, read_secret

    with EndsOn(OSError, ValueError):
        return connect(place, read_secret(secret_file), ca, tls=tls)


def _listen(
    place: str, secret_file: Path | None, keep_s: float, cert: Path | None, key: Path | None, words: list[str]
) -> int:
    from master.remote.client import parse_address, read_secret
    from master.remote.listener import ListenError, Place, engine_command, listen

    with EndsOn(OSError, ValueError):
        where = Place(*parse_address(place), read_secret(secret_file), cert, key)
    with EndsOn(ListenError):
        listen(where, f"Gougi {VERSION}", keep_s, engine_command(*words), lambda at: tell(f"listening at {at}"))
    return INTERRUPTED


def _fleet(settings: Config, records: str | None) -> int:
    from master.commands.players import nodes_asked
    from master.usi.options import FleetOptions, FleetPlan

    engine, cluster = settings.engine, settings.cluster
    plan = FleetPlan(
        nodes=nodes_asked(settings),
        hash_mb=engine.hash_mb,
        threads=engine.threads,
        eval_file=engine.eval_file,
        fv_scale=engine.fv_scale,
        architecture=engine.eval_architecture,
        mode=cluster.mode,
    )
    options = FleetOptions(plan, own_fleet=not cluster.address)
    with gui_output() as write:
        gui = GuiReader(gui_lines(), write, introduction(f"Gougi {VERSION} fleet", options.table))
        with _logged(settings, records) as on_event:
            return _serve_fleet(settings, options, gui, write, on_event)


def _serve_fleet(
    settings: Config, options: FleetOptions, gui: GuiReader, write: Callable[[str], None], on_event: Log
) -> int:
    from master.commands.lifetime import Interrupted, run_to_end
    from master.commands.services import serving
    from master.ui.texts import say
    from master.usi.driver import UsiDriver

    def tell_gui(line: str) -> None:
        with contextlib.suppress(OSError):  # the driver notices that the GUI is gone
            write(f"info string {line}")

    def tell_page(url: str) -> None:
        tell_gui(say("live page: {url}", url=url))

    async def main() -> int:
        async with live_page(settings, "usi", tell_page, tell_gui) as page:
            watch = (lambda _what: None) if page is None else page.usi
            driver = UsiDriver(options, lambda wanted: _build(settings, wanted, metrics), write, on_event, watch=watch)
            code = await driver.run(gui)
            errors.append(driver.error)
            return code

    errors: list[str] = []
    with serving(settings.metrics, settings.csa.name, on_event) as metrics:
        try:
            code = run_to_end(main)
        except Interrupted:
            return INTERRUPTED
    if errors[0]:
        raise CommandError(errors[0], code)
    return code


def _build(settings: Config, plan: FleetPlan, metrics: Metrics | None = None) -> Searcher:
    """The fleet of the configuration, modified by the GUI's options. Raises NetworkError: its file is unusable."""
    from master.commands.players import make_fleet
    from master.usi.driver import NetworkError
    from worker.nnue import NetworkFileError, load_network

    if plan.eval_file:
        try:
            load_network(plan.eval_file, architecture=plan.architecture)
        except NetworkFileError as error:
            raise NetworkError(f"EvalFile: {error}") from error
        except OSError as error:
            raise NetworkError(f"EvalFile: {plan.eval_file}: {reason(error)}") from error
    engine: dict[str, Any] = {
        "hash_mb": plan.hash_mb,
        "threads": plan.threads,
        "eval_file": plan.eval_file,
        "fv_scale": plan.fv_scale,
        "eval_architecture": plan.architecture,
    }
    cluster: dict[str, Any] = {"nodes": plan.nodes, "mode": plan.mode}
    return make_fleet(
        settings.model_copy(
            update={
                "engine": settings.engine.model_copy(update=engine),
                "cluster": settings.cluster.model_copy(update=cluster),
            }
        ),
        metrics,
    )


@contextlib.contextmanager
def _logged(settings: Config, records: str | None) -> Iterator[Callable[[str, dict[str, object]], None]]:
    """A listener for the fleet's events: a log in the folder ``records``, or none."""
    from master.logs.log import LogError, fleet_listener, open_log

    if records is None:
        yield lambda _name, _fields: None
        return
    with EndsOn(LogError), open_log(Path(records), console=tell, **settings.log.options()):
        yield fleet_listener().on_event

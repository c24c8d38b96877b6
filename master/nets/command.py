"""``gougi net list`` and ``gougi net get``: list and fetch networks that others publish."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

import typer

from master.commands.common import FAILED, CommandError, EndsOn, tell
from master.commands.options import Json
from master.nets.archive import ArchiveError, LibraryMissingError, Member
from master.nets.catalogue import Entry, catalogue, find, near
from master.nets.download import DownloadError, Progress, download, forget, held
from master.nets.install import (
    NAME,
    Installed,
    InstallError,
    check_file,
    install,
    net_facts,
    net_path,
    nets_folder,
)

_UNKNOWN_SCALE = "not known: 16 is assumed unless you say otherwise"


def list_nets(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="All that is known of one network.")] = None,
    as_json: Json = False,
) -> None:
    """List the public networks that gougi net get knows.

    "checked" says who vouches for the hash of a network: several public sources that agree, one source, or nobody. The
    project itself has downloaded none of them. "get" says how you get one: by gougi net get, or by hand from its page
    (gougi net list NAME names it).

    Examples:

      gougi net list

      gougi net list suisho5
    """
    entries = catalogue()
    chosen = list(entries.values()) if name is None else [_entry(name, entries)]
    if as_json:
        print(json.dumps([{**asdict(entry), "here": _here(entry.name)} for entry in chosen], ensure_ascii=False))
    elif name is None:
        print(_table(chosen))
    else:
        print(_facts(chosen[0]))


def get(
    what: Annotated[str, typer.Argument(metavar="NAME|FILE|URL", help="Name of the list, or a file, or an address.")],
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the network here. Default: that of the list, else of the file."),
    ] = None,
    member: Annotated[
        str | None, typer.Option(metavar="PATH", help="The network to take from an archive that has several.")
    ] = None,
    sha256: Annotated[
        str | None, typer.Option(metavar="HEX", help="SHA-256 that a file or a download must have.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Fetch a network: download it, check it, unpack it, and put it into your folder of networks.

    A download that was cut off resumes. The network is unpacked from a zip or 7z archive; nothing else of it is kept.
    It appears in its place complete or not at all. At the end the command prints the setting that makes it the default.
    Gougi never downloads a network by itself.

    Examples:

      gougi net get suisho5

      gougi net get Downloads/shinden3.zip --name shinden3

      gougi net get https://example.org/nets/mine.7z
    """
    job = _job(what, name, sha256)
    if not as_json:
        for line in (job.entry and f"licence: {job.entry.licence}", job.entry and job.entry.note):
            if line:
                tell(f"{job.name}: {line}")
    with EndsOn(DownloadError, ArchiveError, InstallError, where=job.name, code=FAILED):
        installed = _already(job) or _fetched(job, member)
    entry = job.entry or next((one for one in catalogue().values() if one.sha256 == installed.sha256), None)
    scale = installed.fv_scale or (entry.fv_scale if entry else None)
    if as_json:
        facts = {**asdict(installed), "path": str(installed.path), "name": job.name}
        print(json.dumps({**facts, "fv_scale": scale, "licence": entry.licence if entry else None}))
    else:
        print(_text(job.name, installed, scale))
    if installed.fault is not None:
        raise CommandError(f"{job.name}: this version of Gougi cannot read it: {installed.fault}", FAILED)


@dataclass(frozen=True)
class _Job:
    """The network to fetch: an address or a file, and the facts known in advance.

    Attributes:
        entry: its entry in the list; a name of the list always stands for that network, from any source.
        by_name: it is fetched from the list's address.
    """

    name: str
    entry: Entry | None
    source: str | Path
    by_name: bool = False
    file_bytes: int | None = None
    file_sha256: str | None = None

    @property
    def net_bytes(self) -> int | None:
        return self.entry.bytes if self.entry else None

    @property
    def net_sha256(self) -> str | None:
        return self.entry.sha256 if self.entry else None


def _job(what: str, name: str | None, sha256: str | None) -> _Job:
    """Interpret the argument. A name in the list takes precedence over a file of the same name."""
    entries = catalogue()
    if sha256 is not None and (len(sha256) != 64 or set(sha256.lower()) - set("0123456789abcdef")):
        raise CommandError("--sha256: expected 64 hexadecimal digits")
    hashed = sha256.lower() if sha256 else None
    path = Path(what).expanduser()
    listed = None if "/" in what or path.suffix else find(what, entries)
    if listed is None:
        if "://" not in what and not path.is_file():
            _entry(what, entries, f"{what}: no such file, and no network of this name in the list")
        is_url = "://" in what
        own = name or _name_of(unquote(urlsplit(what).path) if is_url else str(path.absolute()))
        entry = find(own, entries)
        return _Job(entry.name if entry else _checked(own, name), entry, what if is_url else path, file_sha256=hashed)
    if listed.url is None:
        raise CommandError(
            f"{listed.name}: its author gives no address for programs. Download it from {listed.page}, then: "
            f"gougi net get FILE --name {listed.name}"
        )
    own = _checked(name or listed.name, name)
    return _Job(own, listed, listed.url, True, listed.url_bytes, hashed or listed.url_sha256)


def _entry(word: str, entries: dict[str, Entry], problem: str = "") -> Entry:
    """The entry of a name. If there is none, the error suggests others."""
    if (entry := find(word, entries)) is not None:
        return entry
    like = near(word, entries)
    hint = f"; there is {', '.join(like)}" if like else "; gougi net list shows all"
    raise CommandError((problem or f"{word}: no network of this name in the list") + hint)


def _name_of(path: str) -> str:
    """The name of a network that is not in the list: that of its file, or of the folder that holds an nn.bin."""
    steps = [step.lower() for step in path.split("/") if step] or [""]
    steps[-1] = re.sub(r"\.\w+$", "", steps[-1])
    return next((step for step in reversed(steps) if step not in ("nn", "eval")), steps[-1])


def _checked(made: str, asked: str | None) -> str:
    if not NAME.fullmatch(made):
        rule = "expected a name of lower-case letters, digits, '.', '_' and '-'"
        raise CommandError(f"--name: {rule}, not {made!r}" if asked else f"{made!r} cannot be its name: give --name")
    return made


def _already(job: _Job) -> Installed | None:
    """The network, if it is installed. One that may be another is not replaced."""
    path = net_path(job.name)
    if not path.is_file():
        return None
    if job.entry is None or (job.entry.sha256 is None and not job.by_name):
        raise CommandError(f"{job.name} is there already: {path}. Choose another name (--name), or delete it")
    try:
        check_file(path, size=job.net_bytes, sha256=job.net_sha256)
    except InstallError as error:
        tell(f"{job.name}: {path}: {error}: it is fetched again")
        return None
    return net_facts(path)


def _fetched(job: _Job, member: str | None) -> Installed:
    def put(file: Path) -> Installed:
        return install(
            file,
            job.name,
            lambda nets: _choice(nets, member),
            size=job.net_bytes,
            sha256=job.net_sha256,
            whole=job.file_sha256 is not None,
        )

    if isinstance(job.source, Path):
        check_file(job.source, size=None, sha256=job.file_sha256)
        return put(job.source)
    part = nets_folder() / ".downloads" / f"{hashlib.sha256(job.source.encode()).hexdigest()[:16]}.part"
    with held(part):
        try:
            with _shown(job.name, job.source) as progress:
                download(job.source, part, progress, size=job.file_bytes)
        except KeyboardInterrupt:
            tell(f"{job.name}: the same command goes on with the download")
            raise
        try:
            check_file(part, size=None, sha256=job.file_sha256)
            installed = put(part)
        except LibraryMissingError:
            raise
        except (InstallError, ArchiveError):
            forget(part)  # otherwise the next attempt would resume it
            raise
        forget(part)
    return installed


def _choice(nets: list[Member], wanted: str | None) -> Member:
    """The network requested by its path or the end of it, else the only one, else the user's answer."""
    if wanted is None and len(nets) == 1:
        return nets[0]
    if wanted is None and sys.stdin.isatty():
        for number, net in enumerate(nets, 1):
            tell(f"{number}: {net.name} ({net.size:,} bytes)")
        answer: int = typer.prompt("which one (number)", type=int, err=True)
        if not 1 <= answer <= len(nets):
            raise CommandError(f"{answer}: expected 1 to {len(nets)}")
        return nets[answer - 1]
    found = [net for net in nets if wanted and (net.name == wanted or net.name.endswith(f"/{wanted}"))]
    if len(found) == 1:
        return found[0]
    names = ", ".join(net.name for net in nets)
    if wanted is not None and not found:
        raise CommandError(f"--member {wanted}: no network of this name in the archive, which has: {names}")
    raise CommandError(f"the archive has several networks ({names}): choose one with --member")


@contextlib.contextmanager
def _shown(name: str, url: str) -> Iterator[Progress]:
    """A bar for the progress of a download; without a terminal, one line at its beginning."""
    from master.ui.progress import Bars

    with Bars("MB", stays=False) as bars:
        if not bars.live:
            tell(f"{name}: downloading {url}")
        bar = bars.bar(name, None)

        def show(at: int, total: int | None) -> None:
            bar.show(at / 1e6, "" if total else f"{at / 1e6:,.0f} MB", total=total and total / 1e6)

        yield show


def _here(name: str) -> bool:
    return net_path(name).is_file()


def _table(entries: list[Entry]) -> str:
    rows = [("name", "year", "architecture", "FV_SCALE", "MB", "checked", "get")]
    rows += [
        (
            entry.name,
            str(entry.year),
            entry.architecture,
            "?" if entry.fv_scale is None else str(entry.fv_scale),
            "?" if entry.bytes is None else f"{entry.bytes / 1e6:.1f}",
            entry.checked,
            "is here" if _here(entry.name) else "by hand" if entry.url is None else "by name",
        )
        for entry in entries
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(f"{cell:{wide}}" for cell, wide in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _facts(entry: Entry) -> str:
    rows = [
        ("name", entry.name),
        ("title", entry.title),
        ("author", f"{entry.author}, {entry.year}"),
        ("architecture", entry.architecture),
        ("FV_SCALE", _UNKNOWN_SCALE if entry.fv_scale is None else str(entry.fv_scale)),
        ("licence", entry.licence),
        ("page", entry.page),
        ("file", entry.url or f"by hand, then: gougi net get FILE --name {entry.name}"),
        ("bytes", "not known" if entry.bytes is None else f"{entry.bytes:,}"),
        ("sha256", f"{entry.sha256 or 'not known'} ({entry.checked})"),
    ]
    if entry.url_sha256:
        rows.append(("sha256, file", entry.url_sha256))
    if entry.note:
        rows.append(("note", entry.note))
    if _here(entry.name):
        rows.append(("is here", str(net_path(entry.name))))
    wide = max(len(key) for key, _ in rows)
    return "\n".join(f"{key:{wide}}  {value}" for key, value in rows)


def _text(name: str, installed: Installed, scale: int | None) -> str:
    """A description of the new network, and the lines of the configuration that make it the default."""
    shape = installed.architecture or "of an unknown architecture"
    lines = [f"{name}: {installed.path}, {installed.bytes:,} bytes, {shape}", f"sha256: {installed.sha256}"]
    if installed.fault is None:
        lines += [
            "to make it the default, put below [engine] in gougi.toml (in a GUI: EvalFile, FV_SCALE):",
            f"eval_file = {json.dumps(str(installed.path), ensure_ascii=False)}",
            f"fv_scale = {scale}" if scale and not installed.fv_scale else "",
        ]
        if scale is None:
            lines.append(f"FV_SCALE is {_UNKNOWN_SCALE}")
    return "\n".join(line for line in lines if line)

"""The sections of the configuration: each key, its type, its default and its meaning."""

from __future__ import annotations

import ipaddress
import os
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from cluster.coordination.settings import Mode, Settings, SharingSettings
from master.csa.login import LOGIN_NAME
from master.player.instructions import PlayerSettings
from worker.rules import DECLARATIONS, EnteringKingRule

ENV_PREFIX = "GOUGI_"
"""Prefix of each variable's name."""
SECRETS = frozenset({("csa", "password"), ("page", "token")})
"""Keys that no file holds and that are never printed: they come from the environment."""


_Path = Annotated[str, AfterValidator(os.path.expanduser)]
"""A file or folder. ``~`` is the home folder, even if no shell has expanded it."""


if TYPE_CHECKING:
    _ModeName = str
else:
    _ModeName = Literal[tuple(mode.value for mode in Mode)]

# Source of the defaults that other modules define.
_SEARCH = Settings()
_SHARING = SharingSettings()
_PLAYER = PlayerSettings()


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class EngineConfig(_Section):
    """The searcher of one node."""

    hash_mb: Annotated[int, Field(ge=1, le=1 << 20)] = 128
    """Transposition table of each node, in MiB."""
    threads: Annotated[int, Field(ge=0, le=512)] = 0
    """Search threads of each node. 0: the nodes of a machine share its processors (at most 16 threads each); a single
    searcher, and each node of `gougi analyze`, has one thread."""
    eval_file: _Path = ""
    """Network file (nn.bin) or its folder, on this machine; other machines get it from here. Empty: the network that
    ships with Gougi."""
    eval_architecture: str = ""
    """The network's shape (halfkp_1024x2-8-64), if its file does not say. Empty: read it from the file."""
    fv_scale: Annotated[int, Field(ge=0, le=1024)] = 0
    """Raw network output that equals one centipawn. 0: the value that `gougi net calibrate` measured, else the one that
    the network's author gives, else 16."""


class NodeKindConfig(_Section):
    """The engine of a node: any USI engine, or our own searcher with other settings than [engine]."""

    command: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """A USI engine: the program, as a path on the node's own machine, and its arguments. Empty: our own searcher."""
    options: dict[str, str] = {}
    """The USI engine's options."""
    eval_file: _Path | None = None
    eval_architecture: str | None = None
    fv_scale: Annotated[int, Field(ge=0, le=1024)] | None = None
    hash_mb: Annotated[int, Field(ge=1, le=1 << 20)] | None = None
    threads: Annotated[int, Field(ge=1, le=512)] | None = None
    win_scale: Annotated[float, Field(ge=1, le=100_000)] | None = None
    """Centipawns of the engine with which 73 of 100 games are won (odds e to 1). Ours: 750; many engines: 600."""

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> NodeKindConfig:
        names = ("eval_file", "eval_architecture", "fv_scale", "hash_mb", "threads")
        own = [name for name in names if getattr(self, name) is not None]
        if self.command and own:
            raise ValueError(f"a USI engine takes options, not {own[0]}")
        if self.options and not self.command:
            raise ValueError("options are for a USI engine: name its command")
        return self


class ClusterConfig(_Section):
    """The fleet that searches together."""

    nodes: Annotated[int, Field(ge=0, le=1024)] = 0
    """Number of nodes that search on this machine. 0: one (or one of each kind, if kinds are given). On the same
    processors, one node with several threads is at least as strong as several nodes, and with eight clearly
    stronger."""
    oversubscribe: bool = False
    """Whether to start nodes for which this machine has no processor. By default they are left out, because they make
    the fleet weaker: four nodes on two processors lost 150 Elo to two."""
    address: str = ""
    """A running Ray cluster, HOST:PORT. Empty: start one on this machine for the duration of the command."""
    report_port: Annotated[int, Field(ge=0, le=65535)] = 0
    """The port of this machine to which nodes report. 0: any free port. Set one if a firewall needs to know it."""
    advertise: str = ""
    """HOST:PORT at which nodes reach that port, if it is not this machine's own address."""
    mode: _ModeName = _SEARCH.mode.value
    """Mode. "consult": each node searches all moves, and they vote. "split": the nodes divide the moves. "tiers": both,
    by groups. See docs/explanation/deciding.md."""
    groups: Annotated[int, Field(ge=1, le=1024)] = _SEARCH.groups
    """Number of groups that vote in the mode "tiers"."""
    kinds: tuple[NodeKindConfig, ...] = ()
    """Engines of the nodes, assigned in turn: a table for each kind. {} is our own searcher with the settings of
    [engine], {eval_file = "other.bin"} the same with another network (hash_mb, threads, fv_scale likewise),
    {command = ["/usr/games/gpsusi"], options = {LimitDepth = "10"}} any USI engine. win_scale = 600: the centipawns
    with which it wins 73 of 100 games (ours: 750). Empty: all nodes run our own."""
    share_depth: Annotated[int, Field(ge=0, le=60)] = _SHARING.depth
    """Nodes with the same network send each other the table entries of at least this depth, and what they have learned
    in the histories. 0: none."""
    share_bytes_per_s: Annotated[int, Field(ge=10_000, le=10_000_000_000)] = _SHARING.bytes_per_s
    """Bytes per second that each node may send to all others together, at most an eighth of them for histories. It
    receives about as many."""


class CsaConfig(_Section):
    """The tournament server."""

    server: str = ""
    """HOST:PORT. Empty: `gougi play` plays an embedded game on this machine."""
    game: str = ""
    """Game name, such as floodgate-300-10F. Empty: the server pairs by the password alone."""
    any_game: bool = False
    """Also accept a game with times other than those in the game name. By default the player rejects it."""
    name: Annotated[str, Field(pattern=f"^{LOGIN_NAME}$")] = "gougi"
    """Login name."""
    password: SecretStr | None = None
    """Not set here: it comes from GOUGI_CSA_PASSWORD or password_file (a "trip", on servers that pair by game name)."""
    password_file: _Path = ""
    """A file with the password on its first line. Only its owner may be able to read it (mode 600)."""
    games: Annotated[int, Field(ge=0)] = 1
    """Games to play, one after another. 0: without end."""
    attempts: Annotated[int, Field(ge=0)] = 30
    """Give up after this many failures in a row: a server that cannot be reached, or a connection that breaks before a
    game begins. The delays grow to two minutes; those of 30 failures take up to 50 minutes. 0: never."""


class ClockConfig(_Section):
    """Margins and limits of the clock."""

    network_margin_ms: Annotated[int, Field(ge=0, le=60_000)] = _PLAYER.clock.network_margin_ms
    """Milliseconds that the clock initially reserves on each move for the round trip to the server. This is also the
    minimum: the clock reserves more if the connection, or this machine, turns out to be slower."""
    most_reserve_ms: Annotated[int, Field(ge=0, le=60_000)] = _PLAYER.clock.most_reserve_ms
    """Upper limit, in milliseconds, of the reserve when the flag is near: a tenth of the time at stake, but at most
    this. If the connection has once been slower, the reserve is larger."""


class PlayConfig(_Section):
    """Choices for games on the server."""

    ponder: bool = _PLAYER.ponder
    """Search while the opponent thinks. Never in an embedded game, because its two players share this machine."""
    resign_score: Annotated[int, Field(ge=0, le=30_000)] = _PLAYER.resign_score or 0
    """Resign if the score is this bad, in centipawns, on resign_moves own moves in a row. 0: never by score."""
    resign_moves: Annotated[int, Field(ge=1)] = _PLAYER.resign_moves
    """Number of own moves in a row for resign_score."""
    draw_value_black: Annotated[int, Field(ge=-20_000, le=20_000)] = _PLAYER.draw_black
    """The value of a draw (repetition, move limit) for us as black, in centipawns: -100 avoids draws in even and worse
    positions, 100 seeks them."""
    draw_value_white: Annotated[int, Field(ge=-20_000, le=20_000)] = _PLAYER.draw_white
    """The value of a draw for us as white."""
    notation: Literal["japanese", "usi"] = "japanese"
    """Notation of moves on the terminal: ☗７六歩 or 7g7f."""
    mate_at_limit: bool = _PLAYER.mate_at_limit
    """Whether a mate by the last move before the server's move limit wins. The tournament server calls it a draw. By
    the rules of the WCSC, as far as we could find them, it wins: set this to true there."""
    entering_king: EnteringKingRule = _PLAYER.entering
    """EnteringKingRule: how points count in a declaration, if the server allows one. CSARule27H is for handicap games:
    white, who gives the handicap, gets the points of the missing pieces. gougi serve uses it too."""

    @field_validator("entering_king")
    @classmethod
    def _no_try(cls, rule: EnteringKingRule) -> EnteringKingRule:
        if rule not in DECLARATIONS:
            raise ValueError(f"expected one of {', '.join(DECLARATIONS)}")
        return rule


class BookConfig(_Section):
    """Opening books, and the book that learns. docs/how-to/books.md explains them."""

    files: tuple[_Path, ...] = ()
    """Book files: YaneuraOu's (.db, .ybb) and Apery's (.bin). The first file with a move for the position is used.
    Empty: none."""
    on_the_fly: bool = False
    """Leave the files on disk (they must be sorted): for books of many GB."""
    moves: Annotated[int, Field(ge=0, le=10_000)] = 16
    """BookMoves: the last move number at which the files are consulted."""
    eval_diff: Annotated[int, Field(ge=0, le=99_999)] = 30
    """BookEvalDiff: how many centipawns a move may be worse than the best (look_ahead "off": than the first)."""
    eval_black_limit: Annotated[int, Field(ge=-99_999, le=99_999)] = 0
    """BookEvalBlackLimit: the lowest allowed value of a move for black."""
    eval_white_limit: Annotated[int, Field(ge=-99_999, le=99_999)] = -140
    """BookEvalWhiteLimit: the lowest allowed value of a move for white."""
    depth_limit: Annotated[int, Field(ge=0, le=99_999)] = 0
    """BookDepthLimit: the best move's least depth. 0: any (YaneuraOu has 16, which no book made from games passes)."""
    consider_move_count: bool = False
    """ConsiderBookMoveCount: choose moves with probability proportional to their number of games; else uniformly."""
    flipped: bool = True
    """FlippedBook: if a position is not in the book, look it up rotated, with the colours swapped."""
    ignore_ply: bool = True
    """IgnoreBookPly: accept the same position at another move number."""
    narrow: bool = False
    """NarrowBook: skip moves that were played in less than a tenth of the games."""
    ignore_rate: Annotated[int, Field(ge=0, le=100)] = 0
    """BookIgnoreRate: probability, in percent, with which the player does not consult the files."""
    look_ahead: Literal["off", "worst", "likely"] = "worst"
    """The value of a move: the book's own value ("off"), or the value after the opponent's best ("worst") or most
    played ("likely") reply, if the book knows replies."""
    answer_ms: Annotated[int, Field(ge=1, le=10_000)] = 300
    """Milliseconds that a book has to answer, at most a quarter of the move's time. After that the search begins."""
    learn: _Path = ""
    """File (SQLite) of the book that learns from the player's own games. Created on first use. Empty: no such book."""
    study: bool = True
    """Between games, search the moves before the turning point of a lost game again, for twice the time."""
    study_moves: Annotated[int, Field(ge=1, le=100)] = 4
    """Number of moves of a lost game to study."""
    study_bad_score: Annotated[int, Field(ge=1, le=30_000)] = 300
    """The turning point of a lost game is the move after which the score stays worse than this many centipawns."""


class RecordsConfig(_Section):
    """Records and logs of games."""

    folder: _Path = "records"
    """Folder for game records (CSA) and logs. Created on first use."""


LOOPBACK: Final = "127.0.0.1"
OFF: Final = "off"


def parse_listen(text: str) -> tuple[str, int] | None:
    """Host and port of ``HOST:PORT``, or of a port on this machine alone; None: ``off``. Port 0: any free port. Raises
    ValueError: the text is none of these; the message says which forms are allowed."""
    if text.strip().lower() == OFF:
        return None
    host, _, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or LOOPBACK
    if not (port.isascii() and port.isdigit() and int(port) <= 65535) or any(letter.isspace() for letter in host):
        raise ValueError(f"{text!r}: expected HOST:PORT, a port, or off")
    return host, int(port)


def _listen(text: str) -> str:
    parse_listen(text)
    return text


class PageConfig(_Section):
    """The live page: the game, the fleet's thoughts and its health, in a browser. See docs/how-to/live-page.md."""

    listen: Annotated[str, AfterValidator(_listen)] = "127.0.0.1:4084"
    """HOST:PORT. If another page uses the port, this one takes any free port. "off": there is no page."""
    token: Annotated[SecretStr, Field(min_length=16)] | None = None
    """Not set here: it comes from GOUGI_PAGE_TOKEN. Browsers on other machines must present it. If it is not set, a
    page that other machines can reach generates one for each run."""

    @property
    def place(self) -> tuple[str, int] | None:
        """Host and port; None: there is no page."""
        return parse_listen(self.listen)


class _ReadVariables(BaseModel):
    """The [fleet] variables that gougi itself reads; terraform checks the others."""

    model_config = ConfigDict(extra="allow", strict=True)

    usd_per_hour: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = {}
    head_instance_type: Annotated[str, Field(min_length=1)] = ""
    instance_types: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=20)] = []


def _readable(variables: dict[str, Any]) -> dict[str, Any]:
    _ReadVariables.model_validate(variables)
    return variables


class FleetConfig(_Section):
    """A fleet of machines on AWS, for `gougi fleet`. See docs/reference/aws.md."""

    folder: Annotated[str, Field(min_length=1)] = "~/.local/state/gougi/fleet"
    """Folder of the fleet's local files: Terraform's working directory and the release."""
    terraform: str = ""
    """The terraform program. Empty: terraform or tofu, whichever is on the PATH."""
    module: str = ""
    """The terraform module. Empty: the module of the checkout from which gougi runs."""
    region: str = ""
    """The AWS region. Empty: AWS_REGION, or the profile's."""
    name: Annotated[str, Field(pattern="^[a-z][a-z0-9-]{0,30}[a-z0-9]$")] = "gougi"
    """Name of the fleet: a part of all its names in AWS, and the value of its tag "gougi-fleet"."""
    nodes: Annotated[int, Field(ge=0, le=1000)] = 1
    """Number of machines that search, until `gougi fleet scale` changes it."""
    instance_types: Annotated[tuple[str, ...], Field(min_length=1, max_length=20)] = ("c7i.4xlarge", "c6i.4xlarge")
    """Instance types of these machines, the preferred one first."""
    csa_password_parameter: str = ""
    """Name of the SSM parameter (SecureString) that holds the server's password."""
    price_cap_usd: Annotated[float, Field(ge=0)] = 0.0
    """The highest cost of one run, in US dollars at list prices, counted anew after each change of the number of nodes.
    At this cost the fleet ends before auto_stop_hours, even during a game. 0: no cap."""
    idle_hours: Annotated[float, Field(ge=0, le=720)] = 0.0
    """Hours without a move after which the fleet ends. 0: never for this reason."""
    variables: Annotated[dict[str, Any], AfterValidator(_readable)] = {}
    """Any other variable of terraform/variables.tf, such as {on_demand_nodes = 2, auto_stop_hours = 6}."""


def _address(text: str) -> str:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is no IP address, such as 127.0.0.1, or 0.0.0.0 for all of this machine's"
        ) from None
    return text


_Address = Annotated[str, AfterValidator(_address)]


class UsiConfig(_Section):
    """The engine for a GUI."""

    fleet: bool = False
    """Whether `gougi-usi`, which GUIs start without arguments, is the fleet (`gougi usi`). If not, it is one searcher
    (`gougi usi --single`)."""


class MetricsConfig(_Section):
    """Figures for Prometheus, served over HTTP by `gougi play` and `gougi usi`. docs/how-to/metrics.md lists them."""

    on: bool = True
    """Whether to serve them."""
    listen: _Address = "127.0.0.1"
    """Address of the master on which to serve them. On an address other than 127.0.0.1, anyone who reaches the port can
    read them."""
    port: Annotated[int, Field(ge=0, le=65535)] = 9471
    """The master's port. If another master uses it, the next free one of the following 20. 0: any free port."""


class LogConfig(_Section):
    """The log: JSON lines in the records folder, and messages on the terminal."""

    file_level: Literal["debug", "info", "warning", "error"] = "debug"
    """Lowest level of messages in the file. With "debug" it has every line of the server, so a game can be replayed."""
    file_mb: Annotated[int, Field(ge=0, le=10_000)] = 16
    """Size in MB at which a log file is rotated and compressed. 0: never."""
    keep_files: Annotated[int, Field(ge=0)] = 200
    """Number of log files to keep in the folder, over all runs; the oldest are deleted. 0: keep all."""
    console_level: Literal["debug", "info", "warning", "error"] = "warning"
    """Lowest level of messages on the terminal."""

    def options(self) -> dict[str, Any]:
        return {
            "file_level": self.file_level,
            "console_level": self.console_level,
            "part_bytes": self.file_mb * 1_000_000,
            "keep": self.keep_files,
        }


class Config(BaseSettings):
    """Everything that can be set."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, env_nested_delimiter="_", env_nested_max_split=1, extra="forbid", frozen=True
    )

    engine: EngineConfig = EngineConfig()
    cluster: ClusterConfig = ClusterConfig()
    csa: CsaConfig = CsaConfig()
    clock: ClockConfig = ClockConfig()
    play: PlayConfig = PlayConfig()
    book: BookConfig = BookConfig()
    records: RecordsConfig = RecordsConfig()
    usi: UsiConfig = UsiConfig()
    page: PageConfig = PageConfig()
    fleet: FleetConfig = FleetConfig()
    metrics: MetricsConfig = MetricsConfig()
    log: LogConfig = LogConfig()

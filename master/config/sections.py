"""The sections of the configuration: each key, its type, its default and its meaning."""

from __future__ import annotations

import ipaddress
import os
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from cluster.coordination.settings import Mode, Settings, SharingSettings
from cluster.engine_spec import Variety
from cluster.voting import Vote
from master.csa.login import LOGIN_NAME
from master.player.instructions import PlayerSettings
from worker.rules import DECLARATIONS, EnteringKingRule

ENV_PREFIX = "GOUGI_"
"""Prefix of each variable's name."""
SECRETS = frozenset({("csa", "password"), ("page", "token")})
"""Keys that no file holds and nothing prints: they come from the environment."""


_Path = Annotated[str, AfterValidator(os.path.expanduser)]
"""A file or folder; ``~`` is the home folder, also where no shell has seen it."""


if TYPE_CHECKING:
    _VoteName = str
    _ModeName = str
else:
    _VoteName = Literal[("auto", *(vote.value for vote in Vote))]
    _ModeName = Literal[tuple(mode.value for mode in Mode)]

# The homes of the defaults that are not the configuration's own.
_SEARCH = Settings()
_SHARING = SharingSettings()
_PLAYER = PlayerSettings()
_VARIETY = Variety()


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class EngineConfig(_Section):
    """The searcher of one node."""

    hash_mb: Annotated[int, Field(ge=1, le=1 << 20)] = 128
    """Transposition table of each node, in MiB."""
    threads: Annotated[int, Field(ge=0, le=512)] = 0
    """Search threads of each node. 0: the nodes of a machine share out its processors (each gets 16 at most); a single
    searcher and the nodes of `gougi analyze` have one."""
    eval_file: _Path = ""
    """Network file (nn.bin) or its folder, by its path on the node's own machine. Empty: the one that ships with
    Gougi."""
    eval_architecture: str = ""
    """The network's shape (halfkp_1024x2-8-64), if its file leaves it open. Empty: as the file's bytes say."""
    fv_scale: Annotated[int, Field(ge=0, le=1024)] = 0
    """Raw network output to a centipawn. 0: as measured by `gougi net calibrate`, else what the network's author
    names, else 16."""


class NodeKindConfig(_Section):
    """The engine of a node: any USI engine, or our own searcher, where it differs from [engine]."""

    command: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """A USI engine: its program, by its path on the node's own machine, and arguments. Empty: our own searcher."""
    options: dict[str, str] = {}
    """The USI engine's options."""
    eval_file: _Path | None = None
    eval_architecture: str | None = None
    fv_scale: Annotated[int, Field(ge=0, le=1024)] | None = None
    hash_mb: Annotated[int, Field(ge=1, le=1 << 20)] | None = None
    threads: Annotated[int, Field(ge=1, le=512)] | None = None

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
    """Number of nodes that search on this machine. 0: one (one of each kind, where there are kinds): on the same
    processors one node of several threads is at least as strong as several nodes, and with eight clearly stronger."""
    oversubscribe: bool = False
    """Whether nodes for which this machine has no processor run too. Otherwise they are left out, for together they
    would be weaker: four nodes on two processors lost 150 Elo to two."""
    address: str = ""
    """A running Ray cluster, HOST:PORT. Empty: one of our own on this machine, for as long as the command runs."""
    report_port: Annotated[int, Field(ge=0, le=65535)] = 0
    """The port of this machine to which nodes report. 0: any free one. Set one if a firewall has to know it."""
    advertise: str = ""
    """HOST:PORT at which nodes reach that port, if it is not this machine's own address."""
    mode: _ModeName = _SEARCH.mode.value
    """"split": the nodes share out the moves. "consult": each searches all, and they vote. "tiers": both, by groups.
    "auto": what was measured as best for so many nodes and such a budget."""
    groups: Annotated[int, Field(ge=1, le=1024)] = _SEARCH.groups
    """Number of groups that vote where the mode is "tiers"."""
    vote: _VoteName = "auto"
    """The rule by which a move wins a vote: most voters, highest score, greatest weight … See
    docs/explanation/deciding.md. "auto": what was measured as best where the mode is "auto" too, else "majority"."""
    kinds: tuple[NodeKindConfig, ...] = ()
    """Engines of the nodes, dealt to them in turn: a table for each kind. {} is our own searcher as [engine] has it,
    {eval_file = "other.bin"} the same with another network (hash_mb, threads, fv_scale likewise),
    {command = ["/usr/games/gpsusi"], options = {BookDepth = "0"}} any USI engine. Empty: all run our own."""
    share_depth: Annotated[int, Field(ge=0, le=60)] = _SHARING.depth
    """Nodes with the same network send each other the entries of their tables from this depth on. 0: none."""
    share_bytes_per_s: Annotated[int, Field(ge=10_000, le=10_000_000_000)] = _SHARING.bytes_per_s
    """Bytes a second that each node may send to all others together; about as much comes in."""


class VotersConfig(_Section):
    """Differences between nodes that run our own searcher, so that a vote of theirs is more than one opinion."""

    dropout: Annotated[float, Field(ge=0, le=0.5)] = _VARIETY.dropout
    """Share of the network's hidden units that each node but the first leaves out; each node leaves out other ones."""
    noise: Annotated[float, Field(ge=0, le=1000)] = _VARIETY.noise
    """Noise on each node's evaluation but the first's: its standard deviation in centipawns."""
    depths: bool = _VARIETY.depths
    """Whether each node but the first leaves out depths of its own, as threads do."""
    seed: Annotated[int, Field(ge=0, le=1 << 40)] = _VARIETY.seed
    """Seed of dropout and noise: the same seed makes the same nodes."""


class CsaConfig(_Section):
    """The tournament server."""

    server: str = ""
    """HOST:PORT. Empty: `gougi play` plays an embedded game on this machine."""
    game: str = ""
    """Game name, such as floodgate-300-10F. Empty: the server pairs by the password alone."""
    any_game: bool = False
    """Also accept a game that has other times than those in the game name. Otherwise the player rejects it."""
    name: Annotated[str, Field(pattern=f"^{LOGIN_NAME}$")] = "gougi"
    """Login name."""
    password: SecretStr | None = None
    """Not here: GOUGI_CSA_PASSWORD or password_file holds it (a "trip", on servers that pair by game name)."""
    password_file: _Path = ""
    """A file with the password on its first line, which only its owner can read (mode 600)."""
    games: Annotated[int, Field(ge=0)] = 1
    """Games to play, one after the other. 0: without end."""
    attempts: Annotated[int, Field(ge=0)] = 30
    """Give up after so many failures in a row: a server that cannot be reached, a connection that breaks before a
    game begins.
    The delays between grow to two minutes, so 30 take 50 minutes. 0: never."""


class ClockConfig(_Section):
    """Margins and limits of the clock."""

    network_margin_ms: Annotated[int, Field(ge=0, le=60_000)] = _PLAYER.clock.network_margin_ms
    """Milliseconds that the clock keeps back on each move for the way to the server and back, at first; never fewer.
    It keeps back more if the connection, or this machine, turns out to be slower."""
    most_reserve_ms: Annotated[int, Field(ge=0, le=60_000)] = _PLAYER.clock.most_reserve_ms
    """Limit, in milliseconds, of what the clock keeps back when the flag is near: a tenth of the time at stake, but no
    more than this. If the connection has once been slower, it keeps back more."""


class PlayConfig(_Section):
    """Choices for games on the server."""

    ponder: bool = _PLAYER.ponder
    """Search while the opponent thinks. Never in an embedded game, because its two players share this machine."""
    resign_score: Annotated[int, Field(ge=0, le=30_000)] = _PLAYER.resign_score or 0
    """Resign where the score is this bad, in centipawns, on resign_moves own moves in a row. 0: never by score."""
    resign_moves: Annotated[int, Field(ge=1)] = _PLAYER.resign_moves
    """Number of own moves in a row for resign_score."""
    draw_value_black: Annotated[int, Field(ge=-20_000, le=20_000)] = _PLAYER.draw_black
    """The value of a draw (repetition, move limit) for us where we are black, in centipawns: -100 avoids draws in even
    positions and worse, 100 looks for them."""
    draw_value_white: Annotated[int, Field(ge=-20_000, le=20_000)] = _PLAYER.draw_white
    """The same where we are white."""
    notation: Literal["japanese", "usi"] = "japanese"
    """The moves on the terminal: ☗７六歩 or 7g7f."""
    mate_at_limit: bool = _PLAYER.mate_at_limit
    """Whether a mate by the last move before the server's move limit wins. The tournament server calls it a draw; by
    the rules of the WCSC, as far as we found them, it wins: set this to true there."""
    entering_king: EnteringKingRule = _PLAYER.entering
    """EnteringKingRule: how a declaration counts if the server has one. CSARule27H is for handicap games: white, who
    gives the handicap, has the points of the missing pieces. gougi serve goes by it too."""

    @field_validator("entering_king")
    @classmethod
    def _no_try(cls, rule: EnteringKingRule) -> EnteringKingRule:
        if rule not in DECLARATIONS:
            raise ValueError(f"expected one of {', '.join(DECLARATIONS)}")
        return rule


class BookConfig(_Section):
    """Opening books, and the book that learns. docs/how-to/books.md explains them."""

    files: tuple[_Path, ...] = ()
    """Book files: YaneuraOu's (.db, .ybb) and Apery's (.bin); the first one that has a move for the position is used.
    Empty: none."""
    on_the_fly: bool = False
    """Leave the files on the disk (they have to be sorted): for books of many GB."""
    moves: Annotated[int, Field(ge=0, le=10_000)] = 16
    """BookMoves: the last move number at which the files are asked."""
    eval_diff: Annotated[int, Field(ge=0, le=99_999)] = 30
    """BookEvalDiff: how many centipawns a move may be worse than the best (with look_ahead "off": the first)."""
    eval_black_diff: Annotated[int, Field(ge=-1, le=99_999)] = -1
    """BookEvalBlackDiff: another eval_diff for black. -1: none."""
    eval_white_diff: Annotated[int, Field(ge=-1, le=99_999)] = -1
    """BookEvalWhiteDiff: another eval_diff for white. -1: none."""
    eval_black_limit: Annotated[int, Field(ge=-99_999, le=99_999)] = 0
    """BookEvalBlackLimit: the least value of a move for black."""
    eval_white_limit: Annotated[int, Field(ge=-99_999, le=99_999)] = -140
    """BookEvalWhiteLimit: the least value of a move for white."""
    depth_limit: Annotated[int, Field(ge=0, le=99_999)] = 0
    """BookDepthLimit: the best move's least depth. 0: any (YaneuraOu has 16, which no book made from games passes)."""
    depth_black_limit: Annotated[int, Field(ge=-1, le=99_999)] = -1
    """BookDepthBlackLimit: another depth_limit for black. -1: none."""
    depth_white_limit: Annotated[int, Field(ge=-1, le=99_999)] = -1
    """BookDepthWhiteLimit: another depth_limit for white. -1: none."""
    consider_move_count: bool = False
    """ConsiderBookMoveCount: the chances are as the numbers of games; otherwise all are equal."""
    flipped: bool = True
    """FlippedBook: if a position is not in the book, look for it turned around, with the colours swapped."""
    ignore_ply: bool = True
    """IgnoreBookPly: accept the same position at another move number."""
    narrow: bool = False
    """NarrowBook: no move that was played in less than a tenth of the games."""
    ignore_rate: Annotated[int, Field(ge=0, le=100)] = 0
    """BookIgnoreRate: how often, in percent and by chance, the player does not ask the files."""
    look_ahead: Literal["off", "worst", "likely"] = "worst"
    """The value of a move: what the book says of it ("off"), or what the opponent's best ("worst") or most played
    ("likely") reply leaves, where the book knows replies."""
    answer_ms: Annotated[int, Field(ge=1, le=10_000)] = 300
    """Milliseconds that a book has to answer, at most a quarter of the move's time. After that the search begins."""
    learn: _Path = ""
    """File (SQLite) of the book that learns from the player's own games. Made when needed. Empty: no such book."""
    study: bool = True
    """Between games, search the moves before the turn of a lost game again, for twice the time."""
    study_moves: Annotated[int, Field(ge=1, le=100)] = 4
    """Number of moves of a lost game to study."""
    study_bad_score: Annotated[int, Field(ge=1, le=30_000)] = 300
    """Centipawns behind, from which the score does not recover, that mark the turn of a lost game."""


class RecordsConfig(_Section):
    """Records and logs of games."""

    folder: _Path = "records"
    """Folder for game records (CSA) and logs. Made when needed."""


LOOPBACK: Final = "127.0.0.1"
OFF: Final = "off"


def parse_listen(text: str) -> tuple[str, int] | None:
    """Host and port of ``HOST:PORT``, or of a port of this machine alone; None: ``off``. The port may be 0: any that is
    free.

    Raises:
        ValueError: the text is none of these; it says what is expected.
    """
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
    """The live page: the game, what the fleet thinks, and how it is, in a browser. See docs/how-to/live-page.md."""

    listen: Annotated[str, AfterValidator(_listen)] = "127.0.0.1:4084"
    """HOST:PORT. If another page has the port, this one takes any free port. "off": there is no page."""
    token: Annotated[SecretStr, Field(min_length=16)] | None = None
    """Not here: GOUGI_PAGE_TOKEN holds it. A browser from another machine has to show it. Without one a page that can
    be reached from there makes one up for each run."""

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
    """Folder of the fleet's terraform state, and of all that belongs to it."""
    terraform: str = ""
    """The program. Empty: terraform or tofu, whichever is on the PATH."""
    module: str = ""
    """The terraform module. Empty: that of the checkout which gougi runs from."""
    region: str = ""
    """The AWS region. Empty: AWS_REGION, or the profile's."""
    name: Annotated[str, Field(pattern="^[a-z][a-z0-9-]{0,30}[a-z0-9]$")] = "gougi"
    """Name of the fleet: a part of all its names in AWS, and the value of its tag "gougi-fleet"."""
    nodes: Annotated[int, Field(ge=0, le=1000)] = 1
    """Number of machines that search, until `gougi fleet scale` says otherwise."""
    instance_types: Annotated[tuple[str, ...], Field(min_length=1, max_length=20)] = ("c7i.4xlarge", "c6i.4xlarge")
    """Types of these machines, the preferred one first."""
    csa_password_parameter: str = ""
    """Name of the SSM parameter (SecureString) that holds the server's password."""
    price_cap_usd: Annotated[float, Field(ge=0)] = 0.0
    """The highest cost of one run, in US dollars at list prices: the fleet ends sooner than auto_stop_hours, even in a
    game. 0: no cap."""
    idle_hours: Annotated[float, Field(ge=0, le=720)] = 0.0
    """Hours without a move after which the fleet ends. 0: it does not end for this reason."""
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
    """Whether `gougi-usi`, which GUIs start without arguments, is the fleet (`gougi usi`). Otherwise it is one searcher
    (`gougi usi --single`)."""


class MetricsConfig(_Section):
    """Figures for Prometheus, served over HTTP by `gougi play` and `gougi usi`. docs/how-to/metrics.md lists them."""

    on: bool = True
    """Whether they are served at all."""
    listen: _Address = "127.0.0.1"
    """Address of the master to serve them at. Beyond 127.0.0.1 whoever reaches the port can read them."""
    port: Annotated[int, Field(ge=0, le=65535)] = 9471
    """The master's port. Where another master has it, the next free one of the 20 from there on. 0: any free one."""


class LogConfig(_Section):
    """The log: JSON lines in the records folder, and messages on the terminal."""

    file_level: Literal["debug", "info", "warning", "error"] = "debug"
    """Least level of messages in the file. With "debug" it has every line of the server, so a game can be replayed."""
    file_mb: Annotated[int, Field(ge=0, le=10_000)] = 16
    """Size in MB at which a log file is set aside and compressed, and a new one begun. 0: never."""
    keep_files: Annotated[int, Field(ge=0)] = 200
    """Number of log files that stay in the folder, of all runs; the oldest are deleted. 0: all are kept."""
    console_level: Literal["debug", "info", "warning", "error"] = "warning"
    """Least level of messages on the terminal."""

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
    voters: VotersConfig = VotersConfig()
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

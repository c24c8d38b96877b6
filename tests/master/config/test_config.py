"""The configuration: precedence, and errors that name file, key and expectation."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from master.config import ConfigError, csa_password, effective, load_config, sample

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("GOUGI_") and name != "GOUGI_CACHE_DIR":
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def refused(options: dict[str, dict[str, object]] | None = None, file: Path | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(options, file)
    return str(caught.value)


def test_option_environment_file_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_config().engine.threads == 0
    file = write(tmp_path / "my.toml", "[engine]\nthreads = 2\nhash_mb = 32\n[csa]\nname = 'filed'\n")
    assert load_config(file=file).engine.threads == 2
    monkeypatch.setenv("GOUGI_ENGINE_THREADS", "3")
    assert load_config(file=file).engine.threads == 3
    config = load_config({"engine": {"threads": 4, "hash_mb": None}, "csa": {"name": None}}, file)
    assert (config.engine.threads, config.engine.hash_mb, config.csa.name) == (4, 32, "filed")


def test_the_place_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "home" / "gougi" / "gougi.toml", "[cluster]\nnodes = 3\n")
    assert load_config().cluster.nodes == 3
    write(tmp_path / "gougi.toml", "[cluster]\nnodes = 4\n")
    assert load_config().cluster.nodes == 4
    named = write(tmp_path / "other.toml", "[cluster]\nnodes = 5\n")
    monkeypatch.setenv("GOUGI_CONFIG", str(named))
    assert load_config().cluster.nodes == 5
    monkeypatch.setenv("GOUGI_CONFIG", str(tmp_path / "missing.toml"))
    assert "missing.toml: no such file" in refused()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[engine]\nhash_mb = 0\n", ["my.toml: [engine] hash_mb", "0 is too small: 1 or more"]),
        ("[engine]\nthreds = 2\n", ["my.toml: [engine] threds: no such key", "hash_mb, threads"]),
        ("[engin]\nthreads = 2\n", ["my.toml: [engin]: no such section", "engine, cluster, csa"]),
        ("[cluster]\nmode = 'loudest'\n", ["[cluster] mode", "'loudest' is none of: consult, split, tiers"]),
        ("[csa]\nname = 'two words'\n", ["[csa] name: 'two words' is no login name"]),
        ("[csa]\npassword = 'hush'\n", ["[csa] password", "GOUGI_CSA_PASSWORD"]),
        ("engine = 3\n", ["my.toml: [engine]: 3 is not a table"]),
        (
            "[[cluster.kinds]]\nhash = 3\n",
            ["my.toml: [cluster] kinds[0].hash: no such key", "fv_scale, hash_mb, threads"],
        ),
        ("[cluster]\nkinds = [{}, {hash_mb = 0}]\n", ["[cluster] kinds[1].hash_mb: 0 is too small"]),
        ("[cluster]\nkinds = {}\n", ["my.toml: [cluster] kinds: {} is not a list"]),
        ("[cluster]\nkinds = [3]\n", ["my.toml: [cluster] kinds[0]: 3 is not a table"]),
        (
            "[cluster]\nkinds = [{command = ['a'], options = {X = 1}}]\n",
            ["[cluster] kinds[0].options.X: 1 is not a text"],
        ),
        ("[cluster.caution]\nmargin = 3\n", ["my.toml: [cluster] caution: no such key; expected one of: nodes,"]),
        ("[fleet.variables]\nusd_per_hour = 1\n", ["[fleet] variables.usd_per_hour: 1 is not a table"]),
        ("[fleet.variables]\nusd_per_hour = {a = 'b'}\n", ["[fleet] variables.usd_per_hour.a: 'b' is not a number"]),
        (
            "[fleet.variables]\nusd_per_hour = {a = 0}\n",
            ["[fleet] variables.usd_per_hour.a: 0 is too small: more than 0"],
        ),
        ("[fleet.variables]\nusd_per_hour = {a = nan}\n", ["[fleet] variables.usd_per_hour.a: nan is not a number"]),
        ("[fleet.variables]\nhead_instance_type = 3\n", ["[fleet] variables.head_instance_type: 3 is not a text"]),
        ("[fleet.variables]\ninstance_types = 'a'\n", ["[fleet] variables.instance_types: 'a' is not a list"]),
        ("[fleet.variables]\ninstance_types = [1]\n", ["[fleet] variables.instance_types[0]: 1 is not a text"]),
        ("[fleet.variables]\ninstance_types = []\n", ["[fleet] variables.instance_types: too few: 1 or more"]),
        ("[engine\n", ["my.toml: not a TOML file", "line 1"]),
    ],
)
def test_a_bad_file(tmp_path: Path, text: str, words: list[str]) -> None:
    message = refused(file=write(tmp_path / "my.toml", text))
    assert all(word in message for word in words), message
    assert "hush" not in message


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    message = refused({"cluster": {"nodes": -1}}, write(tmp_path / "my.toml", "[engine]\nhash_mb = 0\nthreads = 'x'\n"))
    lines = sorted(line.split(":")[0] for line in message.splitlines())
    assert [Path(line).name for line in lines] == ["my.toml", "my.toml", "command line"]


def test_a_bad_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOUGI_CLUSTER_NODES", "many")
    assert "environment: GOUGI_CLUSTER_NODES: [cluster] nodes" in refused()
    monkeypatch.delenv("GOUGI_CLUSTER_NODES")
    monkeypatch.setenv("GOUGI_CLUSTER_NODS", "2")
    assert "GOUGI_CLUSTER_NODS: no such variable" in refused()


def test_the_secret_of_a_remote_engine_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOUGI_USI_SECRET", "hush-hush")
    monkeypatch.setenv("GOUGI_USI_FLEET", "true")
    assert load_config().usi.fleet


def test_the_password_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOUGI_CSA_PASSWORD", "hush-hush")
    config = load_config()
    assert csa_password(config) == "hush-hush"
    assert "hush-hush" not in f"{config} {config!r} {effective(config)}"


def test_a_password_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "secret", "hush-hush\n")
    config = load_config({"csa": {"password_file": str(file)}})
    file.chmod(0o644)
    with pytest.raises(ConfigError, match=r"mode 644.*expected 600"):
        csa_password(config)
    file.chmod(0o600)
    assert csa_password(config) == "hush-hush"
    monkeypatch.setenv("GOUGI_CSA_PASSWORD", "of the environment")
    assert csa_password(load_config({"csa": {"password_file": str(file)}})) == "hush-hush", "an option has precedence"
    settings = write(tmp_path / "gougi.toml", f'[csa]\npassword_file = "{file}"\n')
    assert csa_password(load_config(file=settings)) == "of the environment"
    file.write_bytes(b"\xef\xbb\xbfhush-hush\r\n")  # as a Windows editor writes it
    assert csa_password(config) == "hush-hush"
    settings.write_bytes(b'\xef\xbb\xbf[csa]\r\nname = "anna"\r\n')
    assert load_config(file=settings).csa.name == "anna"
    file.write_text("\n")
    with pytest.raises(ConfigError, match="first line is empty"):
        csa_password(config)
    file.unlink()
    with pytest.raises(ConfigError, match="secret: no such file"):
        csa_password(config)


def test_no_password() -> None:
    assert csa_password(load_config()) == ""


def test_the_sample_and_the_effective_file_can_be_read_back(tmp_path: Path) -> None:
    assert load_config(file=write(tmp_path / "sample.toml", sample())).model_dump() == load_config().model_dump()
    config = load_config({"engine": {"threads": 7, "eval_file": 'odd "name".bin'}, "cluster": {"mode": "split"}})
    again = load_config(file=write(tmp_path / "effective.toml", effective(config)))
    assert again.model_dump() == config.model_dump()


KINDS = """
[cluster]
kinds = [{}, {eval_file = "b.bin"}, {command = ["/usr/games/gpsusi", "-v"], options = {BookDepth = "0"}}]
"""


def test_kinds_of_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config(file=write(tmp_path / "kinds.toml", KINDS))
    assert load_config(file=write(tmp_path / "effective.toml", effective(config))).model_dump() == config.model_dump()
    plain, other, usi = config.cluster.kinds
    assert (plain.command, plain.eval_file, other.eval_file) == ((), None, "b.bin")
    assert (usi.command, usi.options) == (("/usr/games/gpsusi", "-v"), {"BookDepth": "0"})
    monkeypatch.setenv("GOUGI_CLUSTER_KINDS", '[{"command": ["x"]}]')
    assert [kind.command for kind in load_config().cluster.kinds] == [("x",)]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ('{command = ["x"], threads = 2}', "a USI engine takes options, not threads"),
        ('{options = {A = "1"}}', "name its command"),
        ('{comand = ["x"]}', "[cluster] kinds"),
        ('{command = [""]}', "is too short: 1 character or more"),
    ],
)
def test_a_bad_kind(tmp_path: Path, kind: str, words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        load_config(file=write(tmp_path / "bad.toml", f"[cluster]\nkinds = [{kind}]\n"))


def test_the_example_in_the_repository_is_the_sample() -> None:
    assert (ROOT / "gougi.example.toml").read_text(encoding="utf-8") == sample()


def test_the_home_folder_in_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = str(tmp_path)
    monkeypatch.setenv("HOME", home)
    monkeypatch.setenv("GOUGI_RECORDS_FOLDER", "~/shogi")
    text = """\
[engine]
eval_file = "~/nn.bin"
[cluster]
kinds = [{eval_file = "~/other.bin"}]
[csa]
password_file = "~/secret"
[book]
files = ["~/a.db", "b~.db"]
learn = "~/learn.sqlite"
"""
    config = load_config(file=write(tmp_path / "paths.toml", text))
    assert (config.records.folder, config.engine.eval_file) == (f"{home}/shogi", f"{home}/nn.bin")
    assert config.cluster.kinds[0].eval_file == f"{home}/other.bin"
    assert config.csa.password_file == f"{home}/secret"
    assert (config.book.files, config.book.learn) == ((f"{home}/a.db", "b~.db"), f"{home}/learn.sqlite")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("GOUGI_BOOK_FILES", "floodgate.db", '\'floodgate.db\' is not JSON, such as ["A", "B"]'),
        ("GOUGI_CLUSTER_KINDS", "", "'' is not JSON, such as ["),
        ("GOUGI_FLEET_VARIABLES", "{a: 1}", '\'{a: 1}\' is not JSON, such as {"KEY": "VALUE"}'),
        ("GOUGI_BOOK_FILES", "3", "[book] files: 3 is not a list"),
    ],
)
def test_a_list_or_a_table_in_a_variable_is_json(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=re.escape(f"environment: {name}: ") + ".*" + re.escape(words)):
        load_config()
    monkeypatch.setenv("GOUGI_BOOK_FILES", '["a.db", "b.db"]')
    monkeypatch.delenv("GOUGI_CLUSTER_KINDS", raising=False)
    monkeypatch.delenv("GOUGI_FLEET_VARIABLES", raising=False)
    assert load_config().book.files == ("a.db", "b.db")

"""The wheel: it works without a clone, in an environment with its dependencies and nothing else."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from hatch_build import RenameError, Renamer, packed
from tests.usi_game import play_over_usi
from worker.pack import SHIPPED, SUFFIX

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    for place in (
        "worker/jit/cache.py",
        "worker/jit/__init__.py",
        "master/cli.py",
        "lab/words.toml",
        "gougi/__init__.py",
    ):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).touch()
    return root


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from worker.jit import cache", "from gougi.worker.jit import cache"),
        ("from master import cli  # 日本", "from gougi.master import cli  # 日本"),
        ("import worker.jit.cache as cache", "import gougi.worker.jit.cache as cache"),
        ("import os, lab as laboratory", "import os, gougi.lab as laboratory"),
        (
            "if a:\n    from lab.x import (\n        y,\n    )\n",
            "if a:\n    from gougi.lab.x import (\n        y,\n    )\n",
        ),
        ("from . import worker\nfrom workers import x\n", "from . import worker\nfrom workers import x\n"),
        ("run('日', '-m', 'worker.jit.cache')", "run('日', '-m', 'gougi.worker.jit.cache')"),
        ('PLACE = {"config": "master.cli:config"}', 'PLACE = {"config": "gougi.master.cli:config"}'),
        ('files("worker.jit")', 'files("gougi.worker.jit")'),
        # Words and file names that only look like ours.
        ('a = "lab.json", "master", "worker.jit is here", "worker.net"', None),
        ('"""Of worker.jit.cache."""', None),
    ],
)
def test_names_of_ours_get_the_name_above_them(before: str, after: str | None, repository: Path) -> None:
    assert Renamer(repository).source(before, "x.py") == (before if after is None else after)


def test_an_import_that_binds_another_name_is_refused(repository: Path) -> None:
    with pytest.raises(RenameError, match=r"x\.py:2: write: import worker\.jit as"):
        Renamer(repository).source("import os\nimport worker.jit\n", "x.py")


def test_every_file_has_its_place(repository: Path) -> None:
    (repository / "worker/jit/__pycache__").mkdir()
    (repository / "worker/jit/__pycache__/cache.pyc").touch()
    assert set(Renamer(repository).files()) == {
        "gougi/__init__.py",
        "gougi/lab/words.toml",
        "gougi/master/cli.py",
        "gougi/worker/jit/__init__.py",
        "gougi/worker/jit/cache.py",
    }


def test_packs_have_the_name_by_which_they_are_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no \*\.pack there"):
        packed(tmp_path)
    with zipfile.ZipFile(tmp_path / "own.pack", "w") as archive:
        index = {"folder": "jit-0123", "facts": {"name of the packages": "worker"}}
        archive.writestr("pack.json", json.dumps(index))
    with pytest.raises(ValueError, match=r"own\.pack: code of worker; a wheel needs code of its own packages"):
        packed(tmp_path)
    with zipfile.ZipFile(tmp_path / "own.pack", "w") as archive:
        index["facts"] = {"name of the packages": "gougi.worker"}
        archive.writestr("pack.json", json.dumps(index))
    assert packed(tmp_path) == {"gougi/worker/compiled/jit-0123.pack": (tmp_path / "own.pack").read_bytes()}
    assert f"{SHIPPED.name}/jit-0123{SUFFIX}" == "compiled/jit-0123.pack", "the folder that an installed Gougi uses"


def required(name: str) -> set[str]:
    """All dependencies of a distribution, direct and indirect, without extras."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for line in distribution(waiting.pop()).requires or ():
            requirement = Requirement(line)
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if applies and requirement.name not in found:
                found.add(requirement.name)
                waiting.append(requirement.name)
    return found


def link(name: str, into: Path) -> None:
    """Make the files of an installed distribution available in another environment."""
    ours = Path(sysconfig.get_path("purelib"))
    tops = {Path(str(file)).parts[0] for file in distribution(name).files or ()}
    for top in tops - {"..", "__pycache__"}:
        target = into / top
        if not target.exists():
            target.symlink_to(ours / top)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and its dependencies: no Ray, no boto3, no test packages."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=240)
    (wheel,) = folder.glob("gougi-*.whl")
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True, timeout=240)
    (packages,) = folder.glob("venv/lib/python*/site-packages")
    for name in sorted(required("gougi")):
        link(name, packages)
    return folder / "venv" / "bin"


def bare(home: Path) -> dict[str, str]:
    """An environment with an empty home folder; compiled code stays in the suite's cache.

    Hardly optimised, it compiles in two thirds of the time, and the games here have few nodes.
    """
    from worker.jit import cache_dir

    cache = str(cache_dir().parent)
    return {"PATH": "/usr/bin:/bin", "HOME": str(home), "GOUGI_CACHE_DIR": cache, "NUMBA_OPT": "0"}


def run(command: list[str], home: Path, timeout_s: float = 240) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=home, env=bare(home), capture_output=True, text=True, timeout=timeout_s, check=False
    )


@pytest.mark.slow
def test_nothing_but_our_name_is_installed(installed: Path, tmp_path: Path) -> None:
    script = "import importlib.metadata as m, json; print(json.dumps([str(f) for f in m.distribution('gougi').files]))"
    done = run([str(installed / "python"), "-c", script], tmp_path)
    tops = {Path(file).parts[0] for file in json.loads(done.stdout)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"gougi", ".."}
    for missing in ("worker", "master", "ray", "boto3", "pytest"):
        done = run([str(installed / "python"), "-c", f"import {missing}"], tmp_path)
        assert f"No module named '{missing}'" in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_it_plays_without_a_clone(installed: Path, tmp_path: Path) -> None:
    """Against itself, both sides over USI; its compiled code is its own, not the repository's."""
    gougi = str(installed / "gougi")
    assert run([gougi, "--version"], tmp_path).stdout == f"gougi {distribution('gougi').version}\n"
    warm = run([gougi, "warm"], tmp_path, timeout_s=700)
    assert warm.returncode == 0, warm.stderr
    play_over_usi([str(installed / "gougi-usi")], tmp_path, bare(tmp_path), "isready\nusinewgame\n", "go nodes 300")


@pytest.mark.slow
def test_a_fleet_of_two_nodes_and_the_extras(installed: Path, tmp_path: Path) -> None:
    gougi = str(installed / "gougi")
    words = ["play", "--nodes", "2", "--threads", "1", "--hash", "16", "--time", "1+1", "--max-moves", "2"]
    played = run([gougi, *words, "--page", "off", "--records", "games"], tmp_path)
    assert played.returncode == 0, played.stderr
    with socket.create_server(("127.0.0.1", 0)) as listener:
        refused = run([gougi, "status", "--address", f"127.0.0.1:{listener.getsockname()[1]}"], tmp_path)
    assert refused.returncode != 0
    assert "Ray is missing: pip install 'gougi[fleet]'" in refused.stderr

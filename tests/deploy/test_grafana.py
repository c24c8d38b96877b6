"""Dashboard and alert rules, by a real Prometheus that scrapes a real game: every query brings data."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.metrics.catalogue import FLEET
from master.logs.game_metrics import GAME
from tests.deploy.rendered import DEPLOY
from tests.master.command import Running
from tests.master.csa.peer import free_port

GRAFANA = DEPLOY / "grafana"
DASHBOARD = json.loads((GRAFANA / "dashboard.json").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((GRAFANA / "alerts.yml").read_text(encoding="utf-8"))
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
METRICS = {one.name for one in (*GAME, *FLEET)}

needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None,
    reason="prometheus is not installed (Debian: apt-get install prometheus)",
)


def queries() -> dict[str, str]:
    """The dashboard's queries, by panel and reference, with its variables filled in as Grafana does."""
    found = {
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in DASHBOARD["panels"]
        for target in panel.get("targets", ())
    }
    found |= {f"annotation {one['name']}": one["expr"] for one in DASHBOARD["annotations"]["list"]}
    return {name: query.replace("$master", ".*").replace("$__rate_interval", "1m") for name, query in found.items()}


def test_only_metrics_that_there_are() -> None:
    texts = [*queries().values(), *(rule["expr"] for rule in RULES)]
    used = {name for text in texts for name in re.findall(r"gougi_\w+", text)}
    assert used, "the pattern finds them"
    assert {re.sub("_(bucket|sum|count)$", "", name) for name in used} <= METRICS


def test_the_document_tells_every_alert() -> None:
    text = (DEPLOY.parent / "docs" / "how-to" / "metrics.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(Gougi\w+)`", text, re.MULTILINE)) == {rule["alert"] for rule in RULES}


@needs_prometheus
def test_promtool_accepts_rules_and_configuration() -> None:
    for command in (("check", "rules", "alerts.yml"), ("check", "config", "prometheus.yml")):
        ran = subprocess.run(["promtool", *command], cwd=GRAFANA, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr


@needs_prometheus
def test_when_alerts_fire(tmp_path: Path) -> None:
    """Some rules over made-up histories, checked by promtool."""
    shutil.copy(GRAFANA / "alerts.yml", tmp_path)
    (tmp_path / "tests.yml").write_text((Path(__file__).parent / "alert_cases.yml").read_text())
    ran = subprocess.run(
        ["promtool", "test", "rules", "tests.yml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


class Prometheus:
    """A real one, which scrapes as deploy/grafana/prometheus.yml says, but each second, and from another port."""

    def __init__(self, folder: Path, master_port: int) -> None:
        text = (GRAFANA / "prometheus.yml").read_text(encoding="utf-8")
        text = text.replace("127.0.0.1:9471", f"127.0.0.1:{master_port}").replace(": 5s", ": 1s")
        (folder / "prometheus.yml").write_text(text)
        shutil.copy(GRAFANA / "alerts.yml", folder)
        self._url = f"http://127.0.0.1:{(port := free_port())}"
        self._process = subprocess.Popen(
            [
                "prometheus", "--config.file=prometheus.yml", f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=(folder / "prometheus.log").open("w"),
        )  # fmt: skip

    def ask(self, path: str, **parameters: str) -> Any:
        """Ask its API; None: it is not there yet."""
        try:
            query = urllib.parse.urlencode(parameters)
            with urllib.request.urlopen(f"{self._url}/api/v1/{path}?{query}", timeout=30) as answer:
                return json.load(answer)["data"]
        except OSError:
            return None

    def query(self, text: str) -> list[dict[str, Any]]:
        data = self.ask("query", query=text)
        return [] if data is None else list(data["result"])

    def end(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(30)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[tuple[Running, Prometheus, int]]:
    port = free_port()
    prometheus = Prometheus(tmp_path, port)
    game = Running(
        ["play", "--plain", "--mode", "split", "--nodes", "2", "--time", "60+2", "--games", "0"],
        tmp_path,
        {"GOUGI_METRICS_PORT": str(port)},
    )
    try:
        yield game, prometheus, port
    finally:
        game.kill()
        prometheus.end()


def _answers(prometheus: Prometheus, open_queries: dict[str, str]) -> dict[str, str]:
    """The queries with no answer so far, or only NaN."""
    return {
        name: query
        for name, query in open_queries.items()
        if not any(row["value"][1] != "NaN" for row in prometheus.query(query))
    }


@pytest.mark.slow
@pytest.mark.timeout(600)
@needs_prometheus
def test_every_query_brings_data_from_a_real_game(watched: tuple[Running, Prometheus, int], tmp_path: Path) -> None:
    game, prometheus, port = watched
    game.wait_for("  1 ", 500)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
    (log,) = (tmp_path / "records").glob("*.jsonl")
    said = [json.loads(line) for line in log.read_text().splitlines()]
    [pid] = [one["pid"] for one in said if one["event"] == "node_ready" and one["node"] == "node-2"]
    os.kill(pid, signal.SIGKILL)
    # A game without an address has no Ray, so no metric tells whether it is up.
    missing = {name: query for name, query in queries().items() if "gougi_ray_up" not in query}
    deadline = time.monotonic() + 120
    while missing and time.monotonic() < deadline:
        time.sleep(1)
        missing = _answers(prometheus, missing)
        assert game.process.poll() is None, game.output
    assert missing == {}
    [losses] = prometheus.query("sum(gougi_node_losses_total)")
    assert float(losses["value"][1]) >= 1
    [rules] = prometheus.ask("rules")["groups"]
    assert [rule["name"] for rule in rules["rules"] if rule["health"] not in ("ok", "unknown")] == []
    game.press_ctrl_c()
    game.end()

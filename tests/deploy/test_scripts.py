"""The scripts of a machine, run for real against programs that record their arguments."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.machine import SCRIPTS, script_at, stand_in
from tests.master.command import ROOT
from tests.waiting import wait_for

# Dismissed 0.3 s after SIGTERM.
NODE = """
import signal, sys, time
from cluster.machine.presence import NodeState, Presence
def leave(*_):
    time.sleep(0.3)
    if sys.argv[2] == "heeds":
        presence.now(NodeState.DISMISSED)
signal.signal(signal.SIGTERM, leave)
presence = Presence.enter("a-node", 1)
print(flush=True)
while True:
    time.sleep(60)
"""


def _start_node(run: Path, manner: str) -> subprocess.Popen[bytes]:
    run.chmod(0o700)
    env = {**os.environ, "GOUGI_RUN_DIR": str(run)}
    command = [sys.executable, "-c", NODE, str(run), manner]
    node = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE)
    assert node.stdout is not None and node.stdout.readline(), "it has not started"
    return node


def _drain(run: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "GOUGI_RUN_DIR": str(run)}
    return subprocess.run([SCRIPTS / "drain.sh"], env=env, capture_output=True, text=True, check=False, timeout=60)


def test_drain_waits_until_the_nodes_are_dismissed(tmp_path: Path) -> None:
    (tmp_path / "node-999999999.json").write_text('{"pid": 999999999, "state": "serving"}')  # its process is gone
    nodes = [_start_node(tmp_path, "heeds") for _ in range(2)]
    try:
        ran = _drain(tmp_path)
        states = [json.loads((tmp_path / f"node-{node.pid}.json").read_text())["state"] for node in nodes]
    finally:
        for node in nodes:
            node.kill()
            node.wait()
    assert (ran.returncode, ran.stderr) == (0, "")
    assert states == ["dismissed", "dismissed"]


@pytest.mark.slow
def test_drain_does_not_wait_for_ever(tmp_path: Path) -> None:
    node = _start_node(tmp_path, "stays")
    try:
        ran = _drain(tmp_path)
    finally:
        node.kill()
        node.wait()
    assert ran.returncode == 0
    assert "1 of 1 nodes were not dismissed" in ran.stderr


@pytest.mark.parametrize("stopped", [True, False])
def test_the_nodes_end_with_a_stop_and_outlive_a_raylet(tmp_path: Path, stopped: bool) -> None:
    sleepers = [subprocess.Popen(["sleep", "60"]) for _ in range(2)]
    try:
        main, node = sleepers
        (tmp_path / "procs").write_text("".join(f"{each.pid}\n" for each in sleepers))
        for script in ("lib.sh", "drain.sh"):
            script_at(tmp_path, script)
        script = script_at(tmp_path, "stop-nodes.sh", processes=tmp_path / "procs")
        env = {**os.environ, "GOUGI_RUN_DIR": str(tmp_path), **({"MAINPID": str(main.pid)} if stopped else {})}
        subprocess.run([script], env=env, check=True, timeout=60)
        if stopped:
            assert node.wait(10) == -signal.SIGKILL
        assert main.poll() is None and (stopped or node.poll() is None)
    finally:
        for each in sleepers:
            each.kill()
            each.wait()


def _ray(tmp_path: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    ray = tmp_path / "ray"
    ray.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    ray.chmod(0o755)
    (tmp_path / "token").write_text("secret")
    token = {"RAY_AUTH_TOKEN_PATH": str(tmp_path / "token")}
    given = {"PATH": os.environ["PATH"], "RAY": str(ray), "RAY_NODE_ADDRESS": "10.0.0.7", **token, **env}
    return subprocess.run(
        [SCRIPTS / "ray.sh", *arguments], env=given, capture_output=True, text=True, check=False, timeout=60
    )


def test_ray_does_not_start_without_a_token(tmp_path: Path) -> None:
    ran = _ray(tmp_path, "head")
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert "RAY_AUTH_MODE is not token" in ran.stderr


def test_ray_waits_for_its_token(tmp_path: Path) -> None:
    ran = _ray(tmp_path, "head", RAY_AUTH_MODE="token", RAY_AUTH_TOKEN_PATH=str(tmp_path / "none"))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert f"{tmp_path / 'none'}: no token there" in ran.stderr


def test_rays_settings_for_many_machines_are_terraforms(tmp_path: Path) -> None:
    script_at(tmp_path, "lib.sh")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "master.env").write_text("RAY_health_check_period_ms=1000\n")
    stand_in(tmp_path, "ray", 'echo "asks every $RAY_health_check_period_ms ms"')
    (tmp_path / "token").write_text("secret")
    env = {
        "PATH": os.environ["PATH"],
        "RAY": str(tmp_path / "bin" / "ray"),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(tmp_path / "token"),
        "RAY_NODE_ADDRESS": "10.0.0.7",
        "RAY_health_check_period_ms": "250",
    }
    ran = subprocess.run([script_at(tmp_path, "ray.sh"), "head"], env=env, capture_output=True, text=True, check=False)
    assert ran.stdout == "asks every 1000 ms\n", ran.stderr


def test_a_master_without_its_password_is_started_again(tmp_path: Path) -> None:
    script_at(tmp_path, "lib.sh", RUN=tmp_path)
    master = script_at(tmp_path, "master.sh")
    ran = subprocess.run([master], capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 1  # not 2, which gougi-master.service takes as final
    assert "csa-password: no password there" in ran.stderr


def test_ray_on_a_worker_and_on_the_head(tmp_path: Path) -> None:
    said = _ray(tmp_path, "node", "10.81.0.10", "2", RAY_AUTH_MODE="token").stdout.splitlines()
    assert said[:5] == ["start", "--address", "10.81.0.10:6379", "--resources", '{"searcher": 2}']
    assert said[-1] == "--block" and "--disable-usage-stats" in said
    assert "--disable-usage-stats" in _ray(tmp_path, "head", RAY_AUTH_MODE="token").stdout.splitlines()


def _stopped(folder: Path, word: str, **scripts: str) -> tuple[int, list[str]]:
    """Run a container with these scripts, stop it when ``word`` is in its log, and return its end."""
    shutil.copy(SCRIPTS / "container.sh", folder)
    for name, text in scripts.items():
        (folder / f"{name}.sh").write_text(f"#!/usr/bin/env bash\n{text}\n")
        (folder / f"{name}.sh").chmod(0o755)
    log = folder / "log"
    log.touch()
    container = subprocess.Popen(
        [folder / "container.sh", "node", "10.81.0.10", "1"], cwd=folder, start_new_session=True
    )
    try:
        wait_for(lambda: word in log.read_text(), 120)
        container.send_signal(signal.SIGTERM)
        return container.wait(120), log.read_text().splitlines()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(container.pid, signal.SIGKILL)
        container.wait()


def test_a_container_sends_its_nodes_away_before_ray_ends(tmp_path: Path) -> None:
    serve = 'trap "echo end >>log; exit 0" TERM; echo "ray $*" >>log; while :; do sleep 0.05; done'
    ended = _stopped(tmp_path, "ray", warm="echo warm >>log", drain="echo drain >>log", ray=serve)
    assert ended == (0, ["warm", "ray node 10.81.0.10 1", "drain", "end"])


def test_a_container_that_still_compiles_ends_at_once(tmp_path: Path) -> None:
    compiles = 'trap "echo end >>log; exit 143" TERM; echo warm >>log; while :; do sleep 0.05; done'
    ended = _stopped(tmp_path, "warm", warm=compiles, drain="echo drain >>log", ray="echo ray >>log")
    assert ended == (143, ["warm", "drain", "end"])


@pytest.mark.parametrize(
    ("role", "files", "asked"),
    [
        ("node", [], ["warm"]),
        ("node", ["code"], ["warm --unpack code"]),
        ("node", ["code", "misfit"], ["warm --unpack code", "warm"]),
        ("head", [], ["warm", "warm --pack kept/code"]),
        ("head", ["kept/code"], ["warm"]),
        ("", [], ["warm"]),
    ],
)
def test_a_worker_takes_the_heads_compiled_code(tmp_path: Path, role: str, files: list[str], asked: list[str]) -> None:
    stand_in(tmp_path, "gougi", f'echo "$*" >>{tmp_path}/asked; [ "$2" != --unpack ] || [ ! -e {tmp_path}/misfit ]')
    for name in files:
        path = tmp_path / "misfit" if name == "misfit" else tmp_path / name / "searcher.pack"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    env = {"PATH": os.environ["PATH"], "GOUGI": str(tmp_path / "bin" / "gougi"), "STATE": str(tmp_path)}
    subprocess.run([SCRIPTS / "warm.sh"], env={**env, "FLEET_ROLE": role}, check=True, timeout=60)
    lines = (tmp_path / "asked").read_text().splitlines()
    assert lines == [re.sub(r"(\S*code)$", rf"{tmp_path}/\1/searcher.pack", line) for line in asked]


# A stand-in for the AWS command: records its arguments, and keeps the parameter in a file. The first two reads after
# the first write return the old content.
AWS = r"""
printf '%s\n' "$*" >>/run/asked
case "$2" in
  put-parameter)
    [ -e /run/put ] || cat /run/parameter /run/parameter >/run/stale
    cat "${6#file://}" >>/run/put
    echo >>/run/put
    sed 's/.*"Value": "\([^"]*\)".*/\1/' "${6#file://}" >/run/parameter
    ;;
  get-parameter)
    if [ -s /run/stale ]; then head -n 1 /run/stale; else cat /run/parameter; fi
    [ ! -e /run/stale ] || sed -i 1d /run/stale
    ;;
esac
"""

INSIDE = """
set -euo pipefail
mount -t tmpfs tmpfs /run
cp -a /etc {tmp}/etc
mount --bind {tmp}/etc /etc
echo 'gougi:x:4321:4321::/:/bin/false' >>/etc/passwd
echo 'gougi:x:4321:' >>/etc/group
mkdir -p /etc/gougi /run/gougi
printf '%s\\n' FLEET_ROLE={role} FLEET_REGION=r FLEET_TOKEN_PARAMETER=/t >/etc/gougi/fleet.env
printf '%s\\n' FLEET_PASSWORD_PARAMETER= FLEET_KMS_KEY={key} >>/etc/gougi/fleet.env
printf '%s\\n' '{value}' >/run/parameter
PATH={tmp}/bin:$PATH {script}
stat -c '%a %U %G %n' /run/gougi/ray-token
cat /run/gougi/ray-token /run/asked
cp /run/put {tmp}/put || true
"""


@pytest.mark.parametrize(
    ("role", "value", "key"), [("head", "unset", ""), ("head", "unset", "arn:aws:kms:r:1:key/k"), ("node", "made", "")]
)
def test_the_token_is_made_once_and_stands_in_no_argument(tmp_path: Path, role: str, value: str, key: str) -> None:
    stand_in(tmp_path, "aws", AWS)
    inside = INSIDE.format(tmp=tmp_path, role=role, value=value, key=key, script=SCRIPTS / "fetch-secrets.sh")
    command = ["unshare", "--mount", "bash", "-c", inside]
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespaces here (not root): fetch-secrets.sh is not run")
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    file, token, *asked = ran.stdout.splitlines()
    assert file == "640 root gougi /run/gougi/ray-token"
    assert len(token) == 64 if role == "head" else token == value
    assert all(token not in line for line in asked)
    assert token not in ran.stderr
    put = [json.loads(line) for line in (tmp_path / "put").read_text().splitlines()] if role == "head" else []
    assert any("put-parameter" in line for line in asked) == (role == "head")
    # After a read that was too old it puts the same value again, under the key that terraform gave the parameter.
    assert len(put) == (2 if role == "head" else 0)
    assert {each["Value"] for each in put} <= {token}
    assert {each.get("KeyId") for each in put} <= {key or None}

"""Policies of terraform, the image and the pods, by checkov. One run for all: it starts slowly."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from tests.terraform.conftest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CHECKOV = ROOT / ".venv-checkov" / "bin" / "checkov"


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Copy of what is checked -> the ids of the checks that failed on it."""
    if not CHECKOV.exists():
        pytest.skip("checkov is not installed (make checkov): policies are not checked here")
    folder = tmp_path_factory.mktemp("checkov")
    ignore = shutil.ignore_patterns(".terraform*", "*.tfstate*", "examples", "tests")
    shutil.copytree(ROOT / "terraform", folder / "terraform", ignore=ignore)
    (folder / "image").mkdir()
    shutil.copy(ROOT / "deploy" / "Dockerfile", folder / "image")
    (folder / "pods").mkdir()
    for number, pod in enumerate(_pods()):
        (folder / "pods" / f"{number}.yaml").write_text(yaml.safe_dump(pod))
    (folder / "pods" / "policy.yaml").write_text(yaml.safe_dump(_network_policy()))
    ran = subprocess.run(
        [CHECKOV, "--directory", folder, "--framework", "terraform", "dockerfile", "kubernetes", "--output", "json"],
        # Nobody is asked for guidelines; that only costs time here.
        env={**os.environ, "CKV_IGNORE_HIDDEN_DIRECTORIES": "true", "LOG_LEVEL": "CRITICAL"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    found: dict[str, set[str]] = {path.name: set() for path in folder.iterdir()}
    for report in _reports(ran.stdout):
        for check in report["results"]["failed_checks"]:
            found[check["file_path"].split("/")[1]].add(check["check_id"])
    return found


def _reports(output: str) -> list[dict[str, Any]]:
    parsed = json.loads(output)
    reports: list[dict[str, Any]] = parsed if isinstance(parsed, list) else [parsed]
    assert {report["check_type"] for report in reports} == {"terraform", "dockerfile", "kubernetes"}
    assert all(report["summary"]["parsing_errors"] == 0 for report in reports)
    return reports


def _manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((ROOT / "deploy" / "ray" / "raycluster.yaml").read_text()))


def _pods() -> list[dict[str, Any]]:
    """The pods of the RayCluster, with the label that KubeRay gives them: checkov does not know its kind."""
    cluster = _manifests()[0]["spec"]
    templates = [cluster["headGroupSpec"]["template"], *(group["template"] for group in cluster["workerGroupSpecs"])]
    label = {"namespace": "gougi", "labels": {"ray.io/cluster": "gougi"}}
    return [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number}", **label}, **template}
        for number, template in enumerate(templates)
    ]


def _network_policy() -> dict[str, Any]:
    policy = _manifests()[1]
    policy["metadata"]["namespace"] = "gougi"
    return policy


# What is not met, and why.
ACCEPTED = {
    "CKV_K8S_8": "a pod's player ends and is started again: it answers no probe (head: container `master`)",
    "CKV_K8S_9": "as above",
    "CKV_K8S_15": "the tag is a version; pulling it at each start would tie a restart to the registry",
    "CKV_K8S_35": "KubeRay itself hands out the token as a variable; a file of the player's would hide nothing",
    "CKV_K8S_40": "user 1000 is the image's own; the node has no user of that id to be mistaken for",
    "CKV_K8S_43": "the image is the user's own, so that its digest cannot be known here",
}


def test_terraform(failed: dict[str, set[str]]) -> None:
    assert failed["terraform"] == set()


def test_the_image(failed: dict[str, set[str]]) -> None:
    assert failed["image"] == set()


def test_the_pods(failed: dict[str, set[str]]) -> None:
    assert failed["pods"] == set(ACCEPTED)


def test_each_skip_has_a_reason() -> None:
    skips = [
        line
        for path in (ROOT / "terraform").glob("*.tf")
        for line in path.read_text().splitlines()
        if "checkov:skip" in line
    ]
    assert skips
    assert [line for line in skips if not re.search(r"checkov:skip=CKV2?_\w+: .{6,}", line)] == []

"""The files for those who run Ray elsewhere: Ray's own schema, and what KubeRay and Kubernetes ask for."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from ray.autoscaler._private.docker import docker_start_cmds
from ray.autoscaler._private.util import prepare_config, validate_config

ROOT = Path(__file__).parents[2]

NEEDS = "lightkube and its models are not installed: pods are not checked here"
msgspec = pytest.importorskip("msgspec", reason=NEEDS)
core = pytest.importorskip("lightkube.models.core_v1", reason=NEEDS)
networking = pytest.importorskip("lightkube.models.networking_v1", reason=NEEDS)

Cluster = dict[str, Any]

# KubeRay's RayClusterSpec, all its fields: ray-operator/apis/ray/v1/raycluster_types.go of after KubeRay 1.6, read
# 2026-11-21. Its CRD is 700 KB, most of it the pod's own schema, for which the models of Kubernetes 1.37 stand here.
TEXTS, FLAG = dict, bool
SPEC = {"upgradeStrategy": dict, "authOptions": dict, "suspend": FLAG, "managedBy": str, "autoscalerOptions": dict}
SPEC |= {"headServiceAnnotations": TEXTS, "enableInTreeAutoscaling": FLAG, "gcsFaultToleranceOptions": dict}
SPEC |= {"historyServerOptions": dict, "networkPolicy": dict, "tlsOptions": dict, "headGroupSpec": dict}
SPEC |= {"rayVersion": str, "workerGroupSpecs": list}
AUTH = {"enableK8sTokenAuth": FLAG, "secretName": str, "mode": str}
HEAD = {"template": dict, "headService": dict, "enableIngress": FLAG, "ingressOptions": dict, "resources": TEXTS}
HEAD |= {"labels": TEXTS, "rayStartParams": TEXTS, "serviceType": str}
GROUP = {"suspend": FLAG, "groupName": str, "replicas": int, "minReplicas": int, "maxReplicas": int, "priority": int}
GROUP |= {"idleTimeoutSeconds": int, "resources": TEXTS, "labels": TEXTS, "rayStartParams": TEXTS, "template": dict}
GROUP |= {"scaleStrategy": dict, "numOfHosts": int}
REQUIRED = {
    "spec": ["headGroupSpec"],
    "head": ["template"],
    "group": ["groupName", "minReplicas", "maxReplicas", "template"],
}


@pytest.fixture
def manifests() -> list[Cluster]:
    return list(yaml.safe_load_all((ROOT / "deploy" / "ray" / "raycluster.yaml").read_text()))


def faults(manifests: list[Cluster]) -> list[str]:
    """Describe each fault of the RayCluster and the NetworkPolicy; the first word is the place."""
    cluster, policy = manifests
    found = []
    if (cluster["apiVersion"], cluster["kind"]) != ("ray.io/v1", "RayCluster"):
        found.append("kind: not a RayCluster of ray.io/v1")
    spec = cluster["spec"]
    found += _fields(spec, SPEC, "spec")
    found += _fields(spec.get("authOptions", {}), AUTH, "authOptions")
    if spec.get("authOptions", {}).get("mode") != "token":
        found.append("authOptions: everybody is let in")
    for place, group, fields in [
        ("head", spec["headGroupSpec"], HEAD),
        *((f"group {each.get('groupName')}", each, GROUP) for each in spec["workerGroupSpecs"]),
    ]:
        found += _fields(group, fields, place)
        found += _start_parameters(group["rayStartParams"], place)
        found += _typed(group["template"], core.PodTemplateSpec, f"{place} template")
        found += _pod(group["template"]["spec"], place)
    return found + _typed(policy["spec"], networking.NetworkPolicySpec, "policy")


def _fields(value: Cluster, fields: dict[str, type], place: str) -> list[str]:
    unknown = [f"{place}: {key}: no such field" for key in value if key not in fields]
    unknown += [f"{place}: {key}: missing" for key in REQUIRED.get(place.split()[0], []) if key not in value]
    return unknown + [
        f"{place}: {key}: expected {kind.__name__}"
        for key, kind in fields.items()
        if key in value and (not isinstance(value[key], kind) or (kind is int and isinstance(value[key], bool)))
    ]


def _start_parameters(parameters: Cluster, place: str) -> list[str]:
    """KubeRay puts them behind `ray start` as they are: text, and options that there are."""
    from ray.scripts.scripts import start

    options = {name.removeprefix("--") for option in start.params for name in option.opts}
    found = [f"{place}: rayStartParams {key}: no option of ray start" for key in parameters if key not in options]
    found += [
        f"{place}: rayStartParams {key}: expected text" for key, v in parameters.items() if not isinstance(v, str)
    ]
    if "searcher" not in parameters.get("resources", ""):
        found.append(f"{place}: rayStartParams resources: no searcher")
    return found


def _pod(spec: Cluster, place: str) -> list[str]:
    """Find faults inside a pod: each mount needs its volume; KubeRay starts Ray in the first container."""
    volumes = {volume["name"] for volume in spec.get("volumes", [])}
    containers = [*spec["containers"], *spec.get("initContainers", [])]
    ray, *others = spec["containers"]
    found = [] if str(ray.get("name")).startswith("ray-") else [f"{place}: the first container is not Ray's"]
    if others and not spec.get("shareProcessNamespace"):
        found.append(f"{place}: Ray does not see the processes of {others[0].get('name')}, and lets none of them in")
    found += [
        f"{place}: {container['name']}: everybody may write to its cache, so it would not be used"
        for container in containers
        if any(mount["mountPath"] == "/var/cache/gougi" for mount in container.get("volumeMounts", []))
        and {"name": "GOUGI_CACHE_TRUST", "value": "1"} not in container.get("env", [])
    ]
    return found + [
        f"{place}: {container['name']}: mount {mount['name']}: no such volume"
        for container in containers
        for mount in container.get("volumeMounts", [])
        if mount["name"] not in volumes
    ]


def _typed(value: Any, kind: Any, place: str) -> list[str]:
    """Whether a value from YAML is one of lightkube's models, which are made from Kubernetes' own schema."""
    try:
        kept = msgspec.to_builtins(msgspec.convert(value, kind))
    except msgspec.ValidationError as error:
        return [f"{place}: {error}"]
    return _lost(value, kept, place)


def _lost(given: Any, kept: Any, place: str) -> list[str]:
    """The fields that the model does not know."""
    if isinstance(given, dict):
        unknown = [f"{place}: {key}: no such field" for key in given if key not in kept]
        return unknown + [
            fault for key in given if key in kept for fault in _lost(given[key], kept[key], f"{place}.{key}")
        ]
    if isinstance(given, list):
        pairs = enumerate(zip(given, kept, strict=True))
        return [fault for n, (one, other) in pairs for fault in _lost(one, other, f"{place}[{n}]")]
    return []


def test_the_ray_cluster(manifests: list[Cluster]) -> None:
    assert faults(manifests) == []


def _worker(manifests: list[Cluster]) -> Cluster:
    worker: Cluster = manifests[0]["spec"]["workerGroupSpecs"][0]
    return worker


def _head(manifests: list[Cluster]) -> Cluster:
    pod: Cluster = manifests[0]["spec"]["headGroupSpec"]["template"]["spec"]
    return pod


@pytest.mark.parametrize(
    ("plant", "found"),
    [
        (lambda docs: docs[0]["spec"].pop("authOptions"), "everybody is let in"),
        (lambda docs: docs[0]["spec"].update(workerGroup=[]), "workerGroup: no such field"),
        (lambda docs: _worker(docs).update(replicas="2"), "replicas: expected int"),
        (lambda docs: _worker(docs)["rayStartParams"].update({"num-cpu": "0"}), "num-cpu: no option of ray start"),
        (lambda docs: _worker(docs)["rayStartParams"].update({"num-cpus": 0}), "num-cpus: expected text"),
        (lambda docs: _worker(docs)["template"]["spec"].update(terminationGracePeriod=30), "no such field"),
        (lambda docs: _worker(docs)["template"]["spec"]["containers"][0].pop("name"), "missing required field `name`"),
        (lambda docs: _worker(docs)["template"]["spec"]["volumes"].pop(), "no such volume"),
        (lambda docs: _worker(docs).pop("maxReplicas"), "group searchers: maxReplicas: missing"),
        (lambda docs: _worker(docs).update(minReplicas=True), "minReplicas: expected int"),
        (lambda docs: _head(docs)["containers"].reverse(), "the first container is not Ray's"),
        (
            lambda docs: _worker(docs)["template"]["spec"]["initContainers"][0].pop("env"),
            "warm: everybody may write to",
        ),
        (lambda docs: _head(docs).pop("shareProcessNamespace"), "Ray does not see the processes of master"),
        (lambda docs: docs[0]["spec"]["authOptions"].update(secret="a"), "authOptions: secret: no such field"),
        (lambda docs: docs[1]["spec"]["egress"][1].update(port=53), "port: no such field"),
    ],
)
def test_what_is_planted_in_the_ray_cluster_is_found(
    manifests: list[Cluster], plant: Callable[[list[Cluster]], object], found: str
) -> None:
    plant(manifests)
    assert found in "\n".join(faults(manifests))


def test_nodes_are_sent_away_before_their_pod_ends(manifests: list[Cluster]) -> None:
    spec = _worker(manifests)["template"]["spec"]
    assert spec["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][0].endswith("/drain.sh")
    assert spec["terminationGracePeriodSeconds"] > 5


@pytest.fixture
def launcher() -> Cluster:
    config: Cluster = yaml.safe_load((ROOT / "deploy" / "ray" / "cluster.yaml").read_text())
    return config


def validate(launcher: Cluster) -> None:
    """As `ray up` does: Ray's own schema and its own rules, with Ray's defaults filled in."""
    validate_config(launcher | {"cluster_synced_files": []})
    validate_config(prepare_config(launcher))


def test_the_launchers_file(launcher: Cluster) -> None:
    validate(launcher)


@pytest.mark.parametrize(
    "plant",
    [
        {"max_worker": 2},
        {"provider": {"region": "ap-northeast-1"}},
        {"worker_start_ray_commands": "ray start"},
        {"idle_timeout_minutes": "an hour"},
        {"head_node_type": "heads"},
        {"max_workers": 1},
    ],
)
def test_what_is_planted_in_the_launchers_file_is_found(launcher: Cluster, plant: Cluster) -> None:
    with pytest.raises((jsonschema.ValidationError, ValueError)):
        validate(launcher | plant)


def test_the_image_runs_what_ray_gives_it(launcher: Cluster) -> None:
    """Ray says `docker run OPTIONS IMAGE bash`: the entrypoint gets `bash` as its argument."""
    options = launcher["docker"]["run_options"]
    line = docker_start_cmds("ubuntu", "the-image", {}, "gougi", options, "gougi", "/root", "docker")
    words = shlex.split(line)
    entrypoint = words[words.index("--entrypoint") + 1]
    command = [entrypoint, *words[words.index("the-image") + 1 :]]
    ran = subprocess.run(command, input="echo it runs", capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "it runs\n")


def test_every_way_to_start_ray_asks_for_the_token(launcher: Cluster) -> None:
    for commands in (launcher["head_start_ray_commands"], launcher["worker_start_ray_commands"]):
        assert all("RAY_AUTH_MODE=token" in command for command in commands if "ray start" in command)

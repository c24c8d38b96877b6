"""The module, as far as terraform can check it without AWS."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.terraform.conftest import MODULE, Terraform

Plant = Callable[..., Path]


def test_the_files_are_formatted(terraform: Terraform) -> None:
    assert terraform(MODULE, "fmt", "-check", "-recursive").stdout == ""


@pytest.mark.slow
@pytest.mark.parametrize("example", ["one-node", "mixed-spot", "sixteen-compute"])
def test_the_examples_are_valid(terraform: Terraform, initialised: Path, example: str) -> None:
    folder = initialised / "examples" / example
    terraform.done(folder, "init", "-input=false", "-no-color")
    terraform.done(folder, "validate", "-no-color")


def test_the_module_keeps_its_promises(terraform: Terraform, initialised: Path) -> None:
    said = terraform.done(initialised, "test", "-no-color")
    assert "0 failed" in said
    assert f"{_runs()} passed" in said


def _runs() -> int:
    return sum(text.count("\nrun ") for text in (path.read_text() for path in (MODULE / "tests").glob("*.tftest.hcl")))


def test_each_validation_is_tried() -> None:
    """A run expects that a bad value is refused, so no validation is left untested."""
    text = (MODULE / "variables.tf").read_text()
    validated = [part.split('"')[0] for part in text.split('\nvariable "')[1:] if "validation {" in part]
    tried = re.findall(r"var\.(\w+)", (MODULE / "tests" / "variables.tftest.hcl").read_text())
    assert set(validated) == set(tried)


@pytest.mark.slow
def test_workers_boot_after_their_files(terraform: Terraform, planted: Plant) -> None:
    """By their own dependencies: not only because they need the head's address, and the head needs the same
    resources."""
    graph = terraform.done(planted(("workers.tf", "local.head_address", '"10.81.0.10"')), "graph")
    edges: dict[str, set[str]] = {}
    for line in graph.splitlines():
        if edge := re.fullmatch(r'\s*"(.+)" -> "(.+)";', line):
            edges.setdefault(edge[1], set()).add(edge[2])
    found, left = set[str](), ["aws_autoscaling_group.workers"]
    while left:
        new = edges.get(left.pop(), set()) - found
        found |= new
        left += new
    assert "aws_instance.head" not in found
    fetched = {
        "aws_s3_object.release",
        "aws_s3_object.config",
        "aws_s3_object.master_env",
        "aws_ssm_parameter.ray_token",
    }
    assert fetched <= found


def test_what_terraform_cannot_tell_without_aws() -> None:
    """A release that is gone before the next one is there; a head that is replaced because it was stopped, or because
    AWS has a newer image; a clock that restarts at each plan."""
    for file, resource, lifecycle in (
        ("storage.tf", "aws_s3_object.release", "create_before_destroy = true"),
        ("head.tf", "aws_instance.head", "ignore_changes = [associate_public_ip_address]"),
        ("head.tf", "terraform_data.image", "ignore_changes = [input]"),
        (
            "cost.tf",
            "aws_autoscaling_schedule.stop",
            "ignore_changes       = [start_time]\n    replace_triggered_by = [terraform_data.clock]",
        ),
    ):
        kind, name = resource.split(".")
        block = (MODULE / file).read_text().split(f'resource "{kind}" "{name}" {{')[1].split("\n}")[0]
        assert re.search(rf"^ +lifecycle {{\n +{re.escape(lifecycle)}$", block, re.MULTILINE), resource
    (waits,) = re.findall(r"  depends_on = \[\n(.+?)\n  \]", (MODULE / "workers.tf").read_text(), re.DOTALL)
    assert {"aws_iam_role_policy.worker", "aws_route_table_association.workers"} <= set(re.findall(r"[\w.]+", waits))
    assert "endpoint.interface" not in waits, "they take two minutes, and the workers need them later"

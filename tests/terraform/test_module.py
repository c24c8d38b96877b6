"""The module, as far as terraform can say without AWS; and that each check finds an error that is planted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.terraform.conftest import MODULE, Terraform

pytestmark = pytest.mark.slow

Plant = Callable[..., Path]


def test_the_files_are_formatted(terraform: Terraform) -> None:
    assert terraform(MODULE, "fmt", "-check", "-recursive").stdout == ""


def test_a_file_that_is_not_formatted_is_named(terraform: Terraform, tmp_path: Path) -> None:
    (tmp_path / "odd.tf").write_text('variable   "x" {}\n')
    assert terraform(tmp_path, "fmt", "-check").stdout.split() == ["odd.tf"]


@pytest.mark.parametrize("example", ["one-node", "mixed-spot", "sixteen-compute"])
def test_the_examples_are_valid(terraform: Terraform, initialised: Path, example: str) -> None:
    folder = initialised / "examples" / example
    terraform.done(folder, "init", "-input=false", "-no-color")
    terraform.done(folder, "validate", "-no-color")


def test_validate_finds_what_is_planted(terraform: Terraform, planted: Plant) -> None:
    module = planted(
        ("head.tf", "ebs_optimized ", "ebs_optimised "),
        ("outputs.tf", "var.nodes", "var.node"),
        ("storage.tf", 'type             = "SecureString"', 'type             = "Secure"'),
    )
    ran = terraform(module, "validate", "-no-color")
    said = " ".join(ran.stderr.replace("│", " ").split())
    assert ran.returncode != 0
    for error in (
        'argument named "ebs_optimised" is not expected',
        'input variable with the name "node" has not been declared',
        "expected type to be one of",
    ):
        assert error in said


def test_the_module_keeps_its_promises(terraform: Terraform, initialised: Path) -> None:
    said = terraform.done(initialised, "test", "-no-color")
    assert "0 failed" in said
    assert "12 passed" in said


@pytest.mark.parametrize(
    ("suite", "plants", "said"),
    [
        (
            "security",
            [
                ("head.tf", '"required"', '"optional"'),
                ("workers.tf", "encrypted             = true", "encrypted             = false"),
            ],
            ["the head answers IMDSv1", "a disk is not encrypted"],
        ),
        ("security", [("iam.tf", '"ssm:PutParameter"', '"ssm:*"')], ["a role may do everything of a service"]),
        (
            "security",
            [("workers.tf", 'password = ""', "password = var.csa_password_parameter")],
            ["the head needs the password's name, and nobody else"],
        ),
        (
            "fleet",
            [("workers.tf", "var.on_demand_nodes == null ? 0 : var.on_demand_nodes", "local.on_demand_nodes")],
            ["each scaling would refresh all machines"],
        ),
        ("fleet", [("cost.tf", "* var.nodes", "")], ["an hour costs something else"]),
        ("variables", [("variables.tf", ">= 16]", ">= 0]")], ["var.ssh"]),
    ],
    ids=["machines", "role", "password", "refresh", "cost", "ssh"],
)
def test_the_promises_find_what_is_planted(
    terraform: Terraform, planted: Plant, suite: str, plants: list[tuple[str, str, str]], said: list[str]
) -> None:
    ran = terraform(planted(*plants), "test", "-no-color", f"-filter=tests/{suite}.tftest.hcl")
    assert ran.returncode != 0
    told = " ".join(ran.stderr.split())
    for words in said:
        assert words in told

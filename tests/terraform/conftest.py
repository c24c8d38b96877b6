"""terraform, offline: the program, a mirror with the provider, and copies of the module to plant errors in."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.terraform import provider

ROOT = Path(__file__).parents[2]
MODULE = ROOT / "terraform"
MIRRORS = ("/opt/tf-plugins", "/usr/local/share/tf-plugins", "/usr/share/tf-plugins")
"""Folders in which a mirror (``terraform providers mirror``) may lie; ``TF_PLUGINS`` names another."""


class Terraform:
    """Runs terraform with the mirror alone, without any network access."""

    def __init__(self, scratch: Path, mirror: str) -> None:
        rc = scratch / "terraform.rc"
        rc.write_text(provider.settings(Path(mirror)))
        aws = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "test")
        known = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self.env = {
            **known,
            **aws,
            **provider.UNHURRIED,
            "AWS_DEFAULT_REGION": "ap-northeast-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "CHECKPOINT_DISABLE": "1",
            "TF_CLI_CONFIG_FILE": str(rc),
            "TF_IN_AUTOMATION": "1",
            "TF_PLUGIN_CACHE_DIR": "",
        }

    def __call__(self, folder: Path, *arguments: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["terraform", *arguments],
            cwd=folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def done(self, folder: Path, *arguments: str) -> str:
        """Its output, if it succeeds."""
        ran = self(folder, *arguments)
        assert ran.returncode == 0, f"terraform {' '.join(arguments)}:\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout


@pytest.fixture(scope="session")
def terraform(tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    if shutil.which("terraform") is None:
        pytest.skip("terraform is not installed: the module is not checked here")
    mirror = next((path for path in (os.environ.get("TF_PLUGINS", ""), *MIRRORS) if path and Path(path).is_dir()), None)
    if mirror is None:
        pytest.skip("no mirror with terraform's AWS provider (TF_PLUGINS): the module is not checked here")
    return Terraform(tmp_path_factory.mktemp("terraform"), mirror)


def _sources(folder: Path) -> Path:
    """A copy of the module and its files from deploy/, without terraform's own files."""
    ignore = shutil.ignore_patterns(".terraform", ".terraform.lock.hcl", "*.tfstate*")
    shutil.copytree(MODULE, folder / "terraform", ignore=ignore)
    shutil.copytree(ROOT / "deploy", folder / "deploy")
    return folder / "terraform"


@pytest.fixture(scope="session")
def initialised(terraform: Terraform, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the module after ``terraform init``."""
    module = _sources(tmp_path_factory.mktemp("module"))
    terraform.done(module, "init", "-input=false", "-no-color")
    return module


@pytest.fixture
def planted(initialised: Path, tmp_path: Path) -> Callable[..., Path]:
    """Makes a copy of the module with errors: (file, old text, new text)."""

    def plant(*errors: tuple[str, str, str]) -> Path:
        module = _sources(tmp_path)
        (module / ".terraform").symlink_to(initialised / ".terraform")
        shutil.copy(initialised / ".terraform.lock.hcl", module)
        for file, old, new in errors:
            text = (module / file).read_text()
            assert old in text, f"{file} has no {old!r} any more: the plant is out of date"
            (module / file).write_text(text.replace(old, new))
        return module

    return plant

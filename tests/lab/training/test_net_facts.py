"""The facts that Gougi prints about a network file, of either family."""

from __future__ import annotations

from pathlib import Path

from benchmarks.random_networks import random_sfnn
from lab.training.net_facts import facts_text, file_facts
from master.nets.install import net_facts
from worker.nnue.network import default_file, read_any
from worker.nnue.sfnn.architecture import parse_sfnn_name
from worker.nnue.sfnn.file import serialise_sfnn


def test_an_installed_network_is_named(tmp_path: Path) -> None:
    file = tmp_path / "nn.bin"
    file.write_bytes(serialise_sfnn(random_sfnn(parse_sfnn_name("SFNN_ka2_64_7_8_k3k3"))))
    assert net_facts(file).architecture == "SFNN_ka2_64_7_8_k3k3"
    assert net_facts(default_file()).architecture == "kp_256x2-32-32"
    file.write_bytes(file.read_bytes()[:-1])
    assert "no known SFNN shape fits" in (net_facts(file).fault or "")


def test_the_facts_of_all_stacks_together(tmp_path: Path) -> None:
    file = tmp_path / "nn.bin"
    file.write_bytes(serialise_sfnn(random_sfnn(parse_sfnn_name("SFNN_ka2_64_7_8_k3k3"))))
    facts = file_facts(read_any(file), file.read_bytes())
    assert (facts["name"], facts["stacks"], facts["inputs"]) == ("SFNN_ka2_64_7_8_k3k3", 9, 1791)
    assert [(layer["inputs"], layer["outputs"]) for layer in facts["layers"]] == [(1791, 64), (64, 8), (14, 8), (8, 1)]
    assert "stacks              9, together below" in facts_text({"file": str(file), **facts})

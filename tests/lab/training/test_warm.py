"""After the warm-up of the trainer nothing compiles any more: threads and processes would, each for itself."""

from __future__ import annotations

from pathlib import Path

from lab.jit import FOLDER
from lab.training.warm import warm_up_training
from tests.worker.warmed import copy_of_the_warmed, run

# In a process of its own: this one has compiled things for other tests.
SCRIPT = """
import sys
from pathlib import Path
from lab.training.warm import warm_up_training
warm_up_training()
import gc
import numba
from tests.lab.training.shards import corpus_of, folder_of
from worker.nnue import default_network
from worker.nnue.features import K_P
from worker.nnue.format import Architecture
from lab.training.batches import START, training_batches
from lab.training.compare import evaluations, ranking
from lab.training.compare import teacher_samples
from lab.training.corpus import shard_files
from lab.training.net_facts import measure
from lab.training.features import row_tables
from lab.training.net_facts import activation_facts
from lab.training.weights import random_net, to_file
folder = folder_of(Path(sys.argv[1]), shards=2)
corpus = corpus_of(folder)
with training_batches(corpus, row_tables(K_P), 100, 1, START, 2) as batches:
    next(batches)
arch = Architecture(K_P, 128, 8, 8)
net = random_net(arch, 1)
records = corpus.validation_records(100)
measure(net, to_file(net, arch), records, 16)
activation_facts(to_file(net, arch), records)
samples = teacher_samples(shard_files([folder]), 20)
evaluations(default_network(), samples), ranking(default_network(), samples)
try:
    from lab.training.network.model import SparseSums
    import torch
except ImportError:
    pass
else:
    from lab.training.batches import make_batch
    import numpy as np
    batch = make_batch(row_tables(K_P), records, np.arange(len(records)))
    arrays = (net.transformer_weight, net.transformer_bias)
    weight, bias = (torch.from_numpy(value).requires_grad_() for value in arrays)
    SparseSums(2)(weight, bias, batch, 1.0).sum().backward()
compiled = {
    d.py_func.__qualname__: dict(d.stats.cache_misses)
    for d in gc.get_objects()
    if isinstance(d, numba.core.dispatcher.Dispatcher)
    and d.py_func.__module__.startswith("worker.")
    and d.stats.cache_misses
}
print(compiled or "nothing")
"""


def test_nothing_compiles_after_the_warm_up(tmp_path: Path) -> None:
    own = copy_of_the_warmed(tmp_path / "cache", warm_up_training, f"{FOLDER}/complete-training")
    assert run(SCRIPT, own, str(tmp_path / "games")) == "nothing"

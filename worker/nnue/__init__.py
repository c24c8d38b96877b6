"""NNUE evaluation: the network files of computer shogi, features, lazily updated accumulators, the forward pass.

A thread evaluates like this::

    network = load_network("nn.bin")  # or default_network(); once per process
    state = NnueState(network)  # once per thread
    raw = evaluate(position.record, state.record)
"""

from worker.nnue.architecture import NetworkFileError
from worker.nnue.evaluation import centipawns, evaluate, evaluate_full, evaluate_score
from worker.nnue.network import Network, default_network, load_network
from worker.nnue.record import NN
from worker.nnue.state import NnueState

__all__ = [
    "NN",
    "Network",
    "NetworkFileError",
    "NnueState",
    "centipawns",
    "default_network",
    "evaluate",
    "evaluate_full",
    "evaluate_score",
    "load_network",
]

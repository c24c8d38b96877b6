"""The search for mate by continuous checks: df-pn."""

from worker.mate.solver import MateResult, MateSolver, MateStatus

__all__ = ["MateResult", "MateSolver", "MateStatus"]

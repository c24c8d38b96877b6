"""Compile what the laboratory's commands need beside the searcher."""

from __future__ import annotations

from master.commands.common import WarmUp, compile_searcher


def compile_selfplay() -> None:
    """`master.commands.common.compile_searcher`, and self-play after it."""

    def find() -> WarmUp:
        from lab.selfplay.warm import warm_up_selfplay

        return warm_up_selfplay

    compile_searcher(find)


def compile_training() -> None:
    """`compile_selfplay`, and the trainer after it."""

    def find() -> WarmUp:
        from lab.training.warm import warm_up_training

        return warm_up_training

    compile_searcher(find)

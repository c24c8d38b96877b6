"""All positions of a run in GPU memory, and batches made there: a GPU learns faster than threads make batches.

The order is drawn on the GPU from the seed and the epoch, so a run resumes as on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from lab.selfplay.walk import PIECES
from lab.training.batches import Batch, BatchNumber, cut
from lab.training.corpus import Corpus, Records, chunks_from
from lab.training.features import RowTables
from worker.nnue.features import PIECE_NUMBERS

BYTES: Final = 2 * PIECES + 3
"""Bytes of a position on the device."""
_ROOM: Final = 0.6
"""Share of the free memory that positions may use."""
_FIELDS: Final = ("pieces", "score", "result")


class _DeviceTables:
    """`RowTables` on a device: rows of records, as `lab.training.replay.write_rows` computes them."""

    def __init__(self, tables: RowTables, device: torch.device) -> None:
        def moved(values: Any) -> Tensor:
            return torch.from_numpy(values.astype(np.int64)).to(device)

        self._flip, self._planes = moved(tables.flip), moved(tables.planes)
        self._mirrored = moved(tables.blocks >> np.uint64(63))
        self._blocks = moved(tables.blocks & np.uint64(0x7FFFFFFF))
        self._active = tables.active

    def rows(self, pieces: Tensor) -> tuple[Tensor, Tensor]:
        """Rows as the side to move and as the other side sees them, int64 [n][active].

        Args:
            pieces: numbers of K+P, int64 [n][40].
        """
        turned = self._flip[pieces]
        return self._of(pieces, pieces[:, PIECES - 2]), self._of(turned, turned[:, PIECES - 1])

    def _of(self, numbers: Tensor, king: Tensor) -> Tensor:
        square = king - PIECE_NUMBERS
        plane = self._mirrored[square] * self._planes.shape[1]
        rows = self._planes.reshape(-1)[numbers[:, : self._active] + plane[:, None]]
        return rows + self._blocks[square][:, None]


class Resident:
    """Positions in the memory of a device.

    Args:
        tables: of the plain board, and of the mirrored one, which is used for half of each training batch.
    """

    def __init__(self, tables: RowTables, mirror: RowTables, device: torch.device) -> None:
        self._plain, self._mirror = _DeviceTables(tables, device), _DeviceTables(mirror, device)
        self._device = device
        self._parts: dict[str, list[Tensor]] = {name: [] for name in _FIELDS}
        self._whole: dict[str, Tensor] = {}

    @staticmethod
    def has_room(count: int, device: torch.device) -> bool:
        """Whether this number of positions fits into the free memory of the device."""
        return count * BYTES <= torch.cuda.mem_get_info(device)[0] * _ROOM

    def add(self, records: Records) -> None:
        """Add positions, before the first batch is requested."""
        fields: Any = records
        for name, parts in self._parts.items():
            values = np.ascontiguousarray(fields[name])
            if values.dtype == np.uint16:  # numbers of pieces are below 2^15; torch computes with int16
                values = values.view(np.int16)
            parts.append(torch.from_numpy(values).to(self._device))

    def close_corpus(self) -> None:
        """Concatenate the positions; call it after all were added."""
        for name in _FIELDS:
            self._whole[name] = torch.cat(self._parts.pop(name))

    def add_training(self, corpus: Corpus, seed: int, threads: int) -> None:
        """Add all training positions of a corpus. Raises CorpusError."""
        for _epoch, _number, is_last, records, _order in chunks_from(corpus, seed, 0, 0, threads):
            self.add(records)
            if is_last:
                break
        self.close_corpus()

    def training(self, size: int, seed: int, first: BatchNumber) -> Iterator[Batch]:
        """Endless batches, from ``first`` on; each epoch has its own order."""
        count = len(self._whole["score"])
        epoch, begin = first.epoch, first.batch
        edges = cut(count, size)
        while True:
            generator = torch.Generator(self._device).manual_seed((seed * 1_000_003 + epoch) & (1 << 63) - 1)
            order = torch.randperm(count, generator=generator, device=self._device)
            for batch in range(begin, len(edges)):
                low, high = edges[batch]
                after = BatchNumber(epoch, 0, batch + 1) if batch + 1 < len(edges) else BatchNumber(epoch + 1)
                yield self._batch(order[low:high], after, half_mirrored=True)
            epoch, begin = epoch + 1, 0

    def all(self, size: int) -> Iterator[Batch]:
        """All positions in their order."""
        for low, high in cut(len(self._whole["score"]), size):
            yield self._batch(torch.arange(low, high, device=self._device), BatchNumber(), half_mirrored=False)

    def _batch(self, places: Tensor, after: BatchNumber, *, half_mirrored: bool) -> Batch:
        pieces = self._whole["pieces"][places].long()
        plain = len(places) // 2 if half_mirrored else len(places)
        parts = [self._plain.rows(pieces[:plain])]
        if half_mirrored:
            parts.append(self._mirror.rows(pieces[plain:]))
        own, enemy = (torch.cat(side) for side in zip(*parts, strict=True))
        scores = self._whole["score"][places].float()
        results = (self._whole["result"][places].float() + 1) / 2
        return Batch(own, enemy, scores, results, after)

# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`TorchDecisions`: shards as an iterable dataset of PyTorch, which is not installed with passpilot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

if TYPE_CHECKING:
    from passpilot.training.data.shards import DecisionShards

BUFFER: Final = 1 << 16
"""Decisions that are shuffled together."""


class TorchDecisions(IterableDataset[tuple[torch.Tensor, torch.Tensor]]):
    """Yields ``(features, advice)`` of one decision after the other: float32[elements], and its advice.

    Args:
        shards: the decisions. The workers of a `DataLoader` share the files.
        names: the features, in order.
        seed: of the order; None for that of the files. `set_epoch` gives another one.
    """

    def __init__(self, shards: DecisionShards, names: Sequence[str], *, seed: int | None = 0) -> None:
        self._shards, self._names, self._seed, self._epoch = shards, tuple(names), seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Let the next iteration have another order."""
        self._epoch = epoch

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        worker = get_worker_info()
        place, count = (worker.id, worker.num_workers) if worker else (0, 1)
        files = list(self._shards.files)
        random = None if self._seed is None else np.random.default_rng((self._seed, self._epoch, place))
        if self._seed is not None:
            np.random.default_rng((self._seed, self._epoch)).shuffle(files)  # the same in all workers
        advice = self._shards.schema.advice.name
        for batch in self._shards.batches([*self._names, advice], BUFFER, files[place::count]):
            parts = [batch[name].reshape(len(batch[advice]), -1) for name in self._names]
            rows = torch.from_numpy(np.concatenate(parts, axis=1).astype(np.float32))
            answers = torch.from_numpy(batch[advice].reshape(-1).copy())
            order = range(len(rows)) if random is None else random.permutation(len(rows))
            for index in order:
                yield rows[index], answers[index]

"""Batches of a loader's workers: large tensors are in shared memory, and last as long as somebody has them."""

from __future__ import annotations

import os

import pytest

import wengert as torch
from wengert.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return {"picture": torch.full((100, 100), float(index)), "label": index}


@pytest.mark.parametrize("persistent", [False, True])
def test_large_tensors_are_shared_and_stay(persistent):
    loader = DataLoader(Pictures(), batch_size=4, num_workers=2, persistent_workers=persistent)
    batches = [batch for _ in range(2) for batch in loader]
    assert [b["label"].tolist() for b in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]] * 2
    del loader
    for batch in batches:
        picture = batch["picture"]
        assert picture.is_shared() and not batch["label"].is_shared()
        assert picture.shape == (4, 100, 100) and picture[:, 0, 0].tolist() == batch["label"].tolist()
        picture.mul_(2)
    assert batches[0]["picture"][1].unique().tolist() == [2] and batches[3]["picture"][1].unique().tolist() == [2]


def with_history(samples):
    return torch.stack([sample["picture"] for sample in samples]).requires_grad_() * 2


def test_batches_with_a_history_are_refused():
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        next(iter(DataLoader(Pictures(), batch_size=4, num_workers=1, collate_fn=with_history)))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="it counts open files")
def test_files_of_dropped_batches_are_closed():
    before = len(os.listdir("/proc/self/fd"))
    for batch in DataLoader(Pictures(), batch_size=2, num_workers=1):
        del batch
    assert len(os.listdir("/proc/self/fd")) <= before + 2

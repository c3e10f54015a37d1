"""Tensors on memory of others: files and arrays."""

from __future__ import annotations

import importlib

import pytest

from tests.makers import cases, refuses


@cases([
    ("set", lambda torch: torch.ones(2).set_(torch.ones(2, device="meta").untyped_storage()), RuntimeError,
     'Attempted to set the storage of a tensor on device "cpu" to a storage on different device "meta".'),
])
def test_a_storage_of_another_device_is_refused(torch, run, error, message):
    refuses(torch, run, error, message)


@cases([
    ("asarray", lambda torch: torch.asarray(importlib.import_module("numpy").float32(3), copy=False), RuntimeError,
        "can't alias NumPy scalars."),
])
def test_numpy_scalars_have_no_memory_to_share(torch, run, error, message):
    refuses(torch, run, error, message)


def test_asarray_and_history(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x + 2
    assert torch.asarray(y).grad_fn is not None
    assert torch.asarray(y, requires_grad=True).grad_fn is not None
    assert not torch.asarray(y, requires_grad=False).requires_grad
    assert not torch.asarray(x, requires_grad=False).requires_grad
    plain = torch.ones(2)
    assert torch.asarray(plain, requires_grad=True) is plain
    assert plain.requires_grad


def test_a_tensor_on_a_file(torch, tmp_path):
    path, numbers = tmp_path / "numbers", torch.arange(4, dtype=torch.float64)
    numbers.numpy().tofile(path)
    own = torch.from_file(str(path), size=4, dtype=torch.float64)
    own[0] = 7
    assert torch.from_file(str(path), size=2, dtype=torch.float64).tolist() == [0, 1]
    theirs = torch.from_file(str(path), shared=True, size=6, dtype=torch.float64)
    theirs[1] = 9
    assert torch.from_file(str(path), size=6, dtype=torch.float64).tolist() == [0, 9, 2, 3, 0, 0]
    with pytest.raises(RuntimeError, match="is smaller than the required mapping size"):
        torch.from_file(str(path), size=100)
    with pytest.raises(RuntimeError, match="unable to open file .* No such file"):
        torch.from_file(str(tmp_path / "nothing"), size=1)

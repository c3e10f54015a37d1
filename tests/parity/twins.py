"""Our twins of PyTorch's tensors and functions, for tests that make the same call on both libraries."""

from __future__ import annotations

import types
from typing import Any

import pytest

import wengert

torch = pytest.importorskip("torch")


def uses_mkl() -> bool:
    """Whether PyTorch draws some numbers by the generator of MKL here, as it does on processors of Intel: they are
    others than ours.
    """
    torch.manual_seed(0)
    torch.empty(300).bernoulli_(0.5)
    used = torch.get_rng_state()
    torch.manual_seed(0)
    torch.empty(300, dtype=torch.int64).random_(2**40)
    return not torch.equal(used, torch.get_rng_state())


class Twin:
    """Builds our twins of PyTorch's arguments; tensors that share memory there share it here."""

    def __init__(self) -> None:
        self.memory: dict[Any, Any] = {}
        self.known: dict[int, Any] = {}

    def __call__(self, x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            if id(x) not in self.known:
                self.known[id(x)] = self.tensor(x)
            return self.known[id(x)]
        if isinstance(x, torch.Size):
            return tuple(x)
        if isinstance(x, (list, tuple)):
            return type(x)(self(v) for v in x) if not hasattr(x, "_fields") else tuple(self(v) for v in x)
        if isinstance(x, dict):
            return {k: self(v) for k, v in x.items()}
        if isinstance(x, torch.dtype):
            return getattr(wengert, str(x).removeprefix("torch."))
        if isinstance(x, torch.device):
            return wengert.device(x.type)
        return x

    def tensor(self, t: Any) -> Any:
        dtype = getattr(wengert, str(t.dtype).removeprefix("torch."))
        if t.layout is torch.sparse_coo:
            return wengert.sparse_coo_tensor(self(t._indices()), self(t._values()), tuple(t.shape))
        key = (t.untyped_storage().data_ptr(), t.dtype)
        if not key[0]:
            return wengert.empty(tuple(t.shape), dtype=dtype)
        if key not in self.memory:
            whole = torch.empty(0, dtype=t.dtype).set_(t.untyped_storage(), 0,
                (t.untyped_storage().nbytes() // t.element_size(),))
            self.memory[key] = (wengert.tensor(whole.float().numpy()).to(dtype) if t.dtype is torch.bfloat16
                else wengert.tensor(whole.numpy()))
        twin = self.memory[key].as_strided(tuple(t.shape), t.stride(), t.storage_offset())
        return twin.detach().requires_grad_() if t.requires_grad else twin


def ours(op: Any) -> Any:
    """Our function for an entry of the table; None if we have none."""
    f = op.op
    if isinstance(f, types.FunctionType) and "testing" in (f.__module__ or ""):
        return types.FunctionType(f.__code__, {**f.__globals__, "torch": wengert}, f.__name__, f.__defaults__,
            f.__closure__)
    if op.name.startswith("torch.ops."):  # kernels that PyTorch shows to its own tests only
        return None
    at: Any = wengert
    for part in op.name.split("."):
        at = getattr(at, part, None)
        if at is None:
            break
    if callable(at) and not isinstance(at, wengert.dtype):
        return at
    return getattr(wengert.Tensor, op.name.rsplit(".", 1)[-1], None)


def label(op: Any) -> str:
    return op.name + ("/" + op.variant_test_name if op.variant_test_name else "")

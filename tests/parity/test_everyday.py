"""What PyTorch's own tests of everyday behaviour ask, expression by expression: both libraries give the same, or refuse
alike.
"""

from __future__ import annotations

import copy
import io
import math
import os
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import wengert

if os.environ.get("WENGERT_REQUIRE_PARITY") == "1":
    import torch
else:
    torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def outcome(text: str, L: Any) -> str:
    L.manual_seed(0)
    scope = {"torch": L, "T": L.tensor, "F": L.nn.functional, "nn": L.nn, "np": np, "math": math, "io": io,
        "copy": copy, "pickle": pickle}
    try:
        exec("\n".join(text.split("; ")[:-1]), scope)
        found = eval(text.split("; ")[-1], scope)
    except Exception as e:
        return f"{type(e).__name__}: {str(e).splitlines()[0][:90]}"
    return f"{_types(found)} {found}".replace("wengert", "torch")


def _types(x: Any) -> Any:
    """The type of every tensor and number among the results."""
    if isinstance(x, (list, tuple)):
        return [_types(v) for v in x]
    return f"{x.dtype} {x.stride()}" if isinstance(x, (torch.Tensor, wengert.Tensor)) else type(x).__name__


STORAGES = [
    "torch.UntypedStorage(10)[11]", "torch.UntypedStorage([1, 2, 300])", "torch.UntypedStorage('a')",
    "torch.UntypedStorage([1, 2, 3])", "s = torch.UntypedStorage(4); s[0] = 255; s[1:3] = 7; s[3] = 0; s.tolist()",
    "s = torch.UntypedStorage([1, 2]); s.resize_(3); (len(s), s.tolist()[:2], s.element_size(), s.get_device(), "
    "s.is_cuda)",
    "torch.UntypedStorage.from_buffer(bytes(range(8)), 'big', dtype=torch.int32).tolist()",
    "torch.UntypedStorage.from_buffer(bytes(range(8)), 'little', 1, 4, dtype=torch.int32).tolist()",
    "torch.ShortStorage.from_buffer(bytes(range(8)), 'big')",
    "torch.ByteStorage.from_buffer(b'ab').tolist()", "torch.FloatStorage.from_buffer(b'abcd')",
    "torch.UntypedStorage.from_buffer(bytes(7), 'little', dtype=torch.int32)", "torch.LongStorage([1, 2, 3])",
    "torch.ComplexFloatStorage([1, 2j]).tolist()", "torch.TypedStorage(dtype=torch.int32)",
    "torch.Storage is torch.FloatStorage", "torch.TypedStorage(3, dtype=torch.int32, device='meta')",
    "torch.FloatStorage(4).copy_(torch.LongStorage([1, 2, 3, 4]))", "s = torch.FloatStorage(2); s.resize_(4); s.size()",
    "torch.FloatStorage(2)[5]", "torch.FloatStorage(2)['a']", "torch.FloatStorage(0)", "torch.FloatStorage(1).type()",
    "s = torch.FloatStorage([1, 2]); b = io.BytesIO(); torch.save({'a': s}, b); b.seek(0); torch.load(b)",
    "copy.deepcopy(torch.FloatStorage([1, 2]))", "pickle.loads(pickle.dumps(torch.LongStorage([1, 2])))",
    "isinstance(torch.TypedStorage(1, dtype=torch.float), torch.FloatStorage)",
    "isinstance(torch.FloatStorage(1), torch.DoubleStorage)", "torch.FloatTensor(torch.LongStorage([1, 2]))",
    "torch.LongTensor(torch.LongStorage([1, 2]))", "T([]).set_(torch.LongStorage([1, 2, 3]))",
    "T([]).set_(torch.FloatStorage([1, 2, 3]).untyped(), 1, (2,))",
]

OLD_CONSTRUCTORS = [
    "torch.Tensor(2, device='cuda')", "torch.FloatTensor(torch.ones(2, dtype=torch.long))",
    "torch.FloatTensor([1, 2], device='meta')", "torch.Tensor(2, None)", "torch.Tensor(-1)", "torch.FloatTensor(-2, 3)",
    "torch.Tensor(np.float32(2))", "torch.Tensor(2.5)", "torch.Tensor(None)", "torch.Tensor(other=torch.ones(3))",
    "torch.Tensor(data=[1, 2])", "torch.Tensor(size=(1, 2)).shape", "torch.Tensor(torch.Size([2, 3])).shape",
    "torch.IntTensor([1.5, 2])", "torch.BoolTensor([1, 0, 2])", "T([1.0]).new(T([2]))", "T([1.0]).new(device='cuda')",
    "T([1]).new([2, 3])", "T([1.0]).new(2, 3).shape", "T([1.0]).new_full(2, 3)", "T([1.0]).new_zeros()",
    "T([1.0]).new_zeros(2.5)", "T([1.0]).new_zeros(-1)", "torch.zeros(2.5)", "torch.ones((2, 2.5))", "torch.ones('a')",
    "torch.zeros()", "torch.empty((2, None))", "torch.ones(True)", "torch.zeros((T(2), 3)).shape",
    "torch.full(('a',), 1)",
]

NUMPY = [
    "T([1, 2]) * np.float64(2)", "np.float64(2) * T([1, 2])", "T([1, 2], dtype=torch.uint8) + np.int32(3)",
    "T([True]) + np.int8(3)", "T([1, 2]) + np.bool_(True)", "T([1.0]) + np.complex128(2j)",
    "T([1.0], dtype=torch.half) * np.float32(2)", "T([1, 2]) ** np.float32(2)",
    "torch.where(T([True, False]), T([1.0, 2.0]), np.float64(3))",
    "torch.where(T([True, False]), T([1, 2]), np.float64(3))", "torch.full((1,), np.int32(3))",
    "torch.full((1,), np.float64(3))", "T([np.float64(2)])", "T([np.int32(2), np.int32(3)])",
    "T([[np.float32(2), 3.0]])", "T([np.int8(2), 3])", "T([np.int8(2), np.float64(3)])", "T(np.float64(2))",
    "torch.as_tensor([np.uint8(2)])", "torch.add(T([1.0]), T([2.0]), alpha=np.float64(3))",
    "torch.clamp(T([1.0, 9.0]), np.float64(2), np.int64(5))", "T([1.0, 2.0]) == np.array([1.0, 3.0])",
    "np.array([1, 3]) == T([1, 2])", "T([1.0, 2.0]) == np.ones(3)", "T([1.0]) == np.array(['a'])",
    "np.array([1.0, 3.0]) / T([1.0, 2.0])", "np.array([1, 3]) / T([1, 2])", "T([1.0]) != np.array([1.0])",
    "T([1.0]) < np.array([1.0])", "torch.frombuffer(bytearray(b'abcde'), dtype=torch.int16)",
    "torch.frombuffer(bytearray(b'abcd'), dtype=torch.int16, count=3)",
    "torch.frombuffer(bytearray(b'abcd'), dtype=torch.int16, offset=1)",
    "torch.frombuffer(bytearray(b'abcd'), dtype=torch.int16, offset=5)",
    "torch.frombuffer(bytearray(b''), dtype=torch.uint8)",
    "torch.frombuffer(bytearray(b'abcd'), dtype=torch.uint8, count=0)", "torch.frombuffer([1, 2], dtype=torch.uint8)",
    "torch.frombuffer(bytearray(b'abcdef'), dtype=torch.int16, count=1, offset=2)",
]


CREATION = [
    "T([300], dtype=torch.int8)", "T(300, dtype=torch.uint8)", "T([-255, 255], dtype=torch.uint8)",
    "T([-256], dtype=torch.uint8)", "T(2**63)", "T([2**63])", "T([2**70], dtype=torch.float)",
    "T([2**63], dtype=torch.uint64)", "T(float('nan'), dtype=torch.long)", "T([1.5, 1e20], dtype=torch.long)",
    "T([1j], dtype=torch.float)", "T(1j, dtype=torch.long)", "T(1e39)", "T([T(1), T(2.0)])", "T([T([1.0]), T([3])])",
    "T([T([1, 2]), T([3, 4])])", "T([T([1.0, 2.0])])", "T([T(300)], dtype=torch.uint8)",
    "T(np.array([300]), dtype=torch.uint8)", "torch.as_tensor([300], dtype=torch.uint8)",
    "torch.asarray(b'abcd', dtype=torch.uint8)", "torch.asarray([1, 2], copy=False)",
    "torch.asarray(T([1.0]), dtype=torch.int, copy=False)", "torch.asarray(T([1]), requires_grad=True)",
    "torch.range(0, float('nan'))", "torch.linspace(0, 1j, 3, dtype=torch.float)",
    "torch.linspace(0, 1, 7, dtype=torch.bfloat16)", "torch.linspace(-1, 2, 9, dtype=torch.half)",
    "torch.zeros(2, layout='strided')", "torch.zeros(2, requires_grad=1)",
    "torch.empty((2, 3), memory_format=torch.preserve_format)", "torch.triu_indices(3, 3, dtype=torch.float)",
    "torch.normal(T([1.0, 2.0]), T([1.0, 2.0, 3.0]))", "torch.normal(0.0, T([1j]))",
]

PLACES = [
    "torch.zeros(()).index_add_(0, T([0]), torch.ones(1))", "torch.zeros(3, 3).index_fill_(0, T([0.0, 2.0]), 5)",
    "torch.zeros(3, 3).index_fill_(0, T([[0]]), 5)", "torch.zeros(3).index_fill_(0, T([0]), 1j)",
    "torch.empty(0).take(T([0]))", "torch.ones(3).masked_fill(T([1, 0, 1]), 9)",
    "torch.diff(torch.ones(2, 3), prepend=torch.ones(3, 3))", "torch.empty(2, 0).unique(dim=0)",
    "torch.empty(0, 0).unique(dim=0)", "T([1j]).unique()", "T([1j]).topk(1)", "torch.topk(torch.ones(3), 1.5)",
    "torch.searchsorted(T([1.0, float('nan')]), T([float('nan'), 0.5, 3.0]))",
    "torch.searchsorted(T([1.0, 2.0, float('nan')]), T([1.5]), right=True)", "torch.searchsorted(T(1), T([1]))",
    "torch.searchsorted(T([1, 3]), T([3]), sorter=T([0, 5]))", "torch.ones(3).repeat_interleave(T([1.0, 2.0, 3.0]))",
    "torch.ones(3).repeat_interleave(T([[1, 2, 3]]))",
    "torch.ones(2, 2).repeat_interleave(T([1, 2]), 0, output_size=5)", "torch.broadcast_shapes((-1,), (3,))",
    "torch.broadcast_shapes((2.0,))", "torch.ones(5).as_strided((-2,), (1,))",
    "torch.ones(5).as_strided((2,), (1,), -1)", "torch.ones(3).clamp(1j)",
    "torch.tensordot(torch.ones(2, 3), torch.ones(3, 2), -1)",
]

REDUCED = [
    "torch.sum(T([1.5, 2.0]), 0, out=torch.empty((), dtype=torch.long))",
    "torch.prod(T([1.5, 2.0]), 0, out=torch.empty((), dtype=torch.int))",
    "torch.cumsum(T([1.5, 2.0]), 0, out=torch.empty(2, dtype=torch.long))",
    "torch.max(torch.ones(2, 3), 0, out=(torch.empty(0), torch.empty(0, dtype=torch.long))).values",
    "torch.sort(T([2.0, 1.0]), out=(torch.empty(0), torch.empty(0, dtype=torch.long))).indices",
    "torch.all(torch.ones(2), 0, out=torch.empty(0))",
    "torch.any(torch.ones(2), 0, out=torch.empty((), dtype=torch.uint8))",
    "torch.nonzero(T([1, 0]), out=torch.empty(0))",
    "torch.quantile(torch.ones(4), 0.5, out=torch.empty(0, dtype=torch.double))",
    "torch.logsumexp(torch.ones(3), 0, out=torch.empty((), dtype=torch.long))", "T([True]).median()",
    "T([[True]]).trace()", "torch.ones(2, 3).aminmax(dim=(0, 1))",
    "torch.histogram(torch.ones(4), 2, range=(3.0, 1.0))", "torch.histogram(torch.ones(4), 2, weight=torch.ones(3))",
    "torch.histogram(torch.ones(4), T([0, 1]))",
]


MIXED = [
    "nn.Linear(2, 3)(torch.ones(1, 2).double())", "nn.Linear(2, 3)(torch.ones(2).long())",
    "nn.Linear(2, 3, bias=False)(torch.ones(1, 2).long())",
    "torch.addmm(torch.ones(2, 2), torch.ones(2, 2).double(), torch.ones(2, 2))",
    "torch.addmm(torch.ones(2, 2).double(), torch.ones(2, 2), torch.ones(2, 2))",
    "torch.baddbmm(torch.ones(1, 2, 2), torch.ones(1, 2, 2).double(), torch.ones(1, 2, 2))",
    "torch.baddbmm(torch.ones(1, 2, 2), torch.ones(1, 2, 2), torch.ones(1, 2, 2).double())",
    "torch.addbmm(torch.ones(2, 2), torch.ones(1, 2, 2), torch.ones(1, 2, 2).double())",
    "torch.bmm(torch.ones(1, 2, 2).double(), torch.ones(1, 2, 2))",
    "torch.mv(torch.ones(2, 2).double(), torch.ones(2))", "torch.ones(2).double() @ torch.ones(2)",
    "torch.ones(2).double() @ torch.ones(2, 2)", "torch.ones(1, 2, 2).double() @ torch.ones(1, 2, 2)",
    "torch.ones(1, 2, 2).double() @ torch.ones(2)", "torch.dot(T([1.0]), T([1]))",
    "torch.mm(torch.ones(1, 1).cfloat(), torch.ones(1, 1))",
    "F.bilinear(torch.ones(1, 2).double(), torch.ones(1, 2), torch.ones(2, 2, 2))",
    "F.layer_norm(torch.ones(1, 2).double(), (2,), torch.ones(2))", "nn.LSTM(2, 3)(torch.ones(1, 1, 2).double())",
    "F.ctc_loss(torch.ones(3, 1, 2).long(), T([[1]]), T([3]), T([1]))",
    "F.cross_entropy(torch.ones(2, 2), torch.ones(2, 2), ignore_index=1)", "~T([1.0])", "torch.promote_types(1, 2)",
    "F.embedding_bag(T([1]), torch.ones(2, 2), T([0.0]))", "F.embedding_bag(T([1]), torch.ones(2, 2), T([0, 3]))",
    "F.embedding_bag(T([1]), torch.ones(2, 2), T([0]), scale_grad_by_freq=True, mode='max')",
    "F.dropout1d(torch.ones(3))", "F.unfold(torch.ones(1, 2, 3, 3), 2, stride=0)",
    "F.unfold(torch.ones(1, 2, 3, 3), 2, padding=-1)",
]

TYPES = [
    "torch.device('cuda', -5)", "torch.device('cpu', 'a')", "torch.device(1.5)", "torch.device('')",
    "torch.device('cuda:01')", "torch.device(-1)", "torch.device('cuda:1', 1)", "torch.device('foo')",
    "torch.device('cuda:1').index", "torch.finfo('a')", "torch.iinfo(5)", "torch.iinfo(torch.bool)",
    "torch.result_type('a', 1)",
]

MASKS = [
    f"nn.MultiheadAttention(4, 2)({q}, {k}, {v}{more})" for q, k, v, more in (
        ("torch.ones(3, 4)", "torch.ones(3, 1, 4)", "torch.ones(3, 1, 4)", ""),
        ("torch.ones(3, 1, 4)", "torch.ones(3, 4)", "torch.ones(3, 1, 4)", ""),
        *(("torch.ones(3, 4)",) * 3 + (f", attn_mask=torch.zeros({n})",) for n in ("3", "1, 3, 3, 3", "3, 3, 3")),
        ("torch.ones(3, 4)",) * 3 + (", key_padding_mask=torch.zeros(1, 3).bool()",),
        *(("torch.ones(3, 1, 4)",) * 3 + (f", key_padding_mask=torch.zeros({n})",)
            for n in ("3", "3, 1", "1, 2", "1, 3, dtype=torch.long")),
        ("torch.ones(3, 1, 4)",) * 3 + (", is_causal=True",),
    )
]


@pytest.mark.parametrize("text",
    [*MIXED, *TYPES, *MASKS, *STORAGES, *OLD_CONSTRUCTORS, *NUMPY, *CREATION, *PLACES, *REDUCED])
def test_same(text: str) -> None:
    assert outcome(text, wengert) == outcome(text, torch)


@pytest.mark.parametrize("name", ["T", "mT", "H", "mH"])
def test_transposes_without_dimensions_warn(name: str) -> None:
    for L in (torch, wengert):
        L.set_warn_always(True)
        try:
            with pytest.warns(UserWarning, match=f"Tensor.{name} is deprecated on 0-D tensors"):
                getattr(L.tensor(1.0), name)
        finally:
            L.set_warn_always(False)


@pytest.mark.parametrize("text", [
    "torch.ones(2).put_(T([0]), torch.ones(1))", "torch.ones(2).put_(T([0]), torch.ones(1), accumulate=True)",
    "F.max_unpool1d(torch.ones(1, 1, 2), T([[[0, 2]]]), 2)",
    "F.max_unpool3d(torch.ones(1, 1, 1, 1, 1), T([[[[[0]]]]]), 2)",
    "torch.ones(3).scatter_add_(0, T([0, 0]), torch.ones(2))", "torch.use_deterministic_algorithms(1)",
])
def test_deterministic_algorithms(text: str) -> None:
    found = []
    for L in (torch, wengert):
        L.use_deterministic_algorithms(True)
        try:
            refused = outcome(text, L)
            L.use_deterministic_algorithms(True, warn_only=True)
            with pytest.warns() as seen:
                warnings.warn("none", stacklevel=1)
                outcome(text, L)
            found.append((refused, sorted(str(w.message)[:90] for w in seen)))
        finally:
            L.use_deterministic_algorithms(False)
    assert found[0] == found[1]

"""The native short cut of operator calls against the general path, which is its definition."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import wengert as torch
from wengert.ops.operator import TABLE
from wengert.tensor import call, inplace, specialise
from wengert.tensor.native_call import available, native, native_call

pytestmark = pytest.mark.skipif(not available, reason="the extension was not built")


def leaf(*shape):
    return torch.rand(*shape, dtype=torch.float64, requires_grad=True)


def half(*shape, kind=torch.bfloat16):
    return torch.rand(*shape).to(kind).requires_grad_()


def complexes(*shape, kind=torch.complex128):
    return torch.rand(*shape, dtype=kind, requires_grad=True)


CALLS = {
    "mul": lambda: (leaf(2, 3), leaf(3)),
    "add": lambda: (leaf(2, 3), 2, 1),
    "sub": lambda: (leaf(2, 3) * 1, torch.ones(3, dtype=torch.float64), 3),
    "exp": lambda: (leaf(4),),
    "linear": lambda: (leaf(2, 3), leaf(4, 3), None),
    "cat": lambda: ([leaf(2, 3), torch.ones(1, 3, dtype=torch.float64), leaf(1, 3) * 2], 0),
    "stack": lambda: ((leaf(2), leaf(2)), 1),
    "split": lambda: (leaf(4, 2), 2, 0),
    "unbind": lambda: (leaf(2, 3), 0),
    "transpose": lambda: (leaf(2, 3) * 1, 0, 1),
    "reshape": lambda: (leaf(2, 3), (3, 2)),
    "sum": lambda: (leaf(2, 3), 1, False, None),
    "where": lambda: (torch.tensor([True, False]), leaf(2), leaf(2)),
    "where-number": lambda: (torch.tensor([True, False]), leaf(2), 3),
    "mul-types": lambda: (leaf(2, 3), torch.rand(3, requires_grad=True)),
    "mul-number": lambda: (torch.rand(2, requires_grad=True), torch.tensor(2.0, dtype=torch.float64)),
    "mul-mask": lambda: (leaf(2), torch.tensor([True, False])),
    "div-integer": lambda: (torch.tensor(2), leaf(2)),
    "maximum-integers": lambda: (torch.rand(2, 1), torch.arange(3)),
    "mul-integers-mask": lambda: (torch.arange(2), torch.tensor([True, False])),
    "add-integers-types": lambda: (torch.arange(3, dtype=torch.int32), torch.arange(3), 2),
    "add-integers-dimensions": lambda: (torch.arange(3, dtype=torch.int16), torch.tensor(2), 1),
    "mul-mask-dimensions": lambda: (torch.tensor([True, False]), torch.tensor(7, dtype=torch.int32)),
    "eq-bytes": lambda: (torch.arange(3, dtype=torch.uint8), torch.arange(3, dtype=torch.int8)),
    "mul-mask-integer": lambda: (torch.tensor([True, False]), 7),
    "mul-integers-number": lambda: (torch.arange(3), 0.5),
    "mul-integers-complex": lambda: (torch.arange(3), 0.5j),
    "gt-integers-number": lambda: (torch.arange(3), 1.5),
    "div-integers": lambda: (torch.arange(3), 2),
    "exp-integers": lambda: (torch.arange(3),),
    "exp-mask": lambda: (torch.tensor([True, False]),),
    "sub-types": lambda: (leaf(2, 3), torch.rand(3, requires_grad=True), 2),
    "sub-complex": lambda: (leaf(3), complexes(2, 3), 1),
    "sub-integers-numbers": lambda: (torch.arange(3), leaf(3), 1),
    "sub-integers-number": lambda: (torch.arange(3), 0.5, 1),
    "mul-real-complex": lambda: (leaf(2, 3), 2.5 - 1j),
    "mul-real-complex-first": lambda: (2j, torch.rand(3, requires_grad=True)),
    "add-real-complex": lambda: (torch.rand(2, 3, requires_grad=True).t(), 2j, 1),
    "div-real-complex": lambda: (leaf(3), 2j),
    "sub-real-complex": lambda: (leaf(3), 2j, 1),
    "mul-real-dimensions": lambda: (torch.rand(2, 3, requires_grad=True), complexes(())),
    "mul-complex-dimensions": lambda: (leaf(()), complexes(3, kind=torch.complex64)),
    "div-real-dimensions": lambda: (complexes((), kind=torch.complex64), leaf(3)),
    "rsub-real-complex": lambda: (leaf(3), 2j, 1),
    "index": lambda: (leaf(2, 3), [None, torch.tensor([0, 2])], False),
    "add-integers": lambda: (torch.arange(3), torch.arange(3), 2),
    "mul-integers": lambda: (torch.arange(3), 7),
    "gt": lambda: (torch.arange(3), 1),
    "embedding_rows": lambda: (leaf(3, 2), torch.tensor([0, 2, 2]), -1, False),
    "mul-halves": lambda: (half(2, 3), half(3)),
    "mul-halves-number": lambda: (half(2, 3), 2.7),
    "mul-halves-turned": lambda: (half(2, 3).t(), half(3, 2)[:, :1]),
    "add-halves": lambda: (half(2, 3, kind=torch.float16), half(3, kind=torch.float16), 3),
    "exp-halves": lambda: (half(()),),
    "linear-halves": lambda: (half(2, 3), half(4, 3), half(4)),
    "matmul-halves": lambda: (half(2, 3), half(3, 4)),
    "sum-halves": lambda: (half(2, 3), 1, False, torch.float32),
    "stack-halves": lambda: ((half(2), half(2)), 1),
    "softmax-halves": lambda: (half(2, 3), 1, None),
    "mul-complex": lambda: (complexes(2, 3), complexes(3)),
    "mul-complex-number": lambda: (complexes(2, 3, kind=torch.complex64), 2.5),
    "mul-complex-numbers": lambda: (complexes(2, 3, kind=torch.complex64), 2.5 - 1j),
    "sub-complex-numbers": lambda: (complexes(3), 2j, 1),
    "div-complex-numbers": lambda: (complexes(3), 2j),
    "add-complex": lambda: (complexes(2, 3).t(), complexes(3, 2), 1 + 2j),
    "exp-complex": lambda: (complexes(4),),
    "abs-complex": lambda: (complexes(4),),
    "matmul-complex": lambda: (complexes(2, 3), complexes(3, 4)),
    "stack-complex": lambda: ((complexes(2), complexes(2)), 1),
    "split-complex": lambda: (complexes(4, 2), 2, 0),
    "sum-complex": lambda: (complexes(2, 3), 1, False, None),
    "conj-complex": lambda: (complexes(2, 3).t(),),
    "mul-conjugate": lambda: (complexes(2, 3), complexes(2, 3, kind=torch.complex64).conj()),
    "add-conjugates": lambda: (complexes(3, 2).t().conj(), complexes(1, 3).expand(2, 3).conj(), 1),
    "narrow": lambda: (leaf(4, 3).t(), 1, 1, 2),
    "narrow-end": lambda: (leaf(4, 3), -1, -2, 2),
    "basic_index": lambda: (leaf(4, 3), (slice(None), slice(1, 9, 2))),
    "basic_index-empty": lambda: (leaf(4, 3), (slice(5, 2),)),
    "unfold": lambda: (leaf(7, 2).t(), 1, 3, 2),
    "unfold-numbers": lambda: (torch.arange(5), -1, 5, 9),
    "roll": lambda: (leaf(4, 3), -2, ()),
    "roll-integers": lambda: (torch.arange(6).reshape(2, 3), (7,), ()),
    "roll-turned": lambda: (leaf(4, 3).t(), 1, ()),
    "aminmax": lambda: (leaf(4, 3), None, False),
    "aminmax-dimension": lambda: (leaf(4, 3), 0, True),
    "aminmax-integers": lambda: (torch.tensor([[3, 1], [2, 5]]), None, False),
    "aminmax-keep": lambda: (leaf(4, 3), None, True),
    "heaviside": lambda: (torch.tensor([-1.0, 0.0, -0.0, 2.0, math.nan, -math.inf]), torch.rand(6)),
    "heaviside-number": lambda: (torch.tensor([-1.0, 0.0, 2.0]), torch.rand(())),
    "heaviside-integers": lambda: (torch.arange(-1, 2), torch.arange(3)),
    "diag_embed": lambda: (leaf(2, 3), 0, -2, -1),
    "diag_embed-above": lambda: (leaf(2, 3), 2, -2, -1),
    "diag_embed-below": lambda: (torch.arange(3), -1, -2, -1),
    "diag_embed-others": lambda: (leaf(2, 3), 0, 0, 1),
    "cumsum-complex": lambda: (complexes(2, 3), 1, None),
    "cumprod-complex": lambda: (complexes(2, 3, kind=torch.complex64).t(), 0, None),
    "cat-turned": lambda: ([leaf(2, 3).t(), leaf(3, 1)], -1),
    "cat-images": lambda: ([leaf(2, 4, 4, 3).permute(0, 3, 1, 2)] * 2, 1),
    "cat-numbers": lambda: ([torch.arange(3), torch.arange(2)], 0),
    "topk": lambda: (leaf(3, 5), 2, -1, True, True),
    "topk-least": lambda: (leaf(2, 3, 5), 5, 2, False, False),
    "topk-integers": lambda: (torch.tensor([3, 1, 3, 2]), 2, 0, True, True),
    "topk-first": lambda: (leaf(3, 5), 2, 0, True, True),
    "topk-none": lambda: (leaf(3, 5), 0, 1, True, True),
    "vdot": lambda: (leaf(3), leaf(3)),
    "vdot-complex": lambda: (complexes(3), complexes(3)),
}


def described(value):
    """What can be seen of a result, up to the identity of objects."""
    if isinstance(value, (tuple, list)):
        return type(value), [described(v) for v in value]
    if isinstance(value, torch.Tensor):
        view = None if value._wg_meta is None else value._wg_meta.view
        known = (None if view is None
            else (described(view.base), [(op.name, a) for op, a in view.steps], view.version, view.creation))
        node = None if value._wg_edge is None else (value._wg_edge[1], *of_node(value._wg_edge[0]))
        return value._wg_data.tolist(), value._wg_data.dtype, value._wg_data.strides, value._wg_vc, known, node
    if isinstance(value, np.ndarray):
        return value.tolist(), value.dtype
    return value


def of_node(node):
    edges = [None if e is None else (type(e[0]).__name__, e[1], e[0].shape) for e in node.edges]
    return (type(node).__name__, node.outputs, node.shape, node.dtype, edges, node.hooks,
        [described(v) for v in node.saved or ()])


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("name", CALLS)
def test_as_the_general_path(name, grad):
    op = TABLE[name.partition("-")[0]]
    args = CALLS[name]()
    assert native(op)
    with torch.set_grad_enabled(grad):
        keep = call.general(op, args)
        found = native_call(op, type(_node(keep)) if _node(keep) else object)(*args)
    assert found is not NotImplemented
    assert described(found) == described(keep)


def _node(result):
    first = result[0] if isinstance(result, tuple) else result
    return None if first._wg_edge is None else first._wg_edge[0]


def test_numbers_of_two_kinds_are_brought_together():
    mul, c = native_call(TABLE["mul"], object), torch.tensor([1 + 2j, 3 - 1j])
    y = mul(torch.tensor([2.0, 3.0]), c)
    assert y.dtype == torch.complex64 and y.tolist() == [2 + 4j, 9 - 3j]
    y = mul(torch.arange(2), torch.tensor(0.5, dtype=torch.float64))
    assert y.dtype == torch.float64 and y.tolist() == [0.0, 0.5]
    torch.set_default_dtype(torch.float64)
    try:
        assert mul(torch.arange(2), 0.5).dtype == torch.float64 and mul(torch.arange(2), 2j).dtype == torch.complex128
    finally:
        torch.set_default_dtype(torch.float32)
    assert mul(torch.rand(2), 2j).dtype == torch.complex64 and mul(torch.tensor([True]), 2).dtype == torch.int64


def test_leaves_the_rest_to_the_general_path():
    mul, x = native_call(TABLE["mul"], object), torch.ones(2)
    assert mul(torch.arange(2), torch.arange(2).to(torch.uint16)) is NotImplemented
    assert mul(x.half(), 2j) is NotImplemented  # whose result is of another type
    sub = native_call(TABLE["sub"], object)
    assert sub(x, torch.tensor([True, False]), 1) is sub(torch.tensor([True]), 2, 1) is NotImplemented  # refused
    assert native_call(TABLE["mul"], object, writes=1)(torch.arange(2), 0.5) is NotImplemented
    assert native_call(TABLE["mul"], object, writes=1)(x, 2j) is NotImplemented
    assert native_call(TABLE["mul"], object, real=True)(*[torch.ones(2, dtype=torch.complex64)] * 2) is NotImplemented
    assert mul(x, torch.ones(3)) is NotImplemented  # an error, which the general path explains
    assert mul(x.half(), x.bfloat16()) is NotImplemented
    assert mul(torch.arange(2, dtype=torch.uint8), 1000) is NotImplemented
    assert mul(x, "a") is NotImplemented
    assert mul(x) is NotImplemented
    with torch.inference_mode():
        assert native_call(TABLE["unsafe_split"], object)(x, 1, 0) is NotImplemented  # parts that are views
        made = torch.ones(2)
    assert mul(x, made) is NotImplemented
    assert native_call(TABLE["sum"], object)(x, torch.tensor(0), False, None) is NotImplemented
    assert native_call(TABLE["mul"], lambda: None)(x, x) is NotImplemented  # somebody watches the nodes


def test_nodes_of_complex_numbers_conjugate():
    a, b = complexes(3), complexes(3)
    y = a * b
    assert y.grad_fn.name() == "MulBackward0"
    assert type(y.grad_fn).raw is not type((leaf(2) * leaf(2)).grad_fn).raw
    y.backward(torch.full((3,), 1j, dtype=a.dtype))
    assert torch.equal(a.grad, 1j * b.detach().conj()) and torch.equal(b.grad, 1j * a.detach().conj())
    joined = torch.einsum("i,i->", torch.stack([a[0], b[0]]), torch.stack([b[1], a[1]]))
    found = torch.autograd.grad(joined.real, (a, b))
    assert torch.allclose(found[0], torch.stack([b[1].conj(), b[0].conj(), torch.zeros_like(a[0])]).detach())
    (doubled,) = torch.autograd.grad((a * 2.5).real.sum(), a)
    assert doubled.tolist() == [2.5] * 3


def test_gives_inference_tensors_in_inference_mode():
    x, mul = torch.ones(2, requires_grad=True), native_call(TABLE["mul"], object)
    with torch.inference_mode():
        y = mul(x, x)
        z = mul(y, x)
    for t in (y, z):
        assert t.is_inference() and not t.requires_grad and t.grad_fn is None
    assert x._version == 0 and z.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", CALLS)
def test_keeps_nothing(name):
    op = TABLE[name.partition("-")[0]]
    args = CALLS[name]()
    kind = type(_node(call.general(op, args)) or args)
    quick = native_call(op, kind)
    flat = [x for a in args for x in (a if isinstance(a, (list, tuple)) else [a]) if isinstance(x, torch.Tensor)]
    watched = [*flat, *(t._wg_data for t in flat), *(t._wg_vc for t in flat), kind, torch.Tensor, op]
    quick(*args)
    before = [sys.getrefcount(w) for w in watched]
    for _ in range(50):
        quick(*args)
        quick(*args[:-1], object())
    assert [sys.getrefcount(w) for w in watched] == before


WRITES = {
    "add": lambda: (torch.rand(2, 3), torch.rand(3), 2),
    "mul": lambda: (torch.rand(2, 3), 0.5),
    "mul-types": lambda: (torch.rand(2, 3), torch.rand(3, dtype=torch.float64)),
    "mul-part": lambda: (torch.rand(3, 4)[::2, 1:], torch.rand(3)),
    "add-integers": lambda: (torch.arange(3), 2, 1),
    "exp": lambda: (torch.rand(()),),
    "zero": lambda: (torch.rand(2, 3),),
    "fill": lambda: (torch.rand(2, 3), 2),
    "fill-bool": lambda: (torch.tensor([True, False]), False),
    "fill-integers": lambda: (torch.arange(3), 1.0),
    "copy": lambda: (torch.rand(2, 3), torch.rand(3), False),
    "clamp": lambda: (torch.rand(2, 3), 0.2, 0.6),
    "lerp": lambda: (torch.rand(3), torch.rand(3), 0.25),
    "addcmul": lambda: (torch.rand(3), torch.rand(3), torch.rand(3), 2),
    "masked_fill": lambda: (torch.rand(2), torch.tensor([True, False]), 7.0),
    "index_put": lambda: (torch.rand(2, 3), [None, torch.tensor([0, 2])], torch.rand(2, 2), False),
    "add-halves": lambda: (torch.rand(2, 3).half(), torch.rand(3).half(), 2),
    "mul-halves": lambda: (torch.rand(2, 3).bfloat16(), torch.rand(3).bfloat16()),
    "mul-halves-number": lambda: (torch.rand(2, 3).bfloat16(), 0.7),
    "mul-complex": lambda: (torch.rand(3, dtype=torch.complex64), torch.rand(3, dtype=torch.complex64)),
    "scatter_add": lambda: (torch.zeros(3), 0, torch.tensor([0, 2, 2]), torch.ones(3)),
}


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("name", WRITES)
def test_writes_as_the_general_path(name, grad):
    op = TABLE[name.partition("-")[0]]
    torch.manual_seed(0)
    args = WRITES[name]()
    torch.manual_seed(0)
    others = WRITES[name]()
    with torch.set_grad_enabled(grad):
        keep = inplace.inplace(op, others)
        array = args[0]._wg_data
        found = native_call(op, object, writes=1 + specialise._kernel_writes(op))(*args)
    assert found is args[0]
    assert found._wg_data is array
    assert described(found) == described(keep)


@pytest.mark.parametrize("normal", [True, False])
@pytest.mark.parametrize("name", WRITES)
def test_writes_in_inference_mode_as_the_general_path(name, normal):
    op = TABLE[name.partition("-")[0]]
    with torch.inference_mode():
        rows = []
        for _ in range(2):
            torch.manual_seed(0)
            with torch.inference_mode(not normal):
                rows.append(WRITES[name]())
        keep = inplace.inplace(op, rows[0])
        found = native_call(op, object, writes=1 + specialise._kernel_writes(op))(*rows[1])
    assert found is rows[1][0] and found.is_inference() is not normal
    assert described(found) == described(keep)


@pytest.mark.parametrize("normal", [True, False])
@pytest.mark.parametrize("name", ["transpose", "reshape", "split", "unbind", "sum", "stack"])
def test_views_in_inference_mode_as_the_general_path(name, normal):
    op = TABLE[name]
    with torch.inference_mode(not normal):
        args = CALLS[name]()
        args = tuple(x.detach() if isinstance(x, torch.Tensor) else x for x in args)
    with torch.inference_mode():
        keep, found = call.general(op, args), native_call(op, object)(*args)
        pairs = [(found, keep)]
        if name == "transpose":  # a view of a view
            pairs.append((native_call(op, object)(found, *args[1:]), call.general(op, (keep, *args[1:]))))
    for a, b in pairs:
        assert described(a) == described(b)


def test_a_view_made_in_inference_mode_is_not_written_to_outside():
    x = torch.ones(4)
    with torch.inference_mode():
        y = x[1:]
        y.mul_(2)
    assert x._version == y._version == 1 and x.tolist() == [1, 2, 2, 2] and not y.is_inference()
    x.requires_grad_()
    with pytest.raises(RuntimeError, match="A view was created in inference mode and is being modified inplace"):
        y.mul_(2)


def _scaled(*shape):
    return leaf(*shape) * 2


def _rows(*shape):
    return torch.rand(*shape, dtype=torch.float64)


RECORDED = {
    "add": lambda: (_scaled(2, 3), leaf(3), 2),
    "add-number": lambda: (_scaled(2, 3), 1.5, 1),
    "mul": lambda: (_scaled(2, 3), leaf(3)),
    "mul-constant": lambda: (_scaled(2, 3), _rows(3)),
    "mul-to-constant": lambda: (_rows(2, 3), leaf(3)),
    "div": lambda: (_scaled(2, 3), leaf(2, 3)),
    "exp": lambda: (_scaled(2, 3),),
    "zero": lambda: (_scaled(2, 3),),
    "fill": lambda: (_scaled(2, 3), leaf(1)[0]),
    "copy": lambda: (_rows(2, 3), leaf(3), False),
    "masked_fill": lambda: (_scaled(2), torch.tensor([True, False]), 7.0),
    "index_put": lambda: (_scaled(2, 3), [None, torch.tensor([0, 2])], leaf(2, 2), False),
    "mul-part": lambda: (_scaled(3, 4)[::2, 1:], leaf(3)),
    "copy-part": lambda: (_rows(3, 4)[1], leaf(4), False),
    "exp-part": lambda: (_scaled(3, 4).t()[2:],),
}


@pytest.mark.parametrize("name", RECORDED)
def test_records_writes_as_the_general_path(name):
    op = TABLE[name.partition("-")[0]]
    seen = []
    for quick in (False, True):
        torch.manual_seed(0)
        args = RECORDED[name]()
        base, leaves = args[0]._base if args[0]._is_view() else args[0], _leaves(args)
        if quick:
            node = type(specialise.node_class(op).__name__, (specialise.node_class(op),), {"__slots__": ()})
            found = native_call(op, node, {p: specialise.renamed(node, n) for p, n in op.without.items()}, 1)(*args)
        else:
            found = inplace.inplace(op, args)
        assert found is args[0]
        (base * torch.arange(1.0, base.numel() + 1).reshape(base.shape)).square().sum().backward()
        seen.append((described(found), described(base), [described(t.grad) for t in leaves], found._version))
    assert seen[0] == seen[1]


def _leaves(args):
    """The leaves that tensors among the arguments come from."""
    edges = [t._wg_edge or (t.grad_fn, 0) for t in args if isinstance(t, torch.Tensor) and not t.is_leaf]
    found = [t for t in args if isinstance(t, torch.Tensor) and t.is_leaf and t.requires_grad]
    while edges:
        node = edges.pop()[0]
        variable = getattr(node, "variable", None)
        found += [variable] if variable is not None else []
        edges += [] if variable is not None else [e for e in node.edges if e is not None]
    return found


def test_leaves_other_writes_to_the_general_path():
    add, x = native_call(TABLE["add"], object, writes=2), torch.ones(3)
    known = torch.ones(3, requires_grad=True)
    for args in ((known, x, 1), (known[:2], x[:2], 1), ((known * 1).expand(2, 3), x, 1), (x.expand(2, 3), x, 1),
            (x[1:], x[:-1], 1), (x, torch.ones(2, 3), 1), (torch.arange(3), 0.5, 1), (torch.arange(3), x, 1)):
        before = args[0].tolist()
        assert add(*args) is NotImplemented
        assert args[0].tolist() == before
    with torch.inference_mode():  # where tensors do not say whose memory they have
        made = torch.ones(4)
        assert add(made[1:], made[:-1], 1) is NotImplemented and add(made, made[::2].repeat(2), 1) is made
    overlapping = torch.ones(4).as_strided((2, 2), (1, 1))
    assert add(overlapping, 1, 1) is NotImplemented
    fixed = torch.ones(3)
    fixed._wg_data.flags.writeable = False
    assert add(fixed, x, 1) is NotImplemented
    with torch.no_grad():
        assert add(known, x, 1) is known  # an optimizer's step
    assert x._version == 0
    assert known._version == 1


def test_bools_are_written_and_not_taken_away():
    x = torch.zeros(2)
    assert x.fill_(True).tolist() == [1.0, 1.0]
    for take in (lambda: x.sub_(True), lambda: x.__isub__(True), lambda: x - True):
        with pytest.raises(RuntimeError, match="Subtraction"):
            take()
    assert x.tolist() == [1.0, 1.0]


NUMBERED = {
    "add": lambda: (torch.rand(2, 3), torch.rand(3), 0.5),
    "lerp": lambda: (torch.rand(2, 3), torch.rand(2, 3), 0.25),
    "addcmul": lambda: (torch.rand(2, 3), torch.rand(3), torch.rand(2, 1), 2),
    "addcdiv": lambda: (torch.rand(2, 3), torch.rand(2, 3), torch.rand(2, 3), 0.5),
    "leaky_relu": lambda: (torch.rand(2, 3) - 0.5, 0.1),
    "elu": lambda: (torch.rand(2, 3) - 0.5, 0.7),
    "selu": lambda: (torch.rand(2, 3) - 0.5,),
    "celu": lambda: (torch.rand(2, 3) - 0.5, 2),
    "relu6": lambda: (torch.rand(2, 3) * 9,),
    "hardtanh": lambda: (torch.rand(2, 3), 0.2, 0.7),
    "threshold": lambda: (torch.rand(2, 3), 0.5, 2),
    "clamp": lambda: (torch.rand(2, 3), 0.2, None),
    "clamp_min": lambda: (torch.rand(2, 3), 0.2),
    "clamp_max": lambda: (torch.rand(2, 3), 0.2),
    "clamp-integers": lambda: (torch.arange(9), 2, 5),
}


def refused(*args, **options):
    raise AssertionError("the forward was asked")


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("name", NUMBERED)
def test_numbers_besides_tensors_need_no_forward(name, grad, monkeypatch):
    op = TABLE[name.partition("-")[0]]
    args = NUMBERED[name]()
    with torch.set_grad_enabled(grad):
        keep = call.general(op, args)
        monkeypatch.setattr(op, "forward", refused)
        found = native_call(op, object)(*args)
        assert described(found) == described(keep)
        array = args[0]._wg_data
        written = native_call(op, object, writes=1 + specialise._kernel_writes(op))(*args)
    assert written is args[0]
    assert written._wg_data is array
    assert torch.equal(written, keep)


def test_numbers_that_are_made_of_an_operators_or_are_refused():
    x = torch.tensor([-2.0, 0.5, 9.0])
    F = torch.nn.functional
    assert F.celu(x, -1.0).tolist() == call.general(TABLE["celu"], (x, -1.0)).tolist()
    assert F.softshrink(x, 0.25).tolist() == [-1.75, 0.25, 8.75]
    assert F.hardshrink(x, 1).tolist() == [-2, 0, 9]
    for refused, args in ((F.celu, (0.0,)), (F.softshrink, (-1.0,)), (F.hardtanh, (2.0, 1.0))):
        with pytest.raises((RuntimeError, ValueError)):
            refused(x, *args)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.int64, torch.uint8, torch.bfloat16, torch.bool])
def test_comparisons_in_place_write_numbers(kind):
    for shape in ((3,), (2, 3), (2, 1, 3)):
        x, y = torch.randint(0, 3, shape).to(kind), torch.randint(0, 3, (3,)).to(kind)
        for name in ("lt", "le", "eq", "ne", "gt", "ge", "logical_and", "logical_xor"):
            for target in (x.clone(), x.clone().mT.contiguous().mT if x.ndim > 1 else x.clone()):
                want = getattr(torch, name)(target, y).to(kind)
                assert getattr(target, name + "_")(y) is target
                assert torch.equal(target, want) and target._version == 1
    x = torch.arange(4.0)
    assert x[1:].lt_(x[:-1] + 1.5).tolist() == [1, 1, 1]
    x = torch.arange(4.0)
    assert x.ge_(x).tolist() == [1] * 4 and x.eq_(1.0).tolist() == [1] * 4


@pytest.mark.parametrize("name", ["add", "lerp", "addcmul", "addcdiv"])
def test_numbers_besides_tensors_in_place_where_the_target_is_read_twice_or_is_too_small(name):
    op = TABLE[name]
    x = torch.rand(4)
    others = (torch.ones(4),) * (len(op.tensors) - 2)
    want = getattr(x.clone(), name + "_")(x.flip(0).clone(), *others, **{op.params[-1]: 0.5})
    getattr(x, name + "_")(x.flip(0), *others, **{op.params[-1]: 0.5})
    assert torch.equal(x, want)
    y = torch.ones(4)
    getattr(y, name + "_")(y, *(y,) * (len(op.tensors) - 2), **{op.params[-1]: 0.5})
    assert y.tolist() == [1.0 if name == "lerp" else 1.5] * 4
    with pytest.raises(RuntimeError, match="output with shape"):
        getattr(torch.ones(3), name + "_")(torch.ones(2, 3), *(torch.ones(3),) * (len(op.tensors) - 2),
            **{op.params[-1]: 0.5})


@pytest.mark.parametrize("name,args", [("reshape", ([3, 2],)), ("view", ([-1],)), ("expand", ([4, 2, 3], False)),
    ("permute", ([1, 0],)), ("sum_dim", ([0, 1], True, None)), ("mean_dim", ([1], False, None)), ("flip", ([0],))])
def test_lists_of_numbers_are_as_tuples(name, args):
    op, x = TABLE[name], torch.rand(2, 3, requires_grad=True)
    want = call.general(op, (x, *[tuple(a) if type(a) is list else a for a in args]))
    found = native_call(op, type(_node(want)))(x, *args)
    assert found is not NotImplemented
    assert described(found) == described(want)
    args[0].append(7)  # which is noticed by nobody
    assert described(found) == described(want)


def test_an_empty_list_receives_what_the_forward_puts_there():
    x, moments = torch.rand(8, 3), []
    found = native_call(TABLE["batch_norm_channels"], object)(x, torch.ones(3), torch.zeros(3), None, 1e-5, moments)
    assert found is not NotImplemented
    np.testing.assert_allclose(moments[0], x.numpy().mean(0), rtol=1e-6)


@pytest.mark.parametrize("name,shapes", [("mm", ((3, 4), (4, 5))), ("bmm", ((2, 2, 10), (2, 10, 12))),
    ("bmm", ((3, 2, 5), (3, 5, 3)))])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_small_products_need_no_forward(name, shapes, dtype, monkeypatch):
    op = TABLE[name]
    a, b = (torch.rand(*shape, dtype=dtype) for shape in shapes)
    turned = [x.mT.contiguous().mT if x.ndim > 1 else torch.rand(2 * len(x), dtype=dtype)[::2].copy_(x) for x in (a, b)]
    want = call.general(op, (a, b))
    monkeypatch.setattr(op, "forward", refused)
    for x, y in ((a, b), turned):
        found = native_call(op, object)(x, y)
        assert found is not NotImplemented
        assert found.shape == want.shape and found.stride() == want.stride() and found.dtype == dtype
        assert torch.allclose(found, want)


@pytest.mark.parametrize("name", ["mm", "bmm"])
def test_products_that_do_not_fit_are_left_to_the_general_path(name):
    quick, one, two, three = native_call(TABLE[name], object), torch.rand(3), torch.rand(3, 4), torch.rand(2, 3, 4)
    for args in ((one, two), (two, two), (two, one), (three, two), (three, three), (one, torch.rand(2)),
            (two, torch.rand(4, dtype=torch.float64))):
        assert quick(*args) is NotImplemented


@pytest.mark.parametrize("args", [(2, None, False, None), (2.0, (-1,), True, None), (2, (0, 1), False, None)])
def test_lengths_of_vectors_need_no_forward(args, monkeypatch):
    op, x = TABLE["linalg_vector_norm"], torch.rand(4, 3, dtype=torch.float64)
    for y in (x, x.t(), torch.rand(4, 5, dtype=torch.float64)[:, :3]):
        want = call.general(op, (y, *args))
        with monkeypatch.context() as m:
            m.setattr(op, "forward", refused)
            found = native_call(op, object)(y, *args)
        assert found is not NotImplemented
        assert torch.allclose(found, want) and found.shape == want.shape
    for other in ((1, *args[1:]), (2**70, *args[1:])):
        assert torch.equal(torch.as_tensor(native_call(op, object)(x, *other)), call.general(op, (x, *other)))


def test_places_that_lie_apart_are_gathered_without_a_forward(monkeypatch):
    op, x = TABLE["gather"], torch.arange(24.0).reshape(4, 6)
    index = torch.randint(0, 6, (4, 8))[:, 1:6]
    spread = torch.randint(0, 4, (1, 6)).expand(3, 6)
    want = [call.general(op, (x, 1, index, False)), call.general(op, (x, 0, spread, False))]
    monkeypatch.setattr(op, "forward", refused)
    found = [native_call(op, object)(x, 1, index, False), native_call(op, object)(x, 0, spread, False)]
    assert all(torch.equal(a, b) for a, b in zip(found, want))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", ["nll", "cross_entropy_index"])
def test_losses_of_classes_need_no_forward(name, reduction, monkeypatch):
    op = TABLE[name]
    x = torch.randn(5, 3, requires_grad=True)
    for target in ([0, 2, 1, 1, -100], [0, 2, 1, 1, 0]):
        for weight in (None, torch.rand(3)._wg_data):
            args = (x, torch.tensor(target)._wg_data, weight, reduction, -100)
            keep = call.general(op, args)
            slope = torch.autograd.grad(keep, x, torch.ones_like(keep))[0]
            with monkeypatch.context() as patch:
                patch.setattr(op, "forward", refused)
                found = native_call(op, specialise.node_maker(op))(*args)
            assert torch.equal(found, keep) and found.grad_fn.name() == keep.grad_fn.name()
            assert torch.equal(torch.autograd.grad(found, x, torch.ones_like(found))[0], slope)
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        torch.nn.functional.nll_loss(x, torch.tensor([0, 1, 2, 3, 0]), reduction=reduction)

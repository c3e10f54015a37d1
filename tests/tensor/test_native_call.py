"""The native short cut of operator calls against the general path, which is its definition."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import wengert as torch
from wengert.ops.operator import TABLE
from wengert.tensor import call
from wengert.tensor.native_call import available, native, native_call

pytestmark = pytest.mark.skipif(not available, reason="the extension was not built")


def leaf(*shape):
    return torch.rand(*shape, dtype=torch.float64, requires_grad=True)


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
    "add-integers": lambda: (torch.arange(3), torch.arange(3), 2),
    "mul-integers": lambda: (torch.arange(3), 7),
    "gt": lambda: (torch.arange(3), 1),
    "embedding_rows": lambda: (leaf(3, 2), torch.tensor([0, 2, 2]), -1, False),
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


def test_leaves_the_rest_to_the_general_path():
    mul, x = native_call(TABLE["mul"], object), torch.ones(2)
    assert mul(x, torch.ones(2, dtype=torch.float64)) is NotImplemented
    assert mul(x, torch.ones(3)) is NotImplemented  # an error, which the general path explains
    assert mul(torch.arange(2), 0.5) is NotImplemented
    assert mul(torch.arange(2, dtype=torch.uint8), 1000) is NotImplemented
    assert mul(torch.tensor([True]), 2) is NotImplemented
    assert mul(x, "a") is NotImplemented
    assert mul(x) is NotImplemented
    with torch.inference_mode():
        assert mul(x, x) is NotImplemented
        made = torch.ones(2)
    assert mul(x, made) is NotImplemented
    assert native_call(TABLE["sum"], object)(x, torch.tensor(0), False, None) is NotImplemented
    assert native_call(TABLE["mul"], lambda: None)(x, x) is NotImplemented  # somebody watches the nodes


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

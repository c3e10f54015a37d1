"""Composites that are a few operators in a row, by the plan that the extension remembers, against their definitions."""

from __future__ import annotations

import math

import pytest

import wengert as torch
from wengert.ops.operator import TABLE
from wengert.tensor.functions import function
from wengert.tensor.native_call import available

pytestmark = pytest.mark.skipif(not available, reason="the extension was not built")

#: The shapes of the tensors (a list: one argument), and the further arguments.
CALLS = {
    "hstack": [([(3, 4), (3, 2)],), ([(3,), (2,)],), ([(), ()],), ([(2, 1, 3)],), ([(3,), (3, 2)],),
        ([(2, 0), (2, 3)],)],
    "vstack": [([(3, 4), (2, 4)],), ([(3,), (3,)],), ([(), (1,)],), ([(3,), (2, 3)],), ([(3,), (2, 2)],)],
    "dstack": [([(3, 4), (3, 4)],), ([(3,), (3,)],), ([(), ()],), ([(2, 2, 3), (2, 2)],)],
    "column_stack": [([(3, 4), (3,)],), ([(3,), (3,)],), ([(), ()],), ([(3,), (2,)],)],
    "tensor_split": [((7, 4), 3), ((7, 4), 2, 1), ((7, 4), (1, 5)), ((7, 4), [2, -1, 20], -1), ((7, 4), 0), ((), 1),
        ((0, 3), 2), ((30,), 30)],
    "pdist": [((4, 3),), ((4, 3), 1), ((40, 12), 3.5), ((4, 3), math.inf), ((4,),), ((4, 3), -1), ((0, 3),),
        ((1, 3), 0), ((4, 3), None)],
    "hsplit": [((6, 4), 2), ((6, 4), 3), ((6,), [2, 4]), ((), 1), ((6, 4), -1)],
    "vsplit": [((6, 4), 2), ((6, 4), (1,)), ((6,), 2)],
    "dsplit": [((2, 3, 6), 3), ((2, 3, 6), [1, 2]), ((6, 4), 2)],
    "chunk": [((7, 4), 3), ((7, 4), 2, 1), ((7, 4), 0), ((), 2), ((0, 3), 2), ((7, 4), 9, -2)],
    "unsafe_chunk": [((7, 4), 3), ((7, 4), 2, 1)],
    "linalg_norm": [((3, 4),), ((3, 4), None, 1), ((3, 4), 2, -1, True), ((4,), 3), ((3, 4), "fro"), ((3, 4), 1),
        ((3, 4), None, (0, 1)), ((2, 3, 4), 1), ((3, 4), 2, [0, 1]), ((3, 4), None, (0, 1, 0)), ((3, 4), -1, 0), ((),)],
    "linalg_matrix_norm": [((3, 4),), ((3, 4), "fro", (0, 1)), ((2, 3, 4), "nuc"), ((4,),),
        ((2, 3, 4), "fro", (-2, -1), True), ((3, 4), 1)],
    "ravel": [((2, 3),), ((3,),), ((),), ((0, 2),)],
    "float_power": [((2, 3), 2), ((2, 3), 3.0), ((2, 3), -1), ((2, 3), True), ((2, 3), None), ((), 4.0),
        ((0, 3), 2)],
    "kron": [((3, 2), (2, 4)), ((3,), (2,)), ((2, 3), (4,)), ((), (3,)), ((), ()), ((2, 1, 3), (2, 2)),
        ((0, 2), (2, 2))],
    "diff": [((5, 3),), ((5, 3), 1, 0), ((5, 3), 2, 0), ((5, 3), 0), ((5, 3), 9), ((1, 3), 1, 0), ((), 1),
        ((5, 3), -1), ((5, 3), 1, 2), ((0, 3), 1, 0)],
    "inner": [((3, 4), (2, 4)), ((4,), (4,)), ((2, 3, 4), (4,)), ((3, 4), (2, 3)), ((), (3,)), ((1, 4), (1, 4)),
        ((3, 0), (2, 0))],
    "tensordot": [((3, 4), (4, 2), 1), ((3, 4), (3, 4), 2), ((3, 4), (4, 3), ([0, 1], [1, 0])),
        ((2, 3, 4), (4, 3), ((2, 1), (0, 1))), ((3, 4), (2, 4), ([1], [-1])), ((3, 4), (2, 2), 0),
        ((3, 4), (4, 2), -1), ((3, 4), (3, 4), 1), ((3, 4), (4,), 3), ((1, 4), (3, 2), 1), ((3, 4), (4, 3), 2),
        ((3,), (3,), 1), ((3, 1), (1, 2), ([1], [0])), ((3, 4), (4, 2), ([1], [0, 1]))],
    "linalg_multi_dot": [([(3, 4), (4, 2)],), ([(3, 4), (4, 2), (2, 5)],), ([(4,), (4, 2), (2,)],), ([(4,), (4,)],),
        ([(3, 4), (4, 5), (5, 6), (6, 2)],), ([(3, 4)],), ([(3, 4), (3, 4)],), ([(3, 4), (4,), (4, 2)],),
        ([(2, 3, 4), (4, 2)],)],
    "outer": [((3,), (4,)), ((3, 2), (2,)), ((0,), (2,)), ((), (3,)), ((1,), (1,))],
    "diag": [((3,),), ((3,), 1), ((3, 4),), ((3, 4), -1), ((3, 4), 9), ((2, 3, 4),), ((),), ((0,),), ((0, 2),),
        ((3, 3), 0.5)],
    "linalg_matrix_power": [((3, 3), n) for n in (-1, 0, 1, 2, 3, 4, 7, 10, True, 2.0)] + [((2, 3, 3), 5),
        ((3, 4), 2), ((3,), 2), ((0, 0), 3)],
    "matrix_power": [((3, 3), 2), ((3, 3), 6), ((3, 3), -2), ((3, 4), 2)],
    "broadcast_tensors": [([(3, 1), (2,)],), ([(3,), (3,)],), ([(3,)],), ([(2,), (3,)],), ([(0, 1), (1, 2)],),
        ([(), (2, 1), (1, 3)],)],
    "meshgrid": [([(3,), (2,)],), ([(3,)],), ([(), (2,), (3,)],), ([(2, 2), (3,)],), ([(0,), (2,)],)],
    "cartesian_prod": [([(3,), (2,)],), ([(3,)],), ([(3,), (), (2,)],), ([(2,), (3,), (2,)],), ([(0,), (2,)],)],
    "contracted": [([(2, 3), (3, 4)], "ij,jk->ik", None), ([(2, 3), (3, 4)], "ij,jk", None),
        ([(2, 3), (3, 4)], "ij,jk->ki", None), ([(2, 3, 4), (2, 5, 4)], "bij,bkj->bik", None),
        ([(2, 3, 4, 2), (2, 5, 4, 2)], "bqhd,bkhd->bhqk", None), ([(3, 3)], "ii", None), ([(3, 3)], "ii->i", None),
        ([(2, 3)], "ij->ji", None), ([(2, 3)], "ij", None), ([(3,), (3,)], "i,i->i", None), ([(3,), (2,)], "i,j", None),
        ([(2, 1, 4), (3, 4)], "aij,ij->ai", None), ([(2, 3), (3, 4), (4, 5)], "ij,jk,kl->il", "auto"),
        ([(2, 3), (3, 4), (4, 5)], "ij,jk,kl->il", "left"), ([(0, 3), (3, 4)], "ij,jk->ik", None),
        ([(2, 3), (4, 4)], "ij,jk->ik", None), ([(2, 3)], "ij,jk->ik", None),
        ([(2, 3, 4), (4, 2)], "...i,ij->...j", None),
        ([(1, 3), (2, 3)], "ij,ij->j", None)],
}
CASES = [(name, call) for name, rows in CALLS.items() for call in rows]
DTYPES = [torch.float32, torch.float64, torch.complex64, torch.int64, torch.bool, torch.bfloat16]


def made(part, dtype, turned=False):
    """Tensors of the shapes in a call."""
    if type(part) is list and part and type(part[0]) is tuple:
        return [made(shape, dtype, turned) for shape in part]
    if turned and len(part) > 1:
        return made(part[::-1], dtype).permute(*range(len(part) - 1, -1, -1))
    return (torch.randn(part, dtype=torch.float64) * 3).to(dtype)


def arguments(name, call, dtype, turned=False):
    tensors = 2 if name in ("kron", "inner", "outer", "tensordot") else 1
    return [*(made(part, dtype, turned) for part in call[:tensors]), *call[tensors:]]


def told(f, args):
    """What a call gives, as values that can be compared."""
    try:
        found = f(*args)
    except Exception as refused:
        return type(refused), str(refused)
    row = found if isinstance(found, tuple) else (found,)
    return type(found), [(y.tolist(), y.dtype, y.stride(), y._is_view(), y.is_inference(), y._base is args[0],
        y.grad_fn and y.grad_fn.name()) for y in row]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("name", "call"), CASES, ids=str)
def test_they_give_and_refuse_what_their_definitions_do(name, call, dtype):
    quick = function(name)
    for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with mode():
            for turned in (False, True):
                args = arguments(name, call, dtype, turned)
                for _ in range(2):  # the second by what is remembered
                    assert told(quick, args) == told(quick.__wrapped__, args)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
@pytest.mark.parametrize(("name", "call"), CASES, ids=str)
def test_graphs_and_gradients_are_those_of_their_definitions(name, call, dtype):
    quick = function(name)
    args = arguments(name, call, dtype)
    leaves = [t for part in args for t in (part if type(part) is list else (part,)) if isinstance(t, torch.Tensor)]
    for t in leaves:
        t.requires_grad_()

    def nodes(node):
        return node and (node.name(), [nodes(edge[0]) for edge in node.next_functions])

    def slopes(f):
        try:
            found = f(*args)
        except Exception as refused:
            return str(refused)
        row = found if isinstance(found, tuple) else (found,)
        seeds = [torch.arange(y.numel()).to(y.dtype).reshape(y.shape) for y in row]
        return [nodes(y.grad_fn) for y in row], [g.tolist() for g in torch.autograd.grad(row, leaves, seeds)]

    for _ in range(2):
        assert slopes(quick) == slopes(quick.__wrapped__)


def test_what_watches_sees_them():
    x = torch.randn(3, 2, 4)
    torch.hstack((x, x))
    assert torch.equal(torch.vmap(lambda t: torch.hstack((t, t)))(x), torch.cat((x, x), 2))
    assert torch.equal(torch.vmap(torch.diff)(x), torch.diff(x))
    found = torch.func.grad(lambda t: torch.kron(t, t).sum())(torch.ones(2, 2))
    assert torch.equal(found, torch.full((2, 2), 8.0))
    with torch.profiler.profile() as profile:
        torch.diff(x)
    assert any("diff" in e.key for e in profile.key_averages())


def test_other_arguments_by_name_and_what_is_no_tensor():
    x = torch.arange(6.0).reshape(2, 3)
    for _ in range(2):
        assert torch.tensor_split(x, dim=1, indices_or_sections=3)[2].tolist() == [[2], [5]]
        assert torch.diff(input=x, dim=0).tolist() == [[3, 3, 3]]
        assert torch.diff(x, prepend=x[:, :1]).tolist() == [[0, 1, 1], [0, 1, 1]]
        assert torch.tensordot(x, x, dims=torch.tensor(2)).item() == 55
        assert torch.tensor_split(x, torch.tensor([1]), 1)[0].tolist() == [[0], [3]]
        out = torch.empty(0)
        assert torch.hstack((x, x), out=out) is out and out.shape == (2, 6)
        for wrong in (5, [x, 1], [], x):
            assert told(torch.vstack, (wrong,)) == told(function("vstack").__wrapped__, (wrong,))


def test_the_tensors_of_several_and_their_options():
    x, y = torch.arange(3), torch.arange(2)
    for _ in range(2):
        for indexing in ("ij", "xy", "no such", None):
            for tensors in ((x, y), ([x, y],), (x,), (y, x, y), (x, y.float()), ()):
                quick = function("meshgrid")
                assert (told(lambda *a, how=indexing, f=quick: f(*a, indexing=how), tensors)
                    == told(lambda *a, how=indexing, f=quick.__wrapped__: f(*a, indexing=how), tensors))
    assert torch.cartesian_prod(x, y).tolist() == torch.cartesian_prod([x, y]).tolist() != []
    with pytest.raises(RuntimeError, match="same dtype"):
        torch.cartesian_prod(x, y.float())


def test_parts_and_their_tensor_share_memory():
    x = torch.zeros(4, 4, requires_grad=True)
    y = x * 1
    for part in torch.hsplit(y, 2):
        part.add_(1)
    assert y.sum() == 16 and torch.autograd.grad(y.sum(), x)[0].sum() == 16


def test_none_of_them_has_a_node_of_its_own():
    rows = {name for name, op in TABLE.items() if type((getattr(op, "plan", None) or (0,))[0]) is tuple}
    assert {name for name in rows if not name.startswith("fft_")} == {*CALLS}
    assert all(TABLE[name].node is None and not TABLE[name].whole for name in rows)


TRANSFORMS = [("", ()), ("", (6,)), ("", (12, 0)), ("", (None, -1, "ortho")), ("", (0,)), ("", (5, 4)), ("2", ()),
    ("2", ((4, 12),)), ("2", (None, (0, 1), "forward")), ("n", ()), ("n", ((3,),)), ("n", (None, (-1,))),
    ("n", ((4, -1), (1, 0), "no such"))]


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128, torch.int64, torch.float16], ids=str)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_fourier_transforms(name, dtype):
    """Whose steps depend on the type as well."""
    for end, args in TRANSFORMS:
        quick = function(f"fft_{name}{end}")
        for shape in ((3, 8), (8,), (2, 3, 20), (2, 0), ()):
            x = (torch.randn(shape, dtype=torch.float64) * 3).to(dtype)
            for one in (x, x.movedim(0, -1) if x.ndim else x):
                for _ in range(2):
                    assert told(quick, (one, *args)) == told(quick.__wrapped__, (one, *args))
                if dtype.is_floating_point or dtype.is_complex:
                    one = one.detach().requires_grad_()
                    assert told(quick, (one, *args)) == told(quick.__wrapped__, (one, *args))

"""Control flow as functions: ``cond``, ``while_loop``, ``map``, ``scan``, ``associative_scan``, and gradients through
them.
"""

from __future__ import annotations

import importlib

import pytest

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def hops(torch):
    return importlib.import_module(f"{torch.__name__}._higher_order_ops")


def gradients(torch, outputs, inputs):
    return [g.tolist() for g in torch.autograd.grad(sum(o.sum() for o in outputs), inputs)]


@pytest.mark.parametrize(("number", "value", "gradient"), [(1.0, 4.0, 4.0), (-1.0, -6.0, -3.0)])
def test_cond(torch, number, value, gradient):
    x = torch.tensor([2.0], requires_grad=True)
    y = torch.cond(torch.tensor(number) > 0, lambda x: x * x, lambda x: -3 * x, (x,))
    assert y.tolist() == [value]
    assert gradients(torch, [y], [x]) == [[gradient]]


def test_cond_in_a_mapped_function(torch):
    def f(x):
        return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: -x, (x,))

    assert torch.vmap(f)(torch.tensor([[1.0, 2.0], [-1.0, -2.0]])).tolist() == [[2, 4], [1, 2]]


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (lambda torch: (torch.tensor([True, False]), abs, abs, (torch.ones(1),)),
            "Expected pred to be bool or single-element tensor"),
        (lambda torch: ("yes", abs, abs, (torch.ones(1),)), "Expected pred to be bool or tensor"),
        (lambda torch: (torch.tensor(True), abs, abs, torch.ones(1)),
            "Expect operands to be a tuple of possibly nested"),
    ],
)
def test_cond_refuses(torch, args, text):
    with pytest.raises(RuntimeError, match=text):
        torch.cond(*args(torch))


def test_while_loop(torch):
    i, x = torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.ones(2)))
    assert i.item() == 3 and x.tolist() == [8, 8]
    same = torch.while_loop(lambda i, x: i < 0, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.ones(2)))
    assert [t.tolist() for t in same] == [0, [1, 1]]
    with pytest.raises(RuntimeError, match="Expect cond_fn and body_fn to be callable"):
        torch.while_loop(3, lambda i: (i,), (torch.tensor(0),))


def test_map(torch, hops):
    x, w = torch.arange(6.0).view(2, 3).requires_grad_(), torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y, total = hops.map(lambda row, w: (row * w, row.sum()), x, w)
    assert y.tolist() == [[0, 2, 6], [3, 8, 15]] and total.tolist() == [3, 12]
    assert gradients(torch, [y, total], [x, w]) == [[[2, 3, 4], [2, 3, 4]], [3, 5, 7]]
    tree = hops.map(lambda d: {"sum": d["x"] + d["y"][0]}, {"x": torch.ones(2), "y": [torch.arange(2.0)]})
    assert tree["sum"].tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="Leading dimensions of mapped xs must be consistent"):
        hops.map(lambda d: d[0], (torch.ones(2), torch.ones(3)))
    with pytest.raises(RuntimeError, match="Leading dimensions of mapped xs cannot be 0"):
        hops.map(lambda x: x + 1, torch.ones(0))


def test_scan(torch, hops):
    start, x = torch.ones(2, requires_grad=True), torch.arange(6.0).view(3, 2).requires_grad_()

    def f(carry, row):
        return carry + row, carry * row

    last, rows = hops.scan(f, start, x)
    assert last.tolist() == [7, 10] and rows.tolist() == [[0, 1], [2, 6], [12, 25]]
    assert gradients(torch, [last, rows], [start, x]) == [[7, 10], [[8, 10], [6, 8], [4, 6]]]


@pytest.mark.parametrize(
    ("options", "last", "rows"),
    [(dict(reverse=True), [6, 9], [[0, 8], [8, 15], [0, 0]]), (dict(dim=1), [3, 5, 7], None)],
)
def test_scan_in_other_orders(torch, hops, options, last, rows):
    x = torch.arange(6.0).view(3, 2)
    if options.get("dim"):
        x = torch.arange(6.0).view(2, 3).T.contiguous()
        last, rows = [3, 5, 7], [[0, 0], [0, 4], [0, 10]]
    found = hops.scan(lambda c, r: (c + r, c * r), torch.zeros(x.shape[1 - options.get("dim", 0)]), x, **options)
    assert [t.tolist() for t in found] == [last, rows]


def test_scan_refuses(torch, hops):
    with pytest.raises(RuntimeError, match="Combine_fn must be a callable"):
        hops.scan(3, torch.zeros(2), torch.zeros(2, 2))
    with pytest.raises(RuntimeError, match="All init leaves must be a Tensor"):
        hops.scan(lambda c, x: (c, x), 3.0, torch.zeros(2, 2))
    with pytest.raises(RuntimeError, match="scan dimension > 0"):
        hops.scan(lambda c, x: (c, x), torch.zeros(2), torch.zeros(0, 2))
    start = torch.zeros(2)
    assert hops.scan(lambda c, x: (c, x), start, []) == (start, [])


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_associative_scan(torch, hops, n):
    x = torch.arange(1.0, 2 * n + 1).view(n, 2)

    def product(x, **options):
        return hops.associative_scan(lambda a, b: a * b, x, 0, combine_mode="generic", **options)

    assert torch.equal(product(x), x.cumprod(0))
    assert torch.equal(product(x, reverse=True), x.flip(0).cumprod(0).flip(0))


def test_gradients_of_an_associative_scan(torch, hops):
    a, b = torch.full((4,), 2.0, requires_grad=True), torch.ones(4, requires_grad=True)

    def after(f, g):  # of linear functions a x + b
        return f[0] * g[0], f[1] * g[0] + g[1]

    found = hops.associative_scan(after, (a, b), 0, combine_mode="generic")
    assert [t.tolist() for t in found] == [[2, 4, 8, 16], [1, 3, 7, 15]]
    assert gradients(torch, found[1:], [b]) == [[15, 7, 3, 1]]
    assert torch.equal(hops.associative_scan(after, (a, b), -1, combine_mode="generic")[1], found[1])


def test_associative_scan_refuses(torch, hops):
    with pytest.raises(ValueError, match="Combine_fn must be a callable"):
        hops.associative_scan(3, torch.ones(2), 0, combine_mode="generic")
    with pytest.raises(ValueError, match="Combine_mode must either 'pointwise' or 'generic'"):
        hops.associative_scan(lambda a, b: a, torch.ones(2), 0, combine_mode="other")
    with pytest.raises(ValueError, match="combine_mode='pointwise'"):
        hops.associative_scan(lambda a, b: a, torch.ones(2), 0)
    with pytest.raises(ValueError, match="scan dimension > 0"):
        hops.associative_scan(lambda a, b: a, torch.ones(0, 2), 0, combine_mode="generic")

"""Sparse gradients that arrive at operators in place of leaves: what stays sparse, what gets dense, what is refused."""

from __future__ import annotations

import pytest


def _numbers(torch, *shape):
    count = 1
    for n in shape:
        count *= n
    return (torch.arange(count, dtype=torch.float64) / 7 + 0.3).reshape(shape)


def _ends(torch):
    """What leaves a sparse gradient for a ``(4, 2)`` matrix: sparse by rows (0) and by elements (1). A 0 as index
    occurs twice.
    """
    rows, places = torch.tensor([0, 1, 0]), torch.tensor([[0, 1], [1, 0], [0, 0]])
    return (
        (lambda y, **sparse: torch.nn.functional.embedding(rows, y, **sparse), "sparse"),
        (lambda y, **sparse: torch.gather(y, 0, places, **sparse), "sparse_grad"),
    )


# A function of the matrix x, in terms of c (a constant like x) and n (numbers of a shape): the layouts of its gradient
# from both ends (None: refused)
FUNCTIONS = {
    "x.mm(n(2, 2))": (None, "dense"), "n(4, 4).mm(x)": (None, "dense"), "x @ n(2, 2)": (None, "dense"),
    "torch.addmm(x, n(4, 3), n(3, 2))": ("sparse", "sparse"), "torch.addmm(c, x, n(2, 2), alpha=2)": (None, "dense"),
    "torch.addmm(c, n(4, 4), x)": (None, "dense"), "torch.addmm(x[0], n(4, 3), n(3, 2))": ("dense", None),
    "F.linear(x, n(2, 2), n(2))": (None, "dense"), "F.linear(n(4, 4), x.t())": (None, "dense"),
    "F.linear(c, n(2, 2), x[0])": ("dense", None), "x.t().t()": (None, "sparse"),
    "x.transpose(0, 1).transpose(1, 0)": (None, "sparse"), "x.permute(1, 0).permute(1, 0)": (None, "sparse"),
    "x.split(2, 1)[0]": ("sparse", "sparse"), "x.chunk(1)[0]": ("sparse", "sparse"), "x[0] * c": ("dense", None),
    "x[0] + c": ("dense", None), "x[0].expand(4, 2)": ("dense", None), "x * c": ("sparse", "sparse"),
    "x * x": ("sparse", "sparse"), "x / 2": ("sparse", "sparse"), "c - 3 * x": ("sparse", "sparse"),
    "x.clone() + x.exp()": ("sparse", "sparse"),
}


@pytest.mark.parametrize("text, end",
    [(text, end) for text, row in FUNCTIONS.items() for end in (0, 1) if row[end] is not None])
def test_gradients_are_those_of_dense_ones_in_their_layout(torch, text, end):
    layout = FUNCTIONS[text][end]
    look, flag = _ends(torch)[end]
    found = []
    for wanted in (True, False):
        x = _numbers(torch, 4, 2).requires_grad_()
        names = {"torch": torch, "F": torch.nn.functional, "x": x, "c": _numbers(torch, 4, 2) + 1,
            "n": lambda *shape: _numbers(torch, *shape)}
        y = look(eval(text, names), **{flag: wanted})
        (y * _numbers(torch, *y.shape)).sum().backward()
        found.append(x.grad)
    assert found[0].is_sparse == (layout == "sparse")
    assert found[0].shape == found[1].shape
    assert torch.allclose(found[0].to_dense(), found[1])


def test_a_gradient_in_two_parts_stores_no_place_twice_as_often(torch):
    x = _numbers(torch, 4, 2).requires_grad_()
    y = torch.nn.functional.embedding(torch.tensor([0, 1, 0]), x * x, sparse=True)
    (y * _numbers(torch, 3, 2)).sum().backward()
    assert x.grad._nnz() == 3 and not x.grad.is_coalesced()


def test_a_stack_takes_slices_of_a_sparse_gradient(torch):
    x = _numbers(torch, 2).requires_grad_()
    y = torch.nn.functional.embedding(torch.tensor([0, 1, 0]), torch.stack([x, 2 * x]), sparse=True)
    y.sum().backward()
    assert x.grad.layout == torch.strided and x.grad.tolist() == [4.0, 4.0]


@pytest.mark.parametrize(
    "text, match, end",
    [
        ("x.mm(n(2, 2))", "addmm: matrices expected, got 1D tensor", 0),
        ("n(4, 4).mm(x)", "sparse transpose: transposed dimensions must be sparse Got sparse_dim: 1, d0: 0, d1: 1", 0),
        ("x.t().t()",
            "expects a tensor with <= 2 sparse and 0 dense dimensions, but got 1 sparse and 1 dense dimensions", 0),
        ("x.transpose(0, 1).transpose(0, 1)", "transposed dimensions must be sparse", 0),
        ("x.permute(1, 0).permute(1, 0)", "transpositions between sparse and dense dimensions are not allowed", 0),
        ("x.view(2, 4).view(4, 2)", "reshape is not implemented for sparse tensors", 0),
        ("x.view(2, 4).view(4, 2)", "reshape is not implemented for sparse tensors", 1),
        ("torch.stack([x, x]).sum(0)", "expand is unsupported for Sparse tensors", 0),
        ("torch.stack([x, x]).mean(0)", "expand is unsupported for Sparse tensors", 1),
        ("torch.cat([x, x]).chunk(2)[0]", "Concatenating sparse tensors, but a dense tensor was found at position 1",
            0),
        ("torch.cat([x, x]).chunk(2)[1]", "Could not run 'aten::_values' with arguments from the 'CPU' backend", 0),
        ("x / n(4, 2)", r"Sparse division requires a scalar or zero-dim dense tensor divisor \(got shape \[4, 2\] for "
            r"divisor\)", 0),
        ("torch.stack([x, x])[0]", "Could not run 'aten::select_backward' with arguments from the 'SparseCPU' backend",
            0),
        ("torch.cat([x, x])[:4]", "Could not run 'aten::as_strided' with arguments from the 'SparseCPU' backend", 1),
        ("torch.cat([x, x])", "Could not run 'aten::as_strided' with arguments from the 'SparseCPU' backend", 0),
        ("x.index_select(0, torch.arange(4))",
            "Could not run 'aten::index_add_' with arguments from the 'SparseCPU' backend", 0),
        ("x[0] * n(4, 2)", "Could not run 'aten::view' with arguments from the 'SparseCPU' backend", 1),
    ],
)
def test_what_cannot_take_a_sparse_gradient_says_so(torch, text, match, end):
    look, flag = _ends(torch)[end]
    x = _numbers(torch, 4, 2).requires_grad_()
    y = look(eval(text, {"torch": torch, "x": x, "n": lambda *shape: _numbers(torch, *shape)}), **{flag: True})
    with pytest.raises(NotImplementedError if "aten::" in match else RuntimeError, match=match):
        y.sum().backward()
    assert x.grad is None


def test_a_sparse_gradient_is_cast_to_the_type_of_its_tensor(torch):
    x = torch.ones(4, 2, requires_grad=True)
    y = torch.nn.functional.embedding(torch.tensor([0, 1, 0]), x + _numbers(torch, 4, 2), sparse=True)
    (y * _numbers(torch, 3, 2)).sum().backward()
    assert x.grad.is_sparse and x.grad.dtype == torch.float32


def test_what_a_custom_function_raises_over_a_sparse_gradient_is_left(torch):
    class Mine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert g.is_sparse
            raise TypeError("of my own")

    weight = torch.ones(3, 2, requires_grad=True)
    rows = torch.nn.functional.embedding(torch.tensor([0, 2]), Mine.apply(weight), sparse=True)
    with pytest.raises(TypeError, match="of my own"):
        rows.sum().backward()


@pytest.mark.parametrize(("name", "dims"),
    [("t_", ()), ("transpose_", (0, 1)), ("swapdims_", (0, -1)), ("swapaxes_", (1, 0))])
def test_turned_in_place(torch, name, dims):
    dense = torch.tensor([[0.0, 2.0, 3.0], [1.0, 0.0, 0.0]], requires_grad=True)
    s = dense.detach().to_sparse()
    assert (getattr(s, name)(*dims) is s and s._version == 1 and s.shape == (3, 2)
        and s.to_dense().tolist() == [[0, 1], [2, 0], [3, 0]])
    s = dense.to_sparse() * 1
    getattr(s, name)(*dims)
    (s.to_dense() * torch.arange(6.0).view(3, 2)).sum().backward()
    assert dense.grad.tolist() == [[0, 2, 4], [1, 0, 0]]
    leaf = dense.detach().to_sparse().requires_grad_()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        getattr(leaf, name)(*dims)


def test_turned(torch):
    leaf = torch.tensor([[0.0, 2.0, 3.0], [1.0, 0.0, 0.0]]).to_sparse().requires_grad_()
    for turned in (leaf.t(), leaf.transpose(0, 1), leaf.mT, leaf.permute(1, 0)):
        leaf.grad = None
        torch.sparse.sum(turned * 2).backward()
        assert leaf.grad.is_sparse and leaf.grad.to_dense().tolist() == [[0, 2, 2], [2, 0, 0]]


def test_what_wants_strides(torch):
    s = torch.eye(2).to_sparse()
    for run, name in (
        (lambda: s.squeeze_(), "as_strided_"), (lambda: s.unsqueeze_(0), "as_strided_"),
        (lambda: s.squeeze(), "as_strided"), (lambda: s.narrow(0, 0, 1), "as_strided"),
        (lambda: s.split(1), "as_strided"), (lambda: s.diagonal(), "as_strided"), (lambda: s.view(4), "view"),
        (lambda: s.resize_(2, 2), "resize_"), (lambda: s.is_set_to(s), "is_set_to"),
        (lambda: s.set_(s), "set_.source_Tensor"),
    ):
        with pytest.raises(NotImplementedError,
                match=f"Could not run 'aten::{name}' with arguments from the 'SparseCPU' backend"):
            run()

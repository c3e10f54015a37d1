"""An operator on a nested tensor is the operator on each of its parts: the same numbers, and the same gradients of the
parts.
"""

from __future__ import annotations

import pytest

SIZES = (2, 4, 1)


def parts_of(torch, width=4, dtype=None, sizes=SIZES):
    torch.manual_seed(3)
    return [torch.randn(n, width, dtype=dtype or torch.float64, requires_grad=True) for n in sizes]


def check(torch, parts, nested, dense, layout, more=(), gradients=True):
    """``nested`` of the nested tensor gives the parts that ``dense`` gives of each, or a tensor with a row for each;
    gradients agree.
    """
    t = torch.nested.as_nested_tensor(parts, layout=layout)
    found = nested(t)
    wanted = [dense(p) for p in parts]
    rows = list(found.unbind())
    assert len(rows) == len(wanted)
    for a, b in zip(rows, wanted):
        torch.testing.assert_close(a, b)
    if not wanted[0].requires_grad or not gradients:
        return
    weights = [torch.randn_like(w) for w in wanted]
    inputs = [*parts, *more]
    theirs = torch.autograd.grad(sum((w * k).sum() for w, k in zip(wanted, weights)), inputs, allow_unused=True)
    ours = torch.autograd.grad(sum((r * k).sum() for r, k in zip(rows, weights)), inputs, allow_unused=True)
    for a, b in zip(ours, theirs):
        torch.testing.assert_close(a, b)


# of any shape: pointwise, on the last dimension, on the ragged one; the name, the same on a nested tensor and on a part
BOTH = {
    "mul": lambda torch, x: x * 3, "add": lambda torch, x: x + x, "sub": lambda torch, x: x - 1.5,
    "div": lambda torch, x: x / 3, "neg": lambda torch, x: -x, "abs": lambda torch, x: abs(x),
    "relu": lambda torch, x: torch.relu(x), "gelu": lambda torch, x: torch.nn.functional.gelu(x),
    "silu": lambda torch, x: torch.nn.functional.silu(x), "tanh": lambda torch, x: x.tanh(),
    "sin": lambda torch, x: x.sin(), "cos": lambda torch, x: torch.cos(x), "square": lambda torch, x: x * x,
    "to": lambda torch, x: x.to(torch.float32), "clone": lambda torch, x: x.clone(),
    "masked_fill": lambda torch, x: x.masked_fill(x > 0, 2.0), "softmax": lambda torch, x: torch.softmax(x, -1),
    "detach": lambda torch, x: x.detach() * 2, "gt": lambda torch, x: x > 0,
    "threshold": lambda torch, x: torch.threshold(x, 0.1, 2.0),
    "dropout in eval": lambda torch, x: torch.nn.functional.dropout(x, 0.5, False),
    "ReLU": lambda torch, x: torch.nn.ReLU()(x), "sum keepdim": lambda torch, x: x.sum(-1, keepdim=True),
    "logical_not": lambda torch, x: x.logical_not(),
}
JAGGED = {
    "exp": lambda torch, x: x.exp(), "log1p": lambda torch, x: x.abs().log1p(), "sigmoid": lambda torch, x: x.sigmoid(),
    "pow": lambda torch, x: x**2, "rsub": lambda torch, x: 1 - x, "rdiv": lambda torch, x: 1 / x,
    "remainder": lambda torch, x: x % 2, "clamp": lambda torch, x: x.clamp(-0.5, 0.5),
    "maximum": lambda torch, x: torch.maximum(x, 2 * x), "where": lambda torch, x: torch.where(x > 0, x, 0.5),
    "eq": lambda torch, x: x == x * 1, "lerp": lambda torch, x: torch.lerp(x, x * 2, 0.3),
    "isnan": lambda torch, x: x.isnan(), "square": lambda torch, x: x.square(),
    "log_softmax": lambda torch, x: torch.log_softmax(x, -1), "sum": lambda torch, x: x.sum(-1),
    "mean": lambda torch, x: x.mean(-1), "mean keepdim": lambda torch, x: x.mean(-1, keepdim=True),
    "amax": lambda torch, x: x.amax(-1), "amin": lambda torch, x: x.amin(-1), "prod": lambda torch, x: x.prod(-1),
    "max": lambda torch, x: x.max(-1).values, "min": lambda torch, x: x.min(-1).values,
    "argmax": lambda torch, x: x.argmax(-1), "all": lambda torch, x: (x > -9).all(-1),
    "any": lambda torch, x: (x > 1).any(-1), "zeros_like": lambda torch, x: torch.zeros_like(x),
    "ones_like": lambda torch, x: torch.ones_like(x), "full_like": lambda torch, x: torch.full_like(x, 3.0),
    "cat": lambda torch, x: torch.cat([x, x * 2], -1), "stack": lambda torch, x: torch.stack([x, x * 2], -1),
    "chunk": lambda torch, x: x.chunk(2, -1)[1], "split": lambda torch, x: x.split(3, -1)[1],
    "split_with_sizes": lambda torch, x: x.split([1, 3], -1)[1], "unsqueeze": lambda torch, x: x.unsqueeze(-1) * 2,
    "squeeze": lambda torch, x: x.unsqueeze(-1).squeeze(-1), "unflatten": lambda torch, x: x.unflatten(-1, [2, 2]) * 2,
    "flatten": lambda torch, x: x.unflatten(-1, [2, 2]).flatten(-2, -1), "slice": lambda torch, x: x[..., 1:3] * 2,
    "expand": lambda torch, x: x.sum(-1, keepdim=True).expand_as(x) * 2, "select": lambda torch, x: x.select(-1, 1) * 2,
    "transposed": lambda torch, x: x.transpose(-1, -2) * 2,
    "transposed twice": lambda torch, x: (x.transpose(-1, -2) + 1).transpose(-1, -2),
    "transposed sum": lambda torch, x: x.transpose(-1, -2).sum(-2), "frexp": lambda torch, x: torch.frexp(x)[0],
    "rms_norm": lambda torch, x: torch.nn.functional.rms_norm(x, (4,)),
    "layer_norm": lambda torch, x: torch.nn.functional.layer_norm(x, (4,)), "index": lambda torch, x: x[..., 0],
    "ellipsis": lambda torch, x: x[...] * 2,
}


# whose gradients PyTorch does not have (or ends the process): those of wengert are checked
NO_GRADIENT = {
    ("tanh", "strided"), ("threshold", "strided"), ("sum keepdim", "jagged"), *((n, "jagged") for n in (
        "maximum", "log_softmax", "sum", "prod", "split", "split_with_sizes", "slice", "expand", "select", "index",
        "transposed sum")),
}


def has_gradient(torch, name, layout):
    return torch.__name__ == "wengert" or (name, layout) not in NO_GRADIENT


@pytest.mark.parametrize("layout", ["strided", "jagged"])
@pytest.mark.parametrize("name", BOTH)
def test_operators_of_both_layouts(torch, name, layout):
    run, asked = BOTH[name], has_gradient(torch, name, layout)
    check(torch, parts_of(torch), lambda t: run(torch, t), lambda p: run(torch, p), getattr(torch, layout),
        gradients=asked)


@pytest.mark.parametrize("name", JAGGED)
def test_operators_of_jagged_tensors(torch, name):
    run, asked = JAGGED[name], has_gradient(torch, name, "jagged")
    check(torch, parts_of(torch), lambda t: run(torch, t), lambda p: run(torch, p), torch.jagged, gradients=asked)


# over the ragged dimension: a dense result, a row for each part
OVER_PARTS = {
    "sum": lambda torch, x, dim: x.sum(dim), "sum keepdim": lambda torch, x, dim: x.sum(dim, keepdim=True),
    "mean": lambda torch, x, dim: x.mean(dim), "mean keepdim": lambda torch, x, dim: x.mean(dim, keepdim=True),
    "amax": lambda torch, x, dim: x.amax(dim), "amin": lambda torch, x, dim: x.amin(dim),
    "prod": lambda torch, x, dim: x.prod(dim), "max": lambda torch, x, dim: x.max(dim)[0],
    "argmin": lambda torch, x, dim: x.argmin(dim), "all": lambda torch, x, dim: (x > 0).all(dim),
    "any": lambda torch, x, dim: (x > 0).any(dim),
}


@pytest.mark.parametrize("name", OVER_PARTS)
def test_reductions_of_each_part(torch, name):
    run = OVER_PARTS[name]
    check(torch, parts_of(torch), lambda t: run(torch, t, 1), lambda p: run(torch, p, 0), torch.jagged)


def test_sums_of_transposed_parts(torch):
    check(torch, parts_of(torch), lambda t: t.transpose(1, 2).sum(2), lambda p: p.sum(0), torch.jagged)


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "max", "min", "prod", "all", "argmax"])
def test_reductions_of_everything(torch, name):
    parts = parts_of(torch)
    t = torch.nested.as_nested_tensor(parts, layout=torch.jagged)
    found, wanted = (getattr(x, name)() for x in (t, torch.cat(parts)))
    torch.testing.assert_close(found, wanted)
    if wanted.requires_grad:
        for a, b in zip(torch.autograd.grad(found, parts), torch.autograd.grad(wanted, parts)):
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize("keepdim", [False, True])
def test_sums_over_batch_and_ragged_dimension(torch, keepdim):
    parts = parts_of(torch)
    t = torch.nested.as_nested_tensor(parts, layout=torch.jagged)
    torch.testing.assert_close(t.sum((0, 1), keepdim=keepdim), torch.cat(parts)[None].sum((0, 1), keepdim=keepdim))


def test_softmax_of_the_ragged_dimension(torch):
    check(torch, parts_of(torch), lambda t: t.softmax(1), lambda p: p.softmax(0), torch.jagged)


def test_layer_norm_of_the_ragged_dimension(torch):
    norm = torch.nn.functional.layer_norm
    check(torch, parts_of(torch), lambda t: norm(t, (t.shape[1], 4)), lambda p: norm(p, p.shape), torch.jagged)


@pytest.mark.parametrize("layout", ["strided", "jagged"])
def test_linear_layers(torch, layout):
    layer = torch.nn.Linear(4, 3, dtype=torch.float64)
    check(torch, parts_of(torch), layer, layer, getattr(torch, layout), layer.parameters())


@pytest.mark.parametrize("layout", ["strided", "jagged"])
def test_layer_norms(torch, layout):
    layer = torch.nn.LayerNorm(4, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.arange(4.0))
    check(torch, parts_of(torch), layer, layer, getattr(torch, layout), layer.parameters())


def test_matrix_products(torch):
    w = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    check(torch, parts_of(torch), lambda t: t @ w, lambda p: p @ w, torch.jagged, (w,))
    check(torch, parts_of(torch), lambda t: t.transpose(1, 2) @ t, lambda p: p.T @ p, torch.jagged)
    check(torch, parts_of(torch), lambda t: t.transpose(1, 2) @ t, lambda p: p.T @ p, torch.strided)
    check(torch, parts_of(torch), lambda t: t @ t.transpose(1, 2), lambda p: p @ p.T, torch.strided)


@pytest.mark.parametrize("layout", ["strided", "jagged"])
def test_batched_products(torch, layout):
    parts = parts_of(torch)
    w = torch.randn(3, 4, 2, dtype=torch.float64, requires_grad=True)
    t = torch.nested.as_nested_tensor(parts, layout=getattr(torch, layout))
    rows = torch.bmm(t, w).unbind()
    for r, p, m in zip(rows, parts, w):
        torch.testing.assert_close(r, p @ m)
    (g,) = torch.autograd.grad(sum(r.sum() for r in rows), w)
    torch.testing.assert_close(g, torch.stack([p.sum(0)[:, None].expand(4, 2) for p in parts]).detach())


@pytest.mark.parametrize("layout", ["strided", "jagged"])
def test_embeddings(torch, layout):
    layer = torch.nn.Embedding(7, 3, dtype=torch.float64)
    ids = [torch.tensor([1, 2]), torch.tensor([6, 0, 2])]
    t = torch.nested.nested_tensor(ids, layout=getattr(torch, layout))
    rows = layer(t).unbind()
    for r, i in zip(rows, ids):
        torch.testing.assert_close(r, layer(i))
    (g,) = torch.autograd.grad(sum((r * r).sum() for r in rows), layer.weight)
    (wanted,) = torch.autograd.grad(sum((layer(i) ** 2).sum() for i in ids), layer.weight)
    torch.testing.assert_close(g, wanted)


@pytest.mark.parametrize("shape", [(), (1,), (4,), (1, 4), (1, 1, 4), (3, 1, 1), (3, 1, 4), (3, 4, 1), (3, 4, 4)])
def test_dense_operands_are_broadcast(torch, shape):
    parts = parts_of(torch)
    d = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    t = torch.nested.as_nested_tensor(parts, layout=torch.jagged)
    full = d.expand(3, 4, 4)
    wanted = [p * full[i, : len(p)] for i, p in enumerate(parts)]
    for found in (t * d, d * t):
        for a, b in zip(found.unbind(), wanted):
            torch.testing.assert_close(a, b)
    inputs = [d, *parts]
    ours = torch.autograd.grad(sum((r * r).sum() for r in (t * d).unbind()), inputs)
    for a, b in zip(ours, torch.autograd.grad(sum((r * r).sum() for r in wanted), inputs)):
        torch.testing.assert_close(a, b)


def test_operands_that_do_not_fit(torch):
    a, b = (torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)], layout=torch.jagged) for _ in range(2))
    text = r"cannot call binary pointwise function add.Tensor with inputs of shapes \(2, j\d+, 4\) and \(2, j\d+, 4\)"
    with pytest.raises(RuntimeError, match=text):
        a + b
    with pytest.raises(RuntimeError, match="must match the existing size"):
        a + torch.ones(2, 2, 4)
    with pytest.raises(NotImplementedError, match="larger dim"):
        a + torch.ones(1, 2, 3, 4)
    a, b = (torch.nested.nested_tensor([torch.ones(n, 4), torch.ones(3, 4)]) for n in (1, 2))
    with pytest.raises(RuntimeError, match="add does not support broadcasting when given a NestedTensor"):
        a + b
    with pytest.raises(RuntimeError, match="Expected both self and other to be nested"):
        a + torch.ones(4)


WRONG = {
    "sum batch": (lambda torch, t: t.sum(0), RuntimeError,
        "reducing along the batch dimension but not the ragged dimension is not supported"),
    "sum ragged and inner": (lambda torch, t: t.sum((1, 2)), RuntimeError,
        "reducing along a ragged and non-batch dimension is not supported"),
    "softmax batch": (lambda torch, t: t.softmax(0), RuntimeError, "reducing across the batch dimension"),
    "transposed softmax": (lambda torch, t: t.transpose(1, 2).softmax(-1), RuntimeError, "ragged_idx > 1"),
    "transpose batch": (lambda torch, t: t.transpose(0, 1), ValueError,
        "Transpose is not supported on the batch dimension for jagged NT"),
    "permute batch": (lambda torch, t: t.permute(1, 0, 2), ValueError,
        "Permute is not supported on the batch dimension for jagged NT"),
    "cat batch": (lambda torch, t: torch.cat([t, t]), RuntimeError,
        r"cat\(\): not supported for NestedTensor on dim=0"),
    "cat ragged": (lambda torch, t: torch.cat([t, t], 1), RuntimeError,
        r"cat\(\): not supported for NestedTensor on ragged dim"),
    "split batch": (lambda torch, t: t.split(1), RuntimeError, r"split\(\): not supported for NestedTensor on dim=0"),
    "chunk ragged": (lambda torch, t: t.chunk(2, 1), RuntimeError,
        r"chunk\(\): not supported for NestedTensor on ragged dim"),
    "select ragged": (lambda torch, t: t.select(1, 0), RuntimeError,
        r"select\(\): not supported for NestedTensor on ragged dim"),
    "slice batch": (lambda torch, t: t[0:1], RuntimeError, r"slice\(\): not supported for NestedTensor on dim=0"),
    "unsqueeze batch": (lambda torch, t: t.unsqueeze(0), RuntimeError,
        r"unsqueeze\(\): not supported for NestedTensor on dim=0"),
    "flatten": (lambda torch, t: t.flatten(1, 2), RuntimeError,
        r"flatten\(\): not supported for NestedTensor on ragged dim"),
    "view": (lambda torch, t: t.view(2, -1), RuntimeError, r"view\(\): cannot view shape \(3, j\d+, 4\) as \[2, -1\]"),
    "view size": (lambda torch, t: t.view(3, -1, 5), RuntimeError, "is invalid for input of size 28"),
    "product of parts": (lambda torch, t: t @ t.transpose(1, 2), RuntimeError,
        "not supported between inputs of shapes"),
    "linear size": (lambda torch, t: torch.nn.functional.linear(t, torch.ones(5, 5, dtype=t.dtype)), RuntimeError,
        "shapes cannot be multiplied"),
    "unbind": (lambda torch, t: t.unbind(1), RuntimeError, "only supported for NestedTensor on dim=0"),
    "index": (lambda torch, t: t[9], IndexError, "out of range"),
    "dim": (lambda torch, t: t.size(5), IndexError, "Dimension out of range"),
    "gather": (lambda torch, t: t.index_select(0, torch.tensor([0])), NotImplementedError, "aten.index_select.default"),
    "bool": (lambda torch, t: bool(t), RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"),
    "item": (lambda torch, t: t.item(), RuntimeError, "cannot be converted to Scalar"),
    "numpy": (lambda torch, t: t.numpy(), RuntimeError, "numpy"),
    "sort": (lambda torch, t: t.sort(1), NotImplementedError, "aten.sort"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(torch, name):
    run, error, text = WRONG[name]
    t = torch.nested.as_nested_tensor(parts_of(torch), layout=torch.jagged)
    with pytest.raises(error, match=text):
        run(torch, t)


@pytest.mark.parametrize("layout", ["strided", "jagged"])
def test_reshapes_keep_the_batch(torch, layout):
    check(torch, parts_of(torch), lambda t: t.reshape(3, -1, 2, 2) * 2, lambda p: p.reshape(-1, 2, 2) * 2,
        getattr(torch, layout))
    check(torch, parts_of(torch), lambda t: t.view(3, -1, 4), lambda p: p, getattr(torch, layout))


def test_batches_are_cut_into_chunks(torch):
    parts = parts_of(torch)
    first, second = torch.nested.as_nested_tensor(parts, layout=torch.jagged).chunk(2)
    assert [len(p) for p in (*first.unbind(), *second.unbind())] == [2, 4, 1]
    assert second.offsets().tolist() == [0, 1]
    (g,) = torch.autograd.grad((second.unbind()[0] * 2).sum(), parts[2])
    assert (g == 2).all()


@pytest.mark.parametrize("layout", ["strided", "jagged"])
def test_writes_in_place(torch, layout):
    t = torch.nested.nested_tensor([[1.0, 2.0], [3.0]], layout=getattr(torch, layout))
    assert t.add_(1) is t
    t.mul_(2).copy_(t + t)
    assert [p.tolist() for p in t.unbind()] == [[8.0, 12.0], [16.0]]
    t.relu_().fill_(3.0)
    assert [p.tolist() for p in t.unbind()] == [[3.0, 3.0], [3.0]]
    t.zero_()
    assert [p.tolist() for p in t.unbind()] == [[0.0, 0.0], [0.0]]


@pytest.mark.parametrize("layout", ["strided", "jagged"])
def test_writes_in_place_have_gradients(torch, layout):
    parts = parts_of(torch)
    t = torch.nested.as_nested_tensor(parts, layout=getattr(torch, layout)) * 1
    t.mul_(3)
    assert t.grad_fn.name() == "MulBackward0"
    for g in torch.autograd.grad(sum(p.sum() for p in t.unbind()), parts):
        assert (g == 3).all()


@pytest.mark.parametrize("heads", [1, 2])
def test_attention_is_that_of_each_part(torch, heads):
    parts = parts_of(torch, 8)
    attend = torch.nn.functional.scaled_dot_product_attention

    def split(x, start):
        return x.unflatten(-1, [heads, 8 // heads]).transpose(start, start + 1)

    def nested(t):
        q, k, v = (split(x, 1) for x in (t * 2, t, t + 1))
        return attend(q, k, v).transpose(1, 2).flatten(-2)

    def dense(p):
        q, k, v = (split(x, 0)[None] for x in (p * 2, p, p + 1))
        return attend(q, k, v)[0].transpose(0, 1).flatten(-2)

    check(torch, parts, nested, dense, torch.jagged)


def test_attention_of_other_lengths(torch):
    torch.manual_seed(0)
    queries, keys = ([torch.randn(n, 2, 8, dtype=torch.float64) for n in row] for row in ((2, 3), (4, 1)))
    q, k = (torch.nested.as_nested_tensor(row, layout=torch.jagged).transpose(1, 2) for row in (queries, keys))
    attend = torch.nn.functional.scaled_dot_product_attention
    for a, x, y in zip(attend(q, k, k).unbind(), queries, keys):
        x, y = x.transpose(0, 1), y.transpose(0, 1)
        torch.testing.assert_close(a, attend(x, y, y))


def test_attention_takes_nested_tensors_alone_and_no_mask(torch):
    t = torch.nested.as_nested_tensor(parts_of(torch), layout=torch.jagged).unflatten(-1, [2, 2]).transpose(1, 2)
    attend = torch.nn.functional.scaled_dot_product_attention
    with pytest.raises(ValueError, match="Masks are not yet supported"):
        attend(t, t, t, attn_mask=torch.ones(3, 3, dtype=torch.bool))
    with pytest.raises(ValueError, match="Expected query, key, and value to be nested tensors"):
        attend(t, t, torch.ones(3, 2, 4, 2, dtype=t.dtype))

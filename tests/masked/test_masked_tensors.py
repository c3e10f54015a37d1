"""``torch.masked.MaskedTensor``: what operators and gradients do with elements that are not there."""

from __future__ import annotations

import importlib
import warnings

import pytest

pytestmark = pytest.mark.filterwarnings("ignore")
DATA = [[0.5, 1.0, 2.0], [3.0, 4.0, 5.0]]
MASK = [[True, False, False], [True, True, False]]
NAN, INF = float("nan"), float("inf")


def masked(torch):
    return importlib.import_module(f"{torch.__name__}.masked")


def part(torch, name):
    return importlib.import_module(f"{torch.__name__}.masked.maskedtensor.{name}")


def make(torch, data=DATA, mask=MASK, requires_grad=False, **options):
    return masked(torch).masked_tensor(torch.tensor(data, **options), torch.tensor(mask), requires_grad=requires_grad)


def same(torch, t, data, mask):
    """Whether ``t`` has this mask, and this data where the mask is true."""
    assert masked(torch).is_masked_tensor(t)
    t = t.to_dense() if t.is_sparse else t
    data, mask = torch.tensor(data), torch.tensor(mask)
    assert t.shape == data.shape and torch.equal(t.get_mask(), mask)
    found = t.get_data().detach()[mask]
    return torch.allclose(found, data[mask].to(found.dtype), equal_nan=True)


def matches(torch, t, expected, mask):
    return same(torch, t, expected.tolist(), mask)


@pytest.mark.parametrize(
    ("data", "mask", "error", "text"),
    [
        (1, MASK, TypeError, "data must be a Tensor"), (DATA, 1, TypeError, "mask must be a Tensor"),
        (DATA, [True, False, False], ValueError, "data.dim() must equal mask.dim()"),
        (DATA, [[True, False], [True, True]], ValueError, "data.size() must equal mask.size()"),
        (DATA, DATA, TypeError, "mask must have dtype bool."),
        ([1j], [True], TypeError, "torch.complex64 is not supported in MaskedTensor."),
    ],
)
def test_data_and_mask_that_do_not_belong_together_are_refused(torch, data, mask, error, text):
    data, mask = (torch.tensor(v) if isinstance(v, list) else v for v in (data, mask))
    with pytest.raises(error) as e:
        masked(torch).masked_tensor(data, mask)
    assert text in str(e.value)


def test_a_masked_tensor_is_no_part_of_another(torch):
    x = make(torch)
    for data, mask, name in ((x, torch.tensor(MASK), "data"), (torch.tensor(DATA), x, "mask")):
        with pytest.raises(TypeError, match=f"{name} must be a Tensor"):
            masked(torch).MaskedTensor(data, mask)
    with pytest.raises(TypeError, match="same layout"):
        masked(torch).masked_tensor(torch.tensor(DATA), torch.tensor(MASK).to_sparse())


def test_making_one_warns(torch):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        masked(torch).masked_tensor(torch.tensor(DATA, requires_grad=True), torch.tensor(MASK))
    texts = " ".join(str(w.message) for w in seen)
    assert ("prototype stage" in texts and "It is not recommended to create a MaskedTensor with a tensor that "
        "requires_grad" in texts)


@pytest.mark.parametrize(
    ("data", "mask", "text"),
    [
        (DATA, MASK,
            "MaskedTensor(\n  [\n    [  0.5000,       --,       --],\n    [  3.0000,   4.0000,       --]\n  ]\n)"),
        ([1, 20], [True, False], "MaskedTensor(\n  [1,       --]\n)"), (1.5, True, "MaskedTensor(  1.5000, True)"),
        (1.5, False, "MaskedTensor(--, False)"),
        ([123456.789, NAN, 1.0], [True, True, False], "MaskedTensor(\n  [123456.7891,      nan,          --]\n)"),
        ([[[True]]], [[[True]]], "MaskedTensor(\n  [\n    [\n      [True]\n    ]\n  ]\n)"),
    ],
)
def test_text(torch, data, mask, text):
    x = make(torch, data, mask)
    assert repr(x) == str(x) == f"{x}" == text


def test_data_mask_and_a_dense_tensor(torch):
    source = torch.tensor(DATA)
    x = masked(torch).masked_tensor(source, torch.tensor(MASK))
    source.fill_(7.0)
    assert x.get_data().tolist() == DATA and x.get_mask().tolist() == MASK
    assert x.to_tensor(9).tolist() == [[0.5, 9.0, 9.0], [3.0, 4.0, 9.0]]
    assert (type(x.to_tensor(0)) is torch.Tensor and x.dtype is torch.float32 and x.layout is torch.strided
        and not x.is_sparse)


@pytest.mark.parametrize("name", [
    "sin", "exp", "log", "sqrt", "abs", "neg", "sigmoid", "tanh", "square", "reciprocal", "erf", "isnan", "floor", "i0",
])
def test_functions_of_one_keep_the_mask(torch, name):
    plain = torch.tensor(DATA)
    assert matches(torch, getattr(torch, name)(make(torch)), getattr(torch, name)(plain), MASK)
    assert matches(torch, getattr(make(torch), name)(), getattr(torch, name)(plain), MASK)
    if name not in ("isnan",):
        x = make(torch)
        assert getattr(x, name + "_")() is x and matches(torch, x, getattr(torch, name)(plain), MASK)


def test_functions_of_one_take_numbers_only(torch):
    x = make(torch)
    assert (same(torch, x.clamp(1, 3), [[1, 0, 0], [3, 3, 0]], MASK)
        and same(torch, x**2, [[0.25, 0, 0], [9, 16, 0]], MASK))
    with pytest.raises(TypeError, match="do not support additional Tensor arguments"):
        torch.pow(x, x)
    with pytest.raises(ValueError, match="require that len"):
        x.round(decimals=1)


@pytest.mark.parametrize("name",
    ["add", "sub", "mul", "div", "eq", "lt", "ge", "maximum", "fmin", "atan2", "logaddexp", "remainder",
        "floor_divide"])
def test_functions_of_two_want_equal_masks(torch, name):
    f, x, other = getattr(torch, name), torch.tensor(DATA), torch.tensor(DATA) + 0.25
    mask = torch.tensor(MASK)
    y = f(masked(torch).masked_tensor(x, mask), masked(torch).masked_tensor(other, mask))
    assert matches(torch, y, f(x, other), MASK)
    assert matches(torch, f(make(torch), other), f(x, other), MASK)
    with pytest.raises(ValueError,
            match=r"Input masks must match. If you need support for this, please open an issue on Github."):
        f(make(torch), masked(torch).masked_tensor(other, ~mask))


def test_operators_with_numbers_and_in_place(torch):
    x = make(torch)
    assert (same(torch, 1 + x * 2, [[2, 0, 0], [7, 9, 0]], MASK)
        and same(torch, 1 / x, [[2, 0, 0], [1 / 3, 0.25, 0]], MASK))
    assert same(torch, x > 1, [[False, False, False], [True, True, False]], MASK)
    before = x
    x += 1
    x.mul_(make(torch))
    assert x is before and same(torch, x, [[0.75, 0, 0], [12, 20, 0]], MASK)
    with pytest.raises(ValueError, match="masks must match"):
        x.add_(masked(torch).masked_tensor(torch.tensor(DATA), ~torch.tensor(MASK)))
    with pytest.raises(ValueError, match="len.kwargs. must equal 0"):
        x.add(x, alpha=2)


@pytest.mark.parametrize(
    ("name", "everything", "columns", "there"),
    [
        ("sum", 7.5, [3.5, 4, 0], [True, True, False]), ("mean", 2.5, [1.75, 4, 0], [True, True, False]),
        ("amax", 4.0, [3.0, 4, 0], [True, True, False]), ("amin", 0.5, [0.5, 4, 0], [True, True, False]),
        ("prod", 6.0, [1.5, 4, 0], [True, True, False]), ("argmax", 4, [1, 1, 0], [True, True, False]),
        ("argmin", 0, [0, 1, 0], [True, True, False]), ("var", 3.25, [3.125, NAN, 0], [True, True, False]),
    ],
)
def test_reductions_count_what_is_there(torch, name, everything, columns, there):
    assert same(torch, getattr(make(torch), name)(), everything, True)
    assert same(torch, getattr(make(torch), name)(0), columns, there)
    assert same(torch, getattr(torch, name)(make(torch), dim=0, keepdim=True), [columns], [there])
    nothing = make(torch, mask=[[False] * 3] * 2)
    assert getattr(nothing, name)().get_mask().item() is False


def test_all_of_what_is_there(torch):
    x = make(torch, [[True, False], [False, True]], [[True, False], [True, True]])
    assert same(torch, x.all(), False, True) and same(torch, x.all(1), [True, False], [True, True])


@pytest.mark.parametrize("call", [
    "x.max()", "x.median()", "x.cumsum(0)", "torch.relu(x)", "x.unbind()", "x.permute(1, 0)", "torch.zeros_like(x)",
    "x.zero_()", "x.fill_(1)", "torch.equal(x, x)", "torch.hypot(x, x)", "x.masked_fill(m, 1)", "x.log_softmax(0)",
    "torch.addmm(x, x, x)", "x.gather(0, i)",
])
def test_what_has_no_meaning_is_named(torch, call):
    names = {"torch": torch, "x": make(torch), "m": torch.tensor(MASK), "i": torch.tensor([[0]])}
    with warnings.catch_warnings(record=True) as seen, pytest.raises(TypeError,
            match="Multiple dispatch failed for 'torch._ops.aten."):
        warnings.simplefilter("always")
        eval(call, names)
    assert any("is not implemented in __torch_dispatch__ for MaskedTensor" in str(w.message) for w in seen)


def test_what_moves_elements_moves_the_mask(torch):
    x, data, mask = make(torch), torch.tensor(DATA), torch.tensor(MASK)
    moves = (
        lambda t: t[0], lambda t: t[:, 1], lambda t: t[0:1, 1:], lambda t: t.t(), lambda t: t.transpose(0, 1),
        lambda t: t.reshape(3, 2), lambda t: t.view(6), lambda t: t.flatten(), lambda t: t.unsqueeze(1),
        lambda t: t.expand(2, 2, 3), lambda t: t.split(1)[1], lambda t: torch.cat([t, t]),
        lambda t: torch.stack([t, t]), lambda t: t.unfold(1, 2, 1), lambda t: t.narrow(1, 0, 2),
        lambda t: t[torch.tensor([1, 0])], lambda t: t.t().contiguous(), lambda t: t.clone(), lambda t: t.detach(),
    )
    for move in moves:
        y = move(x)
        assert torch.equal(y.get_data(), move(data)) and torch.equal(y.get_mask(), move(mask))


def test_numbers_of_one_element(torch):
    x = make(torch)
    assert x[0, 0].item() == 0.5 and float(x[1, 0]) == 3.0
    with pytest.raises(ValueError, match="expected a mask tensor"):
        x[0, 1].item()


def test_types(torch):
    x = make(torch)
    assert x.double().dtype is torch.float64 and x.to(torch.int32).get_data().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert same(torch, x.half(), DATA, MASK) and x.bool().get_mask().tolist() == MASK


# -- gradients ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "grad"),
    [
        (lambda torch, x: x.sum(), [[1, 0, 0], [1, 1, 0]]),
        (lambda torch, x: x.mean(), [[1 / 3, 0, 0], [1 / 3, 1 / 3, 0]]),
        (lambda torch, x: x.mean(0).sum(), [[0.5, 0, 0], [0.5, 1, 0]]),
        (lambda torch, x: x.amax(), [[0, 0, 0], [0, 1, 0]]), (lambda torch, x: x.amin(1).sum(), [[1, 0, 0], [1, 0, 0]]),
        (lambda torch, x: x.prod(), [[12, 0, 0], [2, 1.5, 0]]),
        (lambda torch, x: (x * x).sum(), [[1, 0, 0], [6, 8, 0]]),
        (lambda torch, x: (1 / x).sum(), [[-4, 0, 0], [-1 / 9, -1 / 16, 0]]),
        (lambda torch, x: (x**3).sum(), [[0.75, 0, 0], [27, 48, 0]]),
        (lambda torch, x: x.log().sum(), [[2, 0, 0], [1 / 3, 0.25, 0]]),
        (lambda torch, x: x.square().mean(), [[1 / 3, 0, 0], [2, 8 / 3, 0]]),
        (lambda torch, x: x.view(3, 2).sum(), [[1, 0, 0], [1, 1, 0]]),
        (lambda torch, x: torch.cat([x, x]).sum(), [[2, 0, 0], [2, 2, 0]]),
        (lambda torch, x: x.expand(2, 2, 3).sum(), [[2, 0, 0], [2, 2, 0]]),
        (lambda torch, x: x.softmax(-1).sum(), [[0, 0, 0], [0, 0, 0]]),
        (lambda torch, x: x.double().sum(), [[1, 0, 0], [1, 1, 0]]),
        (lambda torch, x: x.to_sparse().to_dense().sum(), [[1, 0, 0], [1, 1, 0]]),
        (lambda torch, x: (x.to_sparse() * 2).to_dense().sum(), [[2, 0, 0], [2, 2, 0]]),
        (lambda torch, x: x.to_tensor(0).sum(), [[1, 0, 0], [1, 1, 0]]),
        (lambda torch, x: x.t().contiguous().sum(), [[1, 0, 0], [1, 1, 0]]),
        (lambda torch, x: x.var(), [[-2, 0, 0], [0.5, 1.5, 0]]),
    ],
)
def test_gradients_have_the_mask(torch, f, grad):
    x = make(torch, requires_grad=True)
    f(torch, x).backward()
    found, mask = x.grad, torch.tensor(MASK)
    assert torch.equal(found.get_mask(), mask)
    assert torch.allclose(found.get_data()[mask], torch.tensor(grad)[mask].float(), atol=1e-6)


def test_the_gradient_of_a_part_is_there_in_that_part(torch):
    x = make(torch, requires_grad=True)
    x[:, :2].sum().backward()
    assert same(torch, x.grad, [[1, 0, 0], [1, 1, 0]], [[True, False, False], [True, True, False]])
    x.grad = None
    x[1].sum().backward()
    assert same(torch, x.grad, [[0, 0, 0], [1, 1, 0]], [[False] * 3, [True, True, False]])


def test_gradients_reach_plain_tensors(torch):
    a = torch.tensor(DATA, requires_grad=True)
    x = masked(torch).as_masked_tensor(a, torch.tensor(MASK))
    assert x.requires_grad and not x.is_leaf
    (x * x).mean().backward()
    assert same(torch, a.grad, [[1 / 3, 0, 0], [2, 8 / 3, 0]], MASK)
    assert not masked(torch).masked_tensor(a, torch.tensor(MASK)).requires_grad


def test_gradients_of_gradients_and_sums_of_them(torch):
    x = make(torch, requires_grad=True)
    (g,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
    g.sum().backward()
    assert same(torch, x.grad, [[3, 0, 0], [18, 24, 0]], MASK)
    x.sum().backward()
    assert same(torch, x.grad, [[4, 0, 0], [19, 25, 0]], MASK)


def test_nan_of_the_branch_not_taken_does_not_count(torch):
    x = torch.tensor([-10.0, -5.0, 0.0, 50.0, 100.0])
    mask = x < 0
    left = masked(torch).masked_tensor(x, mask, requires_grad=True)
    right = masked(torch).masked_tensor(torch.ones_like(x), ~mask, requires_grad=True)
    y = torch.where(mask, torch.exp(left), right)
    assert y.get_mask().all() and torch.allclose(y.get_data()[2:], torch.ones(3))
    y.sum().backward()
    assert same(torch, left.grad, [4.5400e-05, 6.7379e-03, 0, 0, 0], mask.tolist())
    assert same(torch, right.grad, [0.0, 0, 1, 1, 1], (~mask).tolist())


def test_a_quotient_by_zero_that_is_not_there(torch):
    x = torch.tensor([1.0, 1.0], requires_grad=True)
    by = torch.tensor([0.0, 1.0])
    loss = masked(torch).as_masked_tensor(x / by, by != 0).sum()
    loss.backward()
    assert same(torch, x.grad, [0.0, 1.0], [False, True])


def test_a_backward_with_a_gradient_of_ones_own(torch):
    x = make(torch, requires_grad=True)
    (x * 2).backward(make(torch))
    assert same(torch, x.grad, [[1, 0, 0], [6, 8, 0]], MASK)


# -- sparse ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
def test_sparse_layouts(torch, layout):
    x = make(torch)
    y = getattr(x, layout)()
    assert y.is_sparse and y.is_sparse_coo() is (layout == "to_sparse") and y.is_sparse_csr() is not y.is_sparse_coo()
    assert same(torch, y, DATA, MASK) and repr(y) == repr(x)
    assert same(torch, y * y, [[0.25, 0, 0], [9, 16, 0]], MASK) and same(torch, y * 2, [[1, 0, 0], [6, 8, 0]], MASK)
    for name, value in (("sum", 7.5), ("mean", 2.5), ("amax", 4.0), ("amin", 0.5), ("prod", 6.0)):
        assert same(torch, getattr(y, name)(), value, True)
    with pytest.raises(TypeError, match="Multiple dispatch failed"):
        y.sum(0)
    with pytest.raises(ValueError, match="must have the same layout"):
        y + x


def test_functions_of_sparse_ones_work_on_what_is_stored(torch):
    assert same(torch, make(torch).to_sparse().cos(), torch.tensor(DATA).cos().tolist(), MASK)
    x = make(torch).to_sparse()
    assert (x._values().get_data().tolist() == [0.5, 3.0, 4.0]
        and x._indices().get_data().tolist() == [[0, 1, 1], [0, 0, 1]])


def test_sparse_data_and_masks_share_their_places(torch):
    data = torch.tensor(DATA)
    x = masked(torch).masked_tensor(data.to_sparse(), torch.tensor(MASK).to_sparse())
    assert same(torch, x, DATA, MASK) and x.get_data()._nnz() == 3
    places = [torch.sparse_coo_tensor(torch.tensor([p]), v, (3,))
        for p, v in (([0, 1], torch.ones(2)), ([0, 2], torch.tensor([True, True])))]
    with pytest.raises(ValueError, match="data and mask are both sparse COO tensors but do not have the same indices"):
        masked(torch).masked_tensor(*places)
    with pytest.raises(TypeError, match="data layout of torch.sparse_csc is not supported"):
        masked(torch).masked_tensor(data.to_sparse_csc(), torch.tensor(MASK).to_sparse_csc())


# -- tables ------------------------------------------------------------------------------------------------------------


def test_names_of_the_operators(torch):
    unary, binary, reductions = (part(torch, n) for n in ("unary", "binary", "reductions"))
    assert len(unary.UNARY_NAMES) == len(unary.NATIVE_UNARY_FNS) == 62 and "sinc" in unary.UNARY_NAMES
    assert {f.__name__ for f in binary.NATIVE_BINARY_FNS} == set(binary.BINARY_NAMES)
    assert {f.__name__ for f in unary.NATIVE_INPLACE_UNARY_FNS} == set(unary.INPLACE_UNARY_NAMES)
    assert (sorted(reductions.REDUCE_NAMES)
        == sorted(["sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "all", "norm", "var", "std"]))
    assert part(torch, "core")._masks_match(make(torch), make(torch))


def test_every_unary_and_binary_operator_of_the_tables(torch):
    unary, binary = part(torch, "unary"), part(torch, "binary")
    data, mask = torch.tensor([[0.2, 0.6], [0.4, 0.9]]), torch.tensor([[True, False], [True, True]])
    for fn in unary.NATIVE_UNARY_FNS:
        whole = fn.__name__.startswith("bitwise")
        x, more = ((data * 10).int() if whole else data,
            {"clamp": (0.3, 0.5), "clip": (0.3, 0.5), "pow": (2.0,)}.get(fn.__name__, ()))
        if fn.__name__ in ("acosh", "arccosh"):
            x = x + 1
        f = getattr(torch.ops.aten, fn.__name__)
        assert matches(torch, f(masked(torch).masked_tensor(x, mask), *more), f(x, *more), mask.tolist()), fn
    for fn in binary.NATIVE_BINARY_FNS:
        x, y = ((v * 10).int() if fn.__name__.startswith("bitwise") else v for v in (data, data.flip(0)))
        f = getattr(torch.ops.aten, fn.__name__)
        pair = (masked(torch).masked_tensor(v, mask) for v in (x, y))
        assert matches(torch, f(*pair), f(x, y), mask.tolist()), fn


def test_adagrad_with_masked_gradients(torch):
    """The example of the tutorial on sparse semantics: the state of what is not there stays as it is."""
    param, state = torch.arange(8.0).reshape(2, 4), torch.full((2, 4), 0.5)
    where = torch.tensor([[0, 1, 1], [2, 0, 2]])
    grad = torch.sparse_coo_tensor(where, torch.tensor([3.0, 4.0, 5.0]), (2, 4))
    ones = torch.sparse_coo_tensor(where, torch.ones(3, dtype=torch.bool), (2, 4))
    g, s = (masked(torch).masked_tensor(t, ones) for t in (grad, state.sparse_mask(grad)))
    step = g / (s + g.pow(2)).sqrt()
    param = param.add(step.get_data().to_dense(), alpha=-0.1)
    assert torch.allclose(param[0], torch.tensor([0.0, 1.0, 2 - 0.3 / 9.5**0.5, 3.0]))

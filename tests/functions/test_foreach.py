"""``torch._foreach_*``: operations on lists of tensors."""

from __future__ import annotations

import pytest

UNARY = ("abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma",
    "log", "log10",
         "log1p", "log2",
         "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh",
         "trunc")


def _lists(torch, n=2):
    return [[torch.full((2,), 0.5), torch.full((3,), 0.25)] for _ in range(n)]


def _values(row):
    return [t.tolist() for t in row]


@pytest.mark.parametrize("name", UNARY)
def test_one_list(torch, name):
    (a,) = _lists(torch, 1)
    found = getattr(torch, f"_foreach_{name}")(a)
    assert type(found) is tuple and _values(found) == [getattr(torch, name)(t).tolist() for t in a]
    getattr(torch, f"_foreach_{name}_")(a)
    assert _values(a) == _values(found)


@pytest.mark.parametrize("other", ["number", "numbers", "tensors", "tensor"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow"])
def test_a_list_and_another(torch, name, other):
    a, b = _lists(torch)
    second = {"number": 2.0, "numbers": [2.0, 3.0], "tensors": b, "tensor": torch.tensor(2.0)}[other]
    each = second if other in ("numbers", "tensors") else [second] * 2
    expected = [getattr(torch, name)(t, s).tolist() for t, s in zip(a, each)]
    assert _values(getattr(torch, f"_foreach_{name}")(a, second)) == expected
    getattr(torch, f"_foreach_{name}_")(a, second)
    assert _values(a) == expected


@pytest.mark.parametrize("name", ["maximum", "minimum", "clamp_max", "clamp_min"])
def test_bounds(torch, name):
    larger = name in ("maximum", "clamp_min")
    a, b = _lists(torch)
    pick = max if larger else min
    call = getattr(torch, f"_foreach_{name}")
    assert (_values(call(a, 0.4)) == [torch.full((2,), pick(0.5, 0.4)).tolist(),
        torch.full((3,), pick(0.25, 0.4)).tolist()])
    assert _values(call(a, [t * 2 for t in b])) == [[pick(0.5, 1.0)] * 2, [pick(0.25, 0.5)] * 3]
    assert _values(call(a, [0.0, 1.0])) == [[pick(0.5, 0.0)] * 2, [pick(0.25, 1.0)] * 3]
    getattr(torch, f"_foreach_{name}_")(a, [0.0, 1.0])
    assert _values(a) == [[pick(0.5, 0.0)] * 2, [pick(0.25, 1.0)] * 3]


def test_alpha_lerp_and_fused_products(torch):
    a, b, c = _lists(torch, 3)
    assert _values(torch._foreach_add(a, b, alpha=2)) == [[1.5] * 2, [0.75] * 3]
    assert _values(torch._foreach_lerp(a, [t * 2 for t in b], 0.5)) == [[0.75] * 2, [0.375] * 3]
    assert _values(torch._foreach_lerp(a, b, [0.5, 0.5])) == _values(torch._foreach_lerp(a, b, c)) == _values(a)
    for scalars in (2, [2, 2], torch.tensor([2.0, 2.0])):
        assert _values(torch._foreach_addcmul(a, b, c, scalars)) == [[1.0] * 2, [0.375] * 3]
        assert _values(torch._foreach_addcdiv(a, b, c, scalars)) == [[2.5] * 2, [2.25] * 3]
    torch._foreach_addcmul_(a, b, c, value=2)
    torch._foreach_lerp_(b, a, 1.0)
    assert _values(a) == _values(b) == [[1.0] * 2, [0.375] * 3]


def test_norms_copies_and_zeros(torch):
    a, b = _lists(torch)
    assert (_values(torch._foreach_norm(a, 1)) == [1.0, 0.75]
        and torch._foreach_norm(a, 2, torch.float64)[0].dtype == torch.float64)
    assert _values(torch._foreach_max(a)) == [0.5, 0.25] and _values(torch._foreach_pow(2, [torch.ones(1)])) == [[2.0]]
    assert _values(torch._foreach_clone(a)) == _values(a)
    assert torch._foreach_zero_(a) is not None and _values(a) == [[0.0] * 2, [0.0] * 3]
    torch._foreach_copy_(a, b)
    assert _values(a) == _values(b)


def test_gradients(torch):
    a = [torch.full((2,), 3.0, requires_grad=True), torch.full((3,), 2.0, requires_grad=True)]
    found = torch._foreach_mul(torch._foreach_exp(torch._foreach_mul(a, 0.0)), a)
    sum(t.sum() for t in found).backward()
    assert _values([t.grad for t in a]) == [[1.0] * 2, [1.0] * 3]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        torch._foreach_mul_(a, 2.0)
    with torch.no_grad():
        torch._foreach_mul_(a, 2.0)
    assert _values(a) == [[6.0] * 2, [4.0] * 3]


def test_arguments_that_do_not_fit(torch):
    a, b = _lists(torch)
    same = "Tensor lists must have the same number of tensors, got 2 and 1"
    for error, match, call in (
        (RuntimeError, "Tensor list must have at least one tensor", lambda: torch._foreach_add([], 1)),
        (RuntimeError, "Tensor list must have at least one tensor", lambda: torch._foreach_abs([])),
        (RuntimeError, same, lambda: torch._foreach_add(a, b[:1])),
        (RuntimeError, same, lambda: torch._foreach_addcmul(a, b, b[:1])),
        (RuntimeError, same, lambda: torch._foreach_copy_(a, b[:1])),
        (RuntimeError, same, lambda: torch._foreach_lerp(a, b[:1], 0.5)),
        (RuntimeError, "same number of elements as scalar list", lambda: torch._foreach_mul_(a, [1, 2, 3])),
        (RuntimeError, "same number of elements as scalar list", lambda: torch._foreach_lerp(a, b, [0.5])),
        (RuntimeError, "Expected length of scalars to match input of length 2 but got 3",
            lambda: torch._foreach_addcmul(a, a, b, torch.ones(3))),
        (RuntimeError, "scalar tensor expected to be 0 dim but it has 1 dimensions and 2 elements",
            lambda: torch._foreach_mul(a, torch.ones(2))),
        (TypeError, "invalid combination of arguments", lambda: torch._foreach_add(a, "x")),
        (TypeError, "invalid combination of arguments", lambda: torch._foreach_add(torch.ones(2), 1)),
        (TypeError, "invalid combination of arguments", lambda: torch._foreach_mul(a, b, alpha=2)),
        (TypeError, "must be tuple of Tensors, not Tensor", lambda: torch._foreach_neg(torch.ones(2))),
        (TypeError, "expected Tensor as element 0 in argument 0, but got float", lambda: torch._foreach_neg([1.0])),
    ):
        with pytest.raises(error, match=match):
            call()
    assert _values(a) == _values(b)


def test_a_write_that_is_not_recorded_leaves_the_name_of_the_node_before(torch):
    start = torch.ones(2, requires_grad=True)
    a = [start + 1]
    with torch.no_grad():
        torch._foreach_add_(a, 2.0)
    assert a[0].grad_fn.name() == "AddBackward0"

"""``requires_grad``, ``is_leaf`` and ``grad_fn`` inside of ``torch.func``: those of the innermost transform that a
tensor belongs to.
"""

from __future__ import annotations

from typing import Any

import pytest

SEEN, MADE, NOTHING = (True, True, None), (True, False, "MulBackward0"), (False, True, None)


def flags(*tensors: Any) -> list[Any]:
    return [(t.requires_grad, t.is_leaf, t.grad_fn and t.grad_fn.name()) for t in tensors]


def test_a_gradient_in_a_gradient(torch: Any) -> None:
    rows = []

    def outer(x: Any) -> Any:
        made = x * 2

        def inner(y: Any) -> Any:
            rows.append(flags(x, y, made, x * 1, y * 1, x * y, made.detach(), y.detach(), x.detach()))
            return (x * y).sum()

        torch.func.grad(inner)(x)
        return x.sum()

    torch.func.grad(outer)(torch.ones(3))
    assert rows == [[SEEN, SEEN, MADE, NOTHING, MADE, MADE, NOTHING, NOTHING, NOTHING]]


def test_forward_mode_in_a_gradient(torch: Any) -> None:
    rows = []

    def outer(x: Any) -> Any:
        made = x * 2

        def inner(y: Any) -> Any:
            rows.append(flags(x, y, made, y * 1, x * y, x * 1))
            return x * y

        pushed = torch.func.jvp(inner, (x,), (torch.ones(3),))[1]
        rows.append(flags(pushed)[0][0])
        return pushed.sum()

    torch.func.grad(outer)(torch.ones(3))
    assert rows == [[SEEN, NOTHING, MADE, NOTHING, NOTHING, NOTHING], True]


def test_a_map_in_a_gradient(torch: Any) -> None:
    rows = []

    def outer(x: Any) -> Any:
        def inner(y: Any) -> Any:
            rows.append(flags(x, y, y * 1, x * y, x * 1))
            return (x * y).sum()

        return torch.func.vmap(inner)(x).sum()

    torch.func.grad(outer)(torch.ones(3))
    assert rows == [[SEEN, NOTHING, NOTHING, NOTHING, MADE]]


def test_a_gradient_in_a_map(torch: Any) -> None:
    rows = []

    def outer(x: Any) -> Any:
        def inner(y: Any) -> Any:
            rows.append(flags(x, y, y * 1, x * y, x * 1))
            return x * y

        return torch.func.grad(inner)(x)

    torch.func.vmap(outer)(torch.ones(3))
    assert rows == [[NOTHING, SEEN, MADE, MADE, NOTHING]]


@pytest.mark.parametrize("transform", ["grad", "jvp", "vmap"])
def test_captured_tensors_of_the_caller(torch: Any, transform: str) -> None:
    leaf = torch.ones(3, requires_grad=True)
    made = leaf * 2
    rows = []

    def f(x: Any) -> Any:
        rows.append(flags(x, leaf, made, leaf * 1))
        return (x * made).sum()

    run = {
        "grad": lambda: torch.func.grad(f)(torch.ones(3)),
        "jvp": lambda: torch.func.jvp(f, (torch.ones(3),), (torch.ones(3),))[1],
        "vmap": lambda: torch.func.vmap(f)(torch.ones(3)),
    }
    assert run[transform]().requires_grad
    own = {"grad": (SEEN, NOTHING), "jvp": (NOTHING, NOTHING), "vmap": (NOTHING, MADE)}
    assert rows == [[own[transform][0], SEEN, MADE, own[transform][1]]]


@pytest.mark.parametrize("transform", ["grad", "vjp", "jacrev", "hessian"])
def test_an_argument_with_a_history_is_a_leaf_inside(torch: Any, transform: str) -> None:
    rows = []

    def f(x: Any, other: Any = None) -> Any:
        rows.append(flags(x)[0])
        return (x * x).sum()

    for x in (torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True) * 1):
        if transform == "vjp":
            torch.func.vjp(f, x)
        else:
            getattr(torch.func, transform)(f)(x)
    assert rows == [SEEN, SEEN]


def test_an_argument_that_is_not_differentiated(torch: Any) -> None:
    rows = []
    w = torch.ones(3, requires_grad=True)

    def f(x: Any, w: Any) -> Any:
        rows.append(flags(w * 1)[0])
        return (x * w).sum()

    assert torch.func.grad(f)(torch.ones(3), w).requires_grad
    assert rows == [NOTHING]




def test_the_flag_of_a_mapped_tensor_has_no_effect(torch: Any) -> None:
    seen = []

    def f(x: Any) -> Any:
        x.requires_grad = True
        seen.append((x.requires_grad, x.is_leaf, (x * x).requires_grad))
        return x * x

    answer = torch.func.vmap(f)(torch.ones(3))
    assert seen == [(True, True, False)]
    assert not answer.requires_grad
    with pytest.raises(RuntimeError, match=r"You are attempting to call Tensor.requires_grad_\(\)"):
        torch.func.vmap(lambda x: x.requires_grad_())(torch.ones(3))


def test_the_flag_of_a_tensor_of_forward_mode_has_no_effect(torch: Any) -> None:
    seen = []

    def f(x: Any) -> Any:
        x.requires_grad = True
        seen.append((x.requires_grad, x.is_leaf))
        return x * x

    out, pushed = torch.func.jvp(f, (torch.ones(3),), (torch.ones(3),))
    assert seen == [(True, True)]
    assert not out.requires_grad and not pushed.requires_grad
    assert pushed.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("where", ["plain", "outer leaf", "outer gradient", "map"])
def test_an_argument_that_no_longer_asks(torch: Any, where: str) -> None:
    def f(x: Any) -> Any:
        x.requires_grad = False
        return (x * x).sum()

    grad = torch.func.grad(f)
    x = torch.tensor([1.0, 2.0])
    found = {
        "plain": lambda: grad(x),
        "outer leaf": lambda: grad(x.clone().requires_grad_()),
        "outer gradient": lambda: torch.func.grad(lambda z: grad(z * 1).sum())(x),
        "map": lambda: torch.func.vmap(grad)(torch.ones(2, 2)).sum(0),
    }[where]()
    assert found.tolist() == [0.0, 0.0]


def test_a_result_of_the_function_cannot_be_a_leaf(torch: Any) -> None:
    def f(x: Any, value: bool) -> Any:
        y = x * 2
        y.requires_grad = value
        return y.sum()

    for value in (True, False):
        with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
            torch.func.grad(lambda x, value=value: f(x, value))(torch.ones(3))


def test_a_leaf_of_the_function_does_not_show_outside(torch: Any) -> None:
    def f(x: Any) -> Any:
        y = x.detach()
        y.requires_grad = True
        return (x * y).sum()

    assert not torch.func.grad(f)(torch.ones(3)).requires_grad


@pytest.mark.parametrize("source", ["leaf", "made", "outer gradient"])
@pytest.mark.parametrize("write", ["whole", "part"])
def test_a_recorded_write_to_an_argument_is_refused(torch: Any, source: str, write: str) -> None:
    def f(x: Any) -> Any:
        (x if write == "whole" else x[0]).mul_(2)
        return (x * x).sum()

    x = torch.ones(3)
    with pytest.raises(RuntimeError, match="^a leaf Variable" if write == "whole" else "^a view of a leaf Variable"):
        if source == "outer gradient":
            torch.func.grad(lambda z: torch.func.grad(f)(z * 1).sum())(x)
        else:
            x.requires_grad_()
            torch.func.grad(f)(x if source == "leaf" else x * 1)


def test_an_unrecorded_write_to_an_argument(torch: Any) -> None:
    def f(x: Any) -> Any:
        with torch.no_grad():
            x.mul_(2)
        return (x * x).sum()

    assert torch.func.grad(f)(torch.tensor([1.0, 2.0]).requires_grad_() * 1).tolist() == [4.0, 8.0]
    assert torch.func.hessian(f)(torch.tensor([1.0, 2.0])).tolist() == [[4.0, 0.0], [0.0, 4.0]]


def test_a_write_to_an_argument_of_forward_mode_twice(torch: Any) -> None:
    def f(x: Any) -> Any:
        x.mul_(2)
        return (x * x).sum()

    hessian = torch.func.jacfwd(torch.func.jacfwd(f))(torch.tensor([1.0, 2.0]))
    assert hessian.tolist() == [[8.0, 0.0], [0.0, 8.0]]


@pytest.mark.parametrize("requires_grad", [False, True])
def test_an_argument_detached_in_place(torch: Any, requires_grad: bool) -> None:
    def f(x: Any) -> Any:
        x.detach_()
        return (x * x).sum()

    x = torch.ones(3, requires_grad=requires_grad)
    assert torch.func.grad(f)(x).tolist() == [0.0, 0.0, 0.0]
    assert torch.func.grad(lambda z: torch.func.grad(f)(z).sum())(torch.ones(3)).tolist() == [0.0, 0.0, 0.0]

"""The order in which ``einsum`` multiplies, and what it refuses; how stacks of products lie."""

from __future__ import annotations

import numpy as np
import pytest

import wengert
from wengert.ops import einsum as E

CHAINS = [
    ("ab,bc,cd->ad", [(5, 30), (30, 5), (5, 30)]),
    ("ij,jk,kl,lm->im", [(20, 2), (2, 30), (30, 3), (3, 25)]),
    ("ijk,jl,km,in->lmn", [(6, 7, 8), (7, 3), (8, 3), (6, 3)]),
    ("a,ab,b,bc,c->", [(4,), (4, 5), (5,), (5, 6), (6,)]),
    ("...ij,jk,...kl->...il", [(2, 1, 3, 4), (4, 5), (3, 5, 2)]),
    ("a,b,c,d,e,f->fbd", [(2,), (3,), (2,), (3,), (2,), (2,)]),
]


@pytest.fixture(autouse=True)
def settings():
    before = dict(E.ORDER)
    yield
    E.ORDER.update(before)


def multiplications(equation, shapes, path):
    """What a sequence of pairs costs, counted independently of the planner."""
    terms, out = E._parse(equation, shapes)
    sizes, total = E._sizes(terms, shapes), 0
    left = [set(t) for t in terms]
    for i, j in path:
        b, a = left.pop(j), left.pop(i)
        total += int(np.prod([sizes[c] for c in a | b], dtype=float))
        left.append((a | b) & set(out).union(*left))
    return total


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("strategy", ["auto", "greedy", "optimal"])
@pytest.mark.parametrize(("equation", "shapes"), CHAINS)
def test_every_order_gives_the_same(equation, shapes, strategy, enabled):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s) for s in shapes]
    with wengert.backends.opt_einsum.flags(strategy=strategy):
        wengert.backends.opt_einsum.enabled = enabled
        operands = [wengert.tensor(a, requires_grad=True) for a in arrays]
        found = wengert.einsum(equation, *operands)
        found.sum().backward()
    np.testing.assert_allclose(found.detach().numpy(), np.einsum(equation, *arrays), rtol=1e-10)
    changed = [a.copy() for a in arrays]
    changed[0] *= 2  # linear in each operand
    expected = np.einsum(equation, *changed).sum() - np.einsum(equation, *arrays).sum()
    assert np.vdot(operands[0].grad.numpy(), arrays[0]) == pytest.approx(expected)


@pytest.mark.parametrize(("equation", "shapes"), CHAINS[:4])
def test_the_best_order_is_found(equation, shapes):
    terms, out = E._parse(equation, shapes)
    mine = multiplications(equation, shapes, E._best_path(terms, out, E._sizes(terms, shapes)))
    theirs = np.einsum_path(equation, *(np.empty(s) for s in shapes), optimize="optimal")[0][1:]
    path = [tuple(sorted(pair)) for pair in theirs]
    assert mine <= multiplications(equation, shapes, path)
    assert (mine <= multiplications(equation, shapes,
        [(0, 1)] + [(0, len(shapes) - 1 - k) for k in range(1, len(shapes) - 1)]))


def test_the_chain_is_not_multiplied_from_left_to_right():
    plan = E._plan("ij,jk,kl,lm->im", ((20, 2), (2, 30), (30, 3), (3, 25)), "auto")
    assert plan[1][0][:2] == (1, 2)
    assert E._plan("ij,jk,kl,lm->im", ((20, 2), (2, 30), (30, 3), (3, 25)), "auto-hq")[1][0][:2] == (1, 2)
    plan = E._plan("ij,jk,kl,lm->im", ((20, 2), (2, 30), (30, 3), (3, 25)), "left")
    assert [step[:2] for step in plan[1]] == [(0, 1), (0, 2), (0, 1)]


def test_refused():
    x = wengert.ones(2, 3)
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        wengert.einsum("ij,jk", x, wengert.ones(3, 4, dtype=wengert.float64))
    with pytest.raises(NotImplementedError, match='"bmm" not implemented for \'Bool\''):
        wengert.einsum("ij,jk", x.bool(), x.bool().T)
    with pytest.raises(TypeError, match="expected Tensor as element 1 in argument 1, but got int"):
        wengert.einsum("ij,jk", x, 3)
    with pytest.raises(ValueError, match="at least one operand"):
        wengert.einsum("ij", [])
    with pytest.raises(RuntimeError, match=r"found '.' for output but an ellipsis \(...\) was already found"):
        wengert.einsum("i->...i...", x[0])
    settings = wengert.backends.opt_einsum
    assert settings.is_available() and settings.enabled and settings.strategy == "auto"
    with pytest.raises(ValueError, match="`strategy` must be one of the following"):
        settings.strategy = "fastest"
    settings.strategy = "auto-hq"  # a word of the library
    assert settings.strategy == "auto-hq"
    settings.strategy = "auto"
    settings.enabled = False
    with pytest.raises(ValueError, match="opt_einsum is not enabled"):
        settings.strategy = "greedy"


@pytest.mark.parametrize("equation, strides", [
    ("ik,jk->ij", (5, 1)), ("ik,jk->ji", (4, 1)), ("bik,bjk->bji", (20, 4, 1)), ("iak,jk->ija", (10, 1, 5)),
    ("iak,jk->jia", (8, 2, 1)), ("iak,jk->aji", (20, 1, 5)), ("iak,jck->icja", (70, 5, 1, 35)),
    ("iak,jck->jiac", (7, 70, 35, 1)), ("k,ika->ai", (4, 1))])
def test_the_product_of_two_lies_as_its_output_is_written(torch, equation, strides):
    sizes = dict(zip("abijkc", (2, 3, 4, 5, 6, 7)))
    operands = [torch.rand(*(sizes[c] for c in term)) for term in equation.split("->")[0].split(",")]
    assert torch.einsum(equation, *operands).stride() == strides


def test_stacks_of_outer_products_lie_row_by_row(torch):
    a, b = torch.ones(3, 2, 1).transpose(0, 1), torch.ones(4, 2, 1).permute(1, 2, 0)
    for product in (torch.bmm(a, b), torch.baddbmm(torch.ones(3, 4), a, b), torch.matmul(a, b)):
        assert product.shape == (2, 3, 4) and product.stride() == (12, 4, 1)

"""Dropouts and other draws in mapped functions, for each example or alike."""

from __future__ import annotations

from typing import Any

import pytest

ALIKE = "Vmap does not currently support same randomness with a batched tensor input"
RANDOM = "called random operation while in randomness error mode"


def dropped(torch: Any, name: str, randomness: str, shape: tuple[int, ...], batched: bool = True,
        p: float = 0.5) -> Any:
    f = getattr(torch.nn.functional, name)
    x = torch.ones(shape)
    torch.manual_seed(0)
    if batched:
        return torch.vmap(lambda x: f(x, p, True), randomness=randomness)(x)
    return torch.vmap(lambda _: f(x[0], p, True), randomness=randomness)(torch.ones(len(x)))


NAMES = ["dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"]


def shape_for(name: str) -> tuple[int, ...]:
    return (3, 8, 4) if name == "dropout1d" else (3, 8, 4, 2, 2)


@pytest.mark.parametrize("name", NAMES)
def test_alike_for_all_examples(torch: Any, name: str) -> None:
    found = dropped(torch, name, "same", shape_for(name))
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])
    assert len(found.unique()) == 2
    torch.manual_seed(0)
    assert torch.equal(found[0], getattr(torch.nn.functional, name)(torch.ones(shape_for(name)[1:]), 0.5, True))


@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_different_for_each_example(torch: Any, name: str, batched: bool) -> None:
    found = dropped(torch, name, "different", shape_for(name), batched)
    assert not (torch.equal(found[0], found[1]) and torch.equal(found[0], found[2]))


@pytest.mark.parametrize("name", NAMES)
def test_refused_unless_nothing_is_drawn(torch: Any, name: str) -> None:
    with pytest.raises(RuntimeError, match=RANDOM):
        dropped(torch, name, "error", shape_for(name))
    assert dropped(torch, name, "error", shape_for(name), p=1.0).unique().tolist() == [0.0]
    assert dropped(torch, name, "error", shape_for(name), p=0.0).unique().tolist() == [1.0]


def test_what_is_drawn_for_a_repeated_tensor_goes_row_by_row(torch: Any) -> None:
    torch.manual_seed(0)
    expected = torch.nn.functional.dropout(torch.ones(3, 2, 4), 0.5)
    torch.manual_seed(0)
    assert torch.equal(torch.nn.functional.dropout(torch.ones(2, 4).expand(3, 2, 4), 0.5), expected)
    assert torch.equal(dropped(torch, "dropout", "different", (3, 2, 4), batched=False), expected)


def test_in_place_of_a_tensor_without_batch_is_refused(torch: Any) -> None:
    for name in ("dropout", "dropout2d"):
        f = getattr(torch.nn.functional, name)
        with pytest.raises(RuntimeError, match=r"vmap: inplace arithmetic\(self, \*extra_args\) is not possible"):
            torch.vmap(lambda _, f=f: f(torch.ones(2, 4), 0.5, True, True), randomness="different")(torch.ones(3))


def test_channels_need_dimensions(torch: Any) -> None:
    F = torch.nn.functional
    for f in (F.dropout2d, F.feature_alpha_dropout):
        with pytest.raises(RuntimeError, match="Feature dropout requires at least 2 dimensions in the input"):
            f(torch.ones(3), 0.5, True)
        assert f(torch.ones(3), 1.0, True).tolist() == [0.0, 0.0, 0.0]
    with pytest.warns(UserWarning, match="dropout3d: Received a 1-D input"):
        assert F.dropout3d(torch.ones(3), 0.5, True).shape == (3,)


def test_bernoulli_with_probabilities_of_each_example(torch: Any) -> None:
    p = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    draw = lambda p: p.clone().bernoulli_(p)  # noqa: E731
    assert torch.equal(torch.vmap(draw, randomness="different")(p), p)
    with pytest.raises(RuntimeError, match=ALIKE):
        torch.vmap(draw, randomness="same")(p)


def test_fractional_pooling_draws(torch: Any) -> None:
    images = torch.rand(3, 1, 2, 7, 7)
    pool = lambda x: torch.nn.functional.fractional_max_pool2d(x, 2, (3, 3))  # noqa: E731
    with pytest.raises(RuntimeError, match=RANDOM):
        torch.vmap(pool)(images)
    one = images[:1].expand(3, 1, 2, 7, 7)
    torch.manual_seed(0)
    alike = torch.vmap(pool, randomness="same")(one)
    assert torch.equal(alike[0], alike[1]) and torch.equal(alike[0], alike[2])


def test_a_layer_in_forward_mode(torch: Any) -> None:
    out, moved = torch.func.jvp(lambda x: torch.nn.Linear(3, 1)(x), (torch.ones(3),), (torch.ones(3),))
    assert not out.requires_grad and not moved.requires_grad
    layer = torch.nn.Linear(3, 1)
    out, moved = torch.func.jvp(layer, (torch.ones(3),), (torch.ones(3),))
    assert out.requires_grad and moved.requires_grad


def test_categories_of_rows_that_lie_across_memory(torch):
    weights = torch.rand(5, 4) + 0.1
    for given, dim in ((weights, 1), (weights[:, 0], None)):
        torch.manual_seed(3)
        found = torch.vmap(lambda w, _: torch.multinomial(w, 5), in_dims=(dim, 0), randomness="different")(given,
            torch.ones(4))
        torch.manual_seed(3)
        rows = given.movedim(1, 0) if dim else given.expand(4, 5)
        torch.testing.assert_close(found, torch.multinomial(rows, 5))


def test_slopes_and_results_given_are_refused(torch):
    for f in (torch.rrelu, torch.nn.functional.rrelu):
        with pytest.raises(RuntimeError, match="we do not yet support aten::rrelu"):
            torch.vmap(f, randomness="same")(torch.ones(3))
    y = torch.ones(3)
    for f in (lambda x: torch.randn(3, out=y), lambda x: torch.normal(y, y, out=y)):
        with pytest.raises(RuntimeError, match="calling out variants"):
            torch.vmap(f, randomness="same")(y)


def test_probabilities_of_each_example_for_one_tensor(torch):
    with pytest.raises(RuntimeError, match="has more elements than `self`"):
        torch.vmap(lambda t, p: t.bernoulli_(p), in_dims=(None, 0), randomness="different")(torch.ones(3),
            torch.rand(4, 3))


def _draws(torch: Any) -> dict[str, Any]:
    return {
        "multinomial": lambda x: torch.multinomial(x.exp(), 2).sum(),
        "bernoulli": lambda x: torch.bernoulli(x.sigmoid()),
        "poisson": torch.poisson,
        "normal": lambda x: torch.normal(x, 1.0),
        "of two": lambda x: torch.multinomial((x + x.flip(0))[1:], 1).sum(),
    }


@pytest.mark.parametrize("draw", ["multinomial", "bernoulli", "poisson", "normal", "of two"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_draw_by_a_value_of_which_only_the_tangent_varies(torch: Any, draw: str, nested: bool) -> None:
    func = torch.func
    f = _draws(torch)[draw]
    x, directions = torch.tensor([0.2, 0.5, 0.9, 0.4]), torch.arange(12.0).reshape(3, 4) / 10

    def slope(x: Any) -> Any:
        return (x * x * f(x)).sum()

    def along(t: Any) -> Any:
        return func.jvp(func.grad(slope), (x,), (t,))

    mapped = torch.vmap(along, randomness="same")
    torch.manual_seed(3)
    if nested:
        found = torch.vmap(lambda s: mapped(directions + s), randomness="same")(torch.arange(2.0))[0][0]
    else:
        found = mapped(directions)[0]
    after = torch.rand(2)
    torch.manual_seed(3)
    one = func.jvp(func.grad(slope), (x,), (directions[0],))[0]
    assert torch.equal(after, torch.rand(2))  # it was drawn once
    torch.testing.assert_close(found, one.expand(3, 4))


def test_examples_that_have_come_to_differ_are_not_alike(torch: Any) -> None:
    x, many = torch.tensor([0.2, 0.5, 0.9]), torch.rand(2, 3) + 0.1

    def written(x: Any, t: Any) -> Any:
        y = x * t.new_ones(3)
        y[:] = t
        return (x * torch.multinomial(y, 1).sum()).sum()

    for f in (lambda x, t: (x * torch.multinomial(x * t, 1).sum()).sum(), written):
        with pytest.raises(RuntimeError, match="same randomness with a batched tensor|vmap: inplace arithmetic"):
            torch.vmap(lambda t, f=f: torch.func.grad(f)(x * t, t), randomness="same")(many)


def test_random_fills_alike_for_all_examples(torch):
    found = torch.vmap(lambda x: x.normal_(), randomness="same")(torch.ones(3, 2))
    assert found[0].tolist() == found[1].tolist() == found[2].tolist() != [1.0, 1.0]

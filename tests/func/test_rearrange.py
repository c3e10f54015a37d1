"""``func.rearrange``: dimensions transposed, joined and split by name."""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture
def rearrange(torch):
    return importlib.import_module(f"{torch.__name__}.func").rearrange


@pytest.mark.parametrize(
    ("pattern", "lengths", "shape", "same"),
    [
        ("b h w c -> b c h w", {}, (2, 3, 4, 6), lambda x: x.permute(0, 3, 1, 2)),
        ("b h w c -> (b h) w c", {}, (8, 6, 3), lambda x: x.reshape(8, 6, 3)),
        ("b h w c -> h (b w) c", {}, (4, 12, 3), lambda x: x.permute(1, 0, 2, 3).reshape(4, 12, 3)),
        ("b (h1 h) (w1 w) c -> (b h1 w1) h w c", dict(h1=2, w1=2), (8, 2, 3, 3),
         lambda x: x.reshape(2, 2, 2, 2, 3, 3).permute(0, 1, 3, 2, 4, 5).reshape(8, 2, 3, 3)),
        ("b ... c -> c ... b", {}, (3, 4, 6, 2), lambda x: x.permute(3, 1, 2, 0)),
        ("b ... -> b (...)", {}, (2, 72), lambda x: x.flatten(1)),
        ("b h w c -> b 1 h w c", {}, (2, 1, 4, 6, 3), lambda x: x.unsqueeze(1)),
    ],
)
def test_patterns(torch, rearrange, pattern, lengths, shape, same):
    x = torch.arange(144.0).reshape(2, 4, 6, 3).requires_grad_()
    y = rearrange(x, pattern, **lengths)
    assert y.shape == shape
    assert torch.equal(y, same(x))
    y.sum().backward()
    assert x.grad.sum() == 144


def test_several_tensors_are_stacked(torch, rearrange):
    assert rearrange([torch.ones(2), torch.zeros(2)], "a b -> b a").tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize(
    ("pattern", "lengths", "text"),
    [
        ("a b c -> c b a", {}, "must be equal to the number of dimensions"),
        ("a b c d e ... -> a b c d e ...", {}, "must be less than or equal to the number of dimensions"),
        ("b h w c -> b h w", {}, "Identifiers only on one side"),
        ("b b w c -> b w c", {}, "duplicate dimension"),
        ("b h w c - b", {}, "single '->' separator"),
        ("b h w 2 -> b h w 2", {}, "only supports unnamed axes of size 1"),
        ("b _h w c -> b _h w c", {}, "Invalid axis identifier"),
        ("b h w c -> b h w c", dict(q=2), "Identifiers not found"),
        ("(...) h w c -> h w c ...", {}, "Ellipsis is parenthesis in the left side"),
        ("b h w c -> ... b h w c", {}, "Ellipsis found in right side"),
    ],
)
def test_refused(torch, rearrange, pattern, lengths, text):
    with pytest.raises(ValueError, match=text):
        rearrange(torch.zeros(2, 4, 6, 3), pattern, **lengths)


@pytest.mark.parametrize(
    ("pattern", "lengths", "text"),
    [
        ("(a b) c -> a b c", dict(a=4), "does not evenly fit into larger dimension: 6 vs"),
        ("(a b) c -> a b c", dict(a=2, b=4), "Dimension sizes to do not match"),
        ("(a b) c -> a b c", {}, "cannot infer the sizes of two dimensions at once"),
        ("a c -> c a", dict(a=5), "Dimension sizes to do not match"),
    ],
)
def test_sizes_that_do_not_fit(torch, rearrange, pattern, lengths, text):
    with pytest.raises(Exception, match=text) as caught:
        rearrange(torch.zeros(6, 2), pattern, **lengths)
    assert type(caught.value).__name__ == "DimensionBindError"


@pytest.mark.parametrize(
    "text",
    ["... a ...", "... a (b ...)", "(... a) (b ...)", "a. b", "(a)) b", "(a b", "(()) a", "(a) ((b c) d)", "1a b",
        "_pre", "...pre_", "a a", "0"],
)
def test_patterns_that_cannot_be(torch, rearrange, text):
    with pytest.raises(ValueError):
        rearrange(torch.zeros(2, 3), f"{text} -> {text}")


def test_lengths_are_ints(torch, rearrange):
    with pytest.raises(TypeError, match="must be integers"):
        rearrange(torch.zeros(2), "a -> a", a=2.0)
    with pytest.warns(RuntimeWarning, match="names that are keywords: is"):
        rearrange(torch.zeros(2), "is -> is")

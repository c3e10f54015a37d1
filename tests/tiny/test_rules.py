"""Every rule of ``wengert.tiny`` against differences and against the big engine, in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wengert as torch
from wengert import tiny

if TYPE_CHECKING:
    from collections.abc import Callable

F = torch.nn.functional
CLASSES = np.array([2, 0, 1, 1])
SHARES = np.array([[0.0, 1.0, 0.3], [1.0, 0.0, 0.5]])


@dataclass
class Sample:
    """The same function on both engines, the rule that it is to use, and the shapes of its inputs."""

    rule: type[tiny.Function]
    shapes: list[tuple[int, ...]]
    small: Callable[..., Any]
    big: Callable[..., Any] | None = None  # the same code, where it runs on both
    positive: bool = False
    below_one: bool = False

    def inputs(self) -> list[np.ndarray]:
        random = np.random.default_rng(sum(map(sum, self.shapes)) + len(self.shapes))
        arrays = [random.normal(size=shape) for shape in self.shapes]
        if self.below_one:
            return [0.1 + 0.8 / (1 + np.exp(-a)) for a in arrays]
        return [np.abs(a) + 0.5 for a in arrays] if self.positive else arrays


SAMPLES = {
    "add": Sample(tiny.AddBackward, [(3, 4), (3, 4)], lambda a, b: a + b),
    "add a row": Sample(tiny.AddBackward, [(3, 4), (4,)], lambda a, b: a + b),
    "add a column": Sample(tiny.AddBackward, [(1, 4), (3, 1)], lambda a, b: a + b),
    "add one number to many": Sample(tiny.AddBackward, [(), (2, 3, 4)], lambda a, b: a + b),
    "add a number": Sample(tiny.AddBackward, [(3,)], lambda a: 2 + a + 1.5),
    "add to itself": Sample(tiny.AddBackward, [(3,)], lambda a: a + a),
    "sub": Sample(tiny.SubBackward, [(2, 1, 4), (3, 1)], lambda a, b: a - b),
    "sub from a number": Sample(tiny.SubBackward, [(3,)], lambda a: 1 - (a - 2.5)),
    "mul": Sample(tiny.MulBackward, [(3, 4), (3, 1)], lambda a, b: a * b),
    "mul by a number": Sample(tiny.MulBackward, [(3,)], lambda a: 2 * a * 1.5),
    "square": Sample(tiny.MulBackward, [(3,)], lambda a: a * a),
    "div": Sample(tiny.DivBackward, [(3, 4), (4,)], lambda a, b: a / b, positive=True),
    "div of a number": Sample(tiny.DivBackward, [(3,)], lambda a: 2 / (a / 3), positive=True),
    "pow": Sample(tiny.PowBackward, [(3, 4), (4,)], lambda a, b: a**b, positive=True),
    "pow of a number": Sample(tiny.PowBackward, [(3,)], lambda a: 2**a),
    "cube": Sample(tiny.PowBackward, [(3,)], lambda a: a**3),
    "root": Sample(tiny.PowBackward, [(3,)], lambda a: a**0.5, positive=True),
    "neg": Sample(tiny.NegBackward, [(3,)], lambda a: -a),
    "matmul": Sample(tiny.MatmulBackward, [(3, 4), (4, 2)], lambda a, b: a.matmul(b)),
    "stack @ stack": Sample(tiny.MatmulBackward, [(5, 3, 4), (5, 4, 2)], lambda a, b: a @ b),
    "stack @ matrix": Sample(tiny.MatmulBackward, [(5, 3, 4), (4, 2)], lambda a, b: a @ b),
    "matrix @ stack": Sample(tiny.MatmulBackward, [(3, 4), (5, 4, 2)], lambda a, b: a @ b),
    "stacks that repeat": Sample(tiny.MatmulBackward, [(2, 1, 3, 4), (5, 4, 2)], lambda a, b: a @ b),
    "vector @ vector": Sample(tiny.MatmulBackward, [(4,), (4,)], lambda a, b: a @ b),
    "vector @ matrix": Sample(tiny.MatmulBackward, [(4,), (4, 2)], lambda a, b: a @ b),
    "matrix @ vector": Sample(tiny.MatmulBackward, [(3, 4), (4,)], lambda a, b: a @ b),
    "vector @ stack": Sample(tiny.MatmulBackward, [(4,), (5, 4, 2)], lambda a, b: a @ b),
    "stack @ vector": Sample(tiny.MatmulBackward, [(5, 3, 4), (4,)], lambda a, b: a @ b),
    "stack of one @ vector": Sample(tiny.MatmulBackward, [(1, 1, 4), (4,)], lambda a, b: a @ b),
    "vector @ matrix of one column": Sample(tiny.MatmulBackward, [(4,), (4, 1)], lambda a, b: a @ b),
    "sum": Sample(tiny.SumBackward, [(3, 4)], lambda a: a.sum()),
    "sum over an axis": Sample(tiny.SumBackward, [(3, 4)], lambda a: a.sum(axis=1), lambda a: a.sum(1)),
    "sum over the first": Sample(tiny.SumBackward, [(3, 3)], lambda a: a.sum(0)),
    "sum over axes": Sample(tiny.SumBackward, [(2, 3, 4)], lambda a: a.sum((0, -1))),
    "sum that keeps": Sample(tiny.SumBackward, [(3, 4)], lambda a: a.sum(axis=-1, keepdims=True),
        lambda a: a.sum(-1, keepdim=True)),
    "sum of all that keeps": Sample(tiny.SumBackward, [(3, 4)], lambda a: a.sum(keepdims=True),
        lambda a: a.sum((0, 1), keepdim=True)),
    "mean": Sample(tiny.MeanBackward, [(3, 4)], lambda a: a.mean()),
    "mean over an axis": Sample(tiny.MeanBackward, [(3, 4)], lambda a: a.mean(0)),
    "mean that keeps": Sample(tiny.MeanBackward, [(2, 3, 4)], lambda a: a.mean(axis=(1, 2), keepdims=True),
        lambda a: a.mean((1, 2), keepdim=True)),
    "max": Sample(tiny.MaxBackward, [(3, 4)], lambda a: a.max()),
    "max over an axis": Sample(tiny.MaxBackward, [(3, 4)], lambda a: a.max(axis=1), lambda a: a.amax(1)),
    "max that keeps": Sample(tiny.MaxBackward, [(3, 4)], lambda a: a.max(axis=0, keepdims=True),
        lambda a: a.amax(0, keepdim=True)),
    "reshape": Sample(tiny.ReshapeBackward, [(3, 4)], lambda a: a.reshape(2, 6)),
    "reshape by a tuple": Sample(tiny.ReshapeBackward, [(3, 4)], lambda a: a.reshape((2, -1, 3))),
    "transpose": Sample(tiny.TransposeBackward, [(2, 3, 4)], lambda a: a.transpose(), lambda a: a.transpose(-2, -1)),
    "transpose of two": Sample(tiny.TransposeBackward, [(2, 3, 4)], lambda a: a.transpose(0, 2)),
    "T": Sample(tiny.TransposeBackward, [(3, 4)], lambda a: a.T),
    "permute": Sample(tiny.PermuteBackward, [(2, 3, 4)], lambda a: a.permute(2, 0, 1)),
    "permute by a tuple": Sample(tiny.PermuteBackward, [(2, 3, 4)], lambda a: a.permute((-1, 0, 1))),
    "item": Sample(tiny.SliceBackward, [(3, 4)], lambda a: a[1]),
    "slices": Sample(tiny.SliceBackward, [(3, 4)], lambda a: a[1:, ::2]),
    "new axes": Sample(tiny.SliceBackward, [(3, 4)], lambda a: a[None, ..., 2]),
    "repeated indices": Sample(tiny.SliceBackward, [(3, 4)], lambda a: a[[0, 2, 0, 0]]),
    "pairs of indices": Sample(tiny.SliceBackward, [(3, 4)], lambda a: a[[0, 2, 0], [1, 1, 1]]),
    "mask": Sample(tiny.SliceBackward, [(3, 4)], lambda a: a[a > 0]),
    "indices in a tensor": Sample(tiny.SliceBackward, [(3, 4)], lambda a: a[tiny.Tensor([0, 2, 0])],
        lambda a: a[torch.tensor([0, 2, 0])]),
    "relu": Sample(tiny.ReLUBackward, [(3, 4)], tiny.ReLU(), F.relu),
    "sigmoid": Sample(tiny.SigmoidBackward, [(3, 4)], tiny.Sigmoid(), F.sigmoid),
    "tanh": Sample(tiny.TanhBackward, [(3, 4)], tiny.Tanh(), F.tanh),
    "gelu": Sample(tiny.GELUBackward, [(3, 4)], tiny.GELU(), F.gelu),
    "softmax": Sample(tiny.SoftmaxBackward, [(3, 4)], tiny.Softmax(), lambda a: F.softmax(a, dim=-1)),
    "softmax over another axis": Sample(tiny.SoftmaxBackward, [(2, 3, 4)], lambda a: tiny.Softmax()(a, dim=1),
        lambda a: F.softmax(a, dim=1)),
    "softmax of one axis": Sample(tiny.SoftmaxBackward, [(2, 3)], tiny.Softmax(dim=0), lambda a: F.softmax(a, dim=0)),
    "mse": Sample(tiny.MSEBackward, [(2, 3)], lambda a: tiny.MSELoss()(a, SHARES),
        lambda a: F.mse_loss(a, torch.tensor(SHARES))),
    "mse of a row": Sample(tiny.MSEBackward, [(3,)], lambda a: tiny.MSELoss()(a, SHARES),
        lambda a: ((a - torch.tensor(SHARES)) ** 2).mean()),
    "binary cross entropy": Sample(tiny.BCEBackward, [(2, 3)], lambda a: tiny.BinaryCrossEntropyLoss()(a, SHARES),
        lambda a: F.binary_cross_entropy(a, torch.tensor(SHARES)), below_one=True),
    "cross entropy": Sample(tiny.CrossEntropyBackward, [(4, 3)], lambda a: tiny.CrossEntropyLoss()(a, CLASSES),
        lambda a: F.cross_entropy(a, torch.tensor(CLASSES))),
    "cross entropy of sequences": Sample(tiny.CrossEntropyBackward, [(2, 2, 3)],
        lambda a: tiny.CrossEntropyLoss()(a, CLASSES.reshape(2, 2)),
        lambda a: F.cross_entropy(a.reshape(4, 3), torch.tensor(CLASSES))),
}


def both_ways(sample):
    """The value and the gradients of a weighted sum, from the small engine; the weights."""
    leaves = [tiny.Tensor(a, requires_grad=True, dtype=np.float64) for a in sample.inputs()]
    result = sample.small(*leaves)
    weights = np.random.default_rng(1).normal(size=result.shape)
    result.backward(weights)
    return result, [leaf.grad for leaf in leaves], weights


def differences(function, arrays, at, step=1e-6):
    """The derivative of ``function(arrays)`` by each number of ``arrays[at]``."""
    found = np.zeros_like(arrays[at])
    for index in np.ndindex(found.shape):
        values = []
        for sign in (1, -1):
            moved = [a.copy() for a in arrays]
            moved[at][index] += sign * step
            values.append(function(moved))
        found[index] = (values[0] - values[1]) / (2 * step)
    return found


@pytest.mark.parametrize("name", SAMPLES)
def test_differences(name):
    sample = SAMPLES[name]
    result, grads, weights = both_ways(sample)
    assert result.dtype == np.float64 and type(result._grad_fn) is sample.rule

    def value(arrays):
        return float((sample.small(*(tiny.Tensor(a, dtype=np.float64) for a in arrays)).data * weights).sum())

    arrays = sample.inputs()
    for at, grad in enumerate(grads):
        assert type(grad) is np.ndarray and grad.shape == arrays[at].shape and grad.dtype == np.float64
        np.testing.assert_allclose(grad, differences(value, arrays, at), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_big_engine(name):
    sample = SAMPLES[name]
    result, grads, weights = both_ways(sample)
    leaves = [torch.tensor(a, requires_grad=True) for a in sample.inputs()]
    expected = (sample.big or sample.small)(*leaves)
    expected.backward(torch.tensor(weights))
    np.testing.assert_allclose(result.data, expected.detach().numpy(), rtol=1e-12, atol=1e-14)
    for grad, leaf in zip(grads, leaves):
        np.testing.assert_allclose(grad, leaf.grad.numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", SAMPLES)
def test_rules_alone_give_the_shapes_of_inputs(name):
    """So that whoever walks the graph has nothing to sum."""
    result, _, weights = both_ways(SAMPLES[name])
    grads = result._grad_fn.apply(weights)
    assert isinstance(grads, tuple) and any(g is not None for g in grads)
    for t, g in zip(result._grad_fn.saved_tensors, grads):
        assert (g is not None or not t.requires_grad) and (g is None or g.shape == t.shape)


def test_every_rule_has_a_sample():
    rules = {c for c in vars(tiny).values() if isinstance(c, type) and issubclass(c, tiny.Function)} - {tiny.Function}
    assert rules == {sample.rule for sample in SAMPLES.values()} and len(rules) == 22


def test_differences_find_a_wrong_rule(monkeypatch):
    monkeypatch.setattr(tiny.DivBackward, "rules", (lambda g, a, b: g / b, lambda g, a, b: -g * a / b))
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        test_differences("div")


@pytest.mark.parametrize("a, b, by_a, by_b", [
    (0.0, 2.0, 0.0, 0.0),
    (0.0, 1.0, 1.0, 0.0),
    (0.0, 0.0, 0.0, 0.0),
    (-2.0, 3.0, 12.0, np.nan),
    (-2.0, 0.0, 0.0, np.nan),
])
def test_powers_at_the_edges(a, b, by_a, by_b):
    x, y = tiny.Tensor(a, requires_grad=True), tiny.Tensor(b, requires_grad=True)
    with np.errstate(invalid="ignore"):
        (x**y).backward()
    assert x.grad == by_a and np.array_equal(y.grad, by_b, equal_nan=True)


def test_ties_share_the_gradient_of_a_maximum():
    x = tiny.Tensor([[2, 2, 1], [0, 3, 3]], requires_grad=True)
    x.max(axis=1).backward([1, 4])
    assert x.grad.tolist() == [[0.5, 0.5, 0], [0, 2, 2]]


def test_what_is_not_wanted_is_not_computed(monkeypatch):
    def refuse(*_):
        raise AssertionError("computed")

    monkeypatch.setattr(tiny.MulBackward, "rules", (lambda g, a, b: g * b, refuse))
    x, data = tiny.Tensor([2.0], requires_grad=True), tiny.Tensor([3.0])
    (x * data).backward()
    assert x.grad == 3 and data.grad is None
    with pytest.raises(AssertionError, match="computed"):
        (data * x).backward()


def test_numerical_gradient():
    x = tiny.Tensor([[1.0, -2.0]], requires_grad=True, dtype=np.float64)
    before = x.data.copy()
    found = tiny.numerical_gradient(lambda t: (t * t * t).sum(), x)
    np.testing.assert_allclose(found, 3 * before**2, rtol=1e-8)
    assert np.array_equal(x.data, before) and x.grad is None

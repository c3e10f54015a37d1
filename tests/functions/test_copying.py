"""Copies and pickles of tensors."""

from __future__ import annotations

import copy
import pickle

import pytest


def again(x, protocol=None):
    return pickle.loads(pickle.dumps(x, protocol))


def test_leaves(torch):
    x = torch.ones(2, requires_grad=True)
    x.grad = torch.full((2,), 3.0)
    for twin in (copy.deepcopy(x), again(x)):
        assert twin.requires_grad and twin.is_leaf and twin.tolist() == [1.0, 1.0] and twin.data_ptr() != x.data_ptr()
    assert (copy.deepcopy(x).grad.tolist() == [3.0, 3.0] and copy.deepcopy(x).grad is not x.grad
        and again(x).grad is None)
    with torch.no_grad():
        assert copy.deepcopy(x).requires_grad
    assert all(again(x, p).tolist() == [1.0, 1.0] for p in range(6))


def test_results(torch):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user .graph leaves. support the "
            "deepcopy protocol at the moment"):
        copy.deepcopy(x * 2)
    twin = again(x * 2)
    assert twin.requires_grad and twin.is_leaf and twin.tolist() == [2.0, 2.0]


def test_deepcopy_keeps_what_is_shared(torch):
    base = torch.arange(6.0)
    a, b, c = copy.deepcopy([base[:3], base[2:], base])
    a[2] = 100
    assert b[0] == 100 and c[2] == 100 and base[2] == 2
    first, second = copy.deepcopy([base, base])
    assert first is second
    turned = copy.deepcopy(torch.arange(6.0).view(2, 3).t())
    assert turned.stride() == (1, 3) and turned.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    assert copy.deepcopy(torch.ones(1).expand(3)).stride() == (0,)


def test_attributes(torch):
    x = torch.ones(2)
    x.tag = [5]
    twin = copy.deepcopy(x)
    assert twin.tag == [5] and twin.tag is not x.tag
    p = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    p.tag = [1]
    assert type(copy.deepcopy(p)) is torch.nn.Parameter and not copy.deepcopy(p).requires_grad
    assert again(p).tag == [1] and type(again(p)) is torch.nn.Parameter and not again(p).requires_grad


def test_copy(torch):
    x = torch.ones(2, requires_grad=True)
    twin = copy.copy(x)
    assert twin is not x and twin.requires_grad and twin.is_leaf and twin.data_ptr() == x.data_ptr()


def test_hooks_stay_behind(torch):
    x = torch.ones(2, requires_grad=True)
    x.register_hook(print)
    with pytest.warns(UserWarning, match="will not be serialized"):
        assert again(x).requires_grad


def test_other_things_than_tensors(torch):
    assert again(torch.float32) is torch.float32 and again(torch.strided) is torch.strided
    assert again(torch.device("cpu")) == torch.device("cpu") and again(torch.Size([1, 2])) == torch.Size([1, 2])
    for name in ("float16", "bfloat16", "complex64", "int8", "bool", "float64"):
        assert again(torch.ones(1).to(getattr(torch, name))).dtype == getattr(torch, name)


def test_results_of_custom_functions(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    y = Double.apply(torch.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="support the deepcopy protocol"):
        copy.deepcopy(y)
    assert again(y.detach()).tolist() == [2.0, 2.0]


def test_subclasses_keep_their_class(torch):
    twin = again(Labelled.make(torch))
    assert type(twin).__name__ == "Labelled" and twin.label == "m" and twin.tolist() == [1.0, 1.0]


class Labelled:
    """Makes a subclass that pickle can find: each library has its own."""

    @staticmethod
    def make(torch):
        kind = type("Labelled", (torch.Tensor,), {"__module__": __name__, "__qualname__": f"Labelled.{torch.__name__}"})
        setattr(Labelled, torch.__name__, kind)
        x = torch.ones(2).as_subclass(kind)
        x.label = "m"
        return x


def test_functions_and_modules_that_hold_them(torch):
    F = torch.nn.functional
    for name in ("relu", "gelu", "conv2d", "softmax", "mse_loss", "dropout", "relu_"):
        assert pickle.loads(pickle.dumps(getattr(F, name))) is getattr(F, name)
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8)
    again = pickle.loads(pickle.dumps(layer))
    x = torch.randn(3, 1, 4)
    assert again.activation is F.relu and torch.equal(again.eval()(x), layer.eval()(x))

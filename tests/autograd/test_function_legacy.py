"""What is left of custom Functions from before static methods: ``NestedIOFunction``, ``Type``, ``Resize``."""

from __future__ import annotations

import collections
import importlib
import warnings

import pytest


@pytest.fixture
def old(torch):
    """An instance of a ``NestedIOFunction`` that gives back what it is given."""

    class Nested(torch.autograd.function.NestedIOFunction):
        def forward_extended(self, *args):
            return args

        def backward_extended(self, *grads):
            return grads

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return Nested()


def test_a_nested_function_cannot_be_called_any_more(torch, old):
    for call in (old, old._do_forward):
        with pytest.raises(AttributeError, match="_do_forward"):
            call(torch.ones(1))
    with pytest.raises(AttributeError, match="_do_backward"):
        old._do_backward((torch.ones(1),), False)
    with pytest.raises(AttributeError):
        type(old).apply(torch.ones(1))
    base = torch.autograd.function.NestedIOFunction
    for name in ("forward_extended", "backward_extended"):
        with pytest.raises(NotImplementedError):
            getattr(base, name)(old, 3)


def test_a_nested_function_takes_structures_apart(torch, old):
    x, y = torch.ones(1), torch.ones(2)
    old._nested_input = (x, {"a": [y]})
    row = old.forward()
    assert [t.numel() for t in row] == [1, 2] and not hasattr(old, "_nested_input")
    assert old._nested_output[1]["a"][0].numel() == 2
    old._nested_output = (x, [x, None, x])
    found = old.backward(*(torch.full((n,), 1.0) for n in (1, 2, 3)))
    assert [None if t is None else t.numel() for t in found] == [1, 2, None, 3]
    old.mark_dirty(x, [x, (y,)], k={"a": x})
    old.mark_non_differentiable(x, [y, None])
    old.save_for_backward(x, [x, (y, None)], {"a": y})
    assert len(old.dirty_tensors) == 4 and len(old.non_differentiable) == 2 and len(old.to_save) == 4
    with pytest.raises(IndexError):  # nothing was recorded that could give them back
        old.saved_tensors
    with pytest.raises(ValueError,
            match="doesn't know how to process an input object of type int. Accepted types: Tensors, or lists"):
        old.mark_dirty(3)


def test_helpers_for_nested_values(torch):
    f = torch.autograd.function
    x = torch.ones(1, requires_grad=True)
    assert [t is x for t in f._iter_tensors([x, (x, None), {"k": x}])] == [True] * 3
    assert list(f._iter_tensors_permissive([3, None, "a"])) == [3, "a"]
    assert list(f._iter_None_tensors([None, (None,)])) == [None, None]
    pair = collections.namedtuple("pair", "a b")
    found = f._map_tensor_data(pair(x, [x]))
    assert type(found) is pair and not found.a.requires_grad and not found.b[0].requires_grad
    assert f._unflatten([1, 2, 3], [0, [0, None, (0,)]]) == [1, [2, None, (3,)]]
    assert (f._nested_map(lambda o: isinstance(o, int), lambda o: o + 1)((1, [2, None], {"a": 3})) == (2, [3, None],
        {"a": 4}))
    with pytest.raises(ValueError, match="type str. Accepted types: Tensors or None, or lists/tuples of them"):
        list(f._iter_None_tensors(["a"]))
    with pytest.raises(ValueError, match="input object of type int$"):
        f._nested_map(lambda o: False, None)(3)
    hooks, handle = f._HookMixin._register_hook(None, print)
    assert list(hooks.values()) == [print]
    again, _ = f._HookMixin._register_hook(hooks, len)
    assert again is hooks and len(hooks) == 2
    handle.remove()
    assert list(hooks.values()) == [len]


def test_type_and_resize(torch):
    module = importlib.import_module(f"{torch.__name__}.autograd._functions.tensor")
    x = torch.ones(2, 3, requires_grad=True)
    with pytest.warns(FutureWarning, match="Type` is deprecated"):
        y = module.Type.apply(x, torch.float64)
    assert y.dtype is torch.float64 and y.grad_fn.name() == "TypeBackward"
    y.sum().backward()
    assert x.grad.dtype is torch.float32 and x.grad.sum() == 6
    y = module.Resize.apply(x.t(), (2, 3))
    y[0].sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0, 1.0], [2.0, 1.0, 1.0]]
    with pytest.raises(RuntimeError, match="requested resize to 4x2 \\(8 elements in total\\)"):
        module.Resize.apply(x, (4, 2))

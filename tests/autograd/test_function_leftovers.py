"""Custom Functions: what their context can do inside of ``forward``, and what is left of the time before static
methods.
"""

from __future__ import annotations

import collections
import importlib
import warnings

import pytest


def define(torch, forward, backward=lambda ctx, g: g * 2, **members):
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward), **members}
    return type("Doubled", (torch.autograd.Function,), methods)


def in_forward(torch, look):
    """What ``look(ctx, x)`` gives inside of a forward."""
    seen = []

    def forward(ctx, x):
        seen.append(look(ctx, x))
        return x * 2

    result = define(torch, forward).apply(torch.ones(2, requires_grad=True))
    result.sum().backward()
    return seen[0]


def test_the_context_is_a_node_already_in_forward(torch):
    def look(ctx, x):
        return ctx.next_functions, list(ctx._input_metadata), ctx._sequence_nr(), ctx.name(), ctx.metadata

    (edge,), metadata, number, name, facts = in_forward(torch, look)
    assert edge[0].name() == "torch::autograd::AccumulateGrad" and edge[1] == 0
    assert metadata == [] and isinstance(number, int) and name == "DoubledBackward" and facts == {}
    with pytest.raises(AttributeError, match="shape"):
        in_forward(torch, lambda ctx, x: ctx.shape)


def test_hooks_registered_in_forward_are_called(torch):
    seen = []

    def forward(ctx, x):
        ctx.register_hook(lambda inputs, outputs: seen.append(("post", len(inputs), len(outputs))))
        ctx.register_prehook(lambda outputs: seen.append(("pre", len(outputs))))
        return x * 2

    define(torch, forward).apply(torch.ones(2, requires_grad=True)).sum().backward()
    assert seen == [("pre", 1), ("post", 1, 1)]


def test_nothing_is_marked_before_it_is(torch):
    assert (in_forward(torch, lambda ctx, x: (ctx.dirty_tensors, ctx.non_differentiable, ctx.to_save)) == (None, None,
        None))

    def mark(ctx, x):
        ctx.mark_dirty()
        ctx.mark_non_differentiable()
        return ctx.dirty_tensors, ctx.non_differentiable

    assert in_forward(torch, mark) == ((), ())


def test_what_a_context_is(torch):
    function = torch.autograd.function
    base = torch._C._FunctionBase

    def look(ctx, x):
        assert isinstance(ctx, (function.FunctionCtx, base)) and isinstance(ctx, function.BackwardCFunction)
        assert not isinstance(ctx, torch.autograd.Function)
        return (type(ctx._autograd_function_id), ctx._compiled_autograd_key() == (ctx._autograd_function_id,),
            ctx._get_user_fn()(None, 3))

    assert in_forward(torch, look) == (int, True, 6)
    assert issubclass(torch.autograd.Function, base) and base.__name__ == "_FunctionBase"
    assert function._ContextMethodMixin is function.FunctionCtx
    one, other = (define(torch, lambda ctx, x: x)._backward_cls._autograd_function_id for _ in range(2))
    assert one < other


def test_only_tensors_are_saved_for_forward(torch):
    with pytest.raises(AssertionError, match="save_for_forward expects all arguments to be tensors"):
        in_forward(torch, lambda ctx, x: ctx.save_for_forward(x, 3))

    def look(ctx, x):
        ctx.save_for_forward(x, None)
        return ctx.saved_for_forward[0] is x and ctx.saved_for_forward[1] is None

    assert in_forward(torch, look)


def test_mark_shared_storage_warns(torch):
    with pytest.warns(FutureWarning, match="`mark_shared_storage` is deprecated"):
        assert in_forward(torch, lambda ctx, x: ctx.mark_shared_storage((x, x))) is None


@pytest.mark.parametrize("once", [False, True])
def test_saved_tensors_let_go_of_by_hand_are_freed(torch, once):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        ctx.maybe_clear_saved_tensors()
        return ctx.saved_tensors

    f = define(torch, forward, backward, clear_saved_tensors_on_access=once)
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        f.apply(torch.ones(2, requires_grad=True)).sum().backward()


def test_apply_boxed_hands_its_arguments_on(torch):
    seen = []

    def backward(ctx, *args):
        seen.append(args)
        return torch.ones(1)

    node = define(torch, lambda ctx, x: x * 2, backward).apply(torch.ones(1, requires_grad=True)).grad_fn
    g = torch.ones(1)
    node.apply_boxed([g])
    node.apply_boxed(g)
    node.apply(g)
    assert [len(args) for args in seen] == [1, 1, 1] and seen[0][0] == [g] and seen[1][0] is g and seen[2][0] is g
    boxed = (define(torch, lambda ctx, x: x * 2, backward,
        boxed_grads_call=True).apply(torch.ones(1, requires_grad=True)).grad_fn)
    boxed.apply(g)
    assert seen[3] == ([g],)


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


def test_the_two_functions_of_old_times(torch):
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

"""Custom Functions."""

from __future__ import annotations

import pytest

from tests.makers import ramp_leaf


def test_forward_and_backward(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            ctx.save_for_backward(x)
            assert ctx.needs_input_grad == (True, False)
            return x * factor

        @staticmethod
        def backward(ctx, g):
            assert len(ctx.saved_tensors) == 1
            return g * ctx.factor, None

    x = torch.ones(2, requires_grad=True)
    y = Scale.apply(x, 3.0)
    assert type(y.grad_fn).__name__ == "ScaleBackward"
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_setup_context(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = torch.tensor(3.0, requires_grad=True)
    (g,) = torch.autograd.grad(Square.apply(x), x, create_graph=True)
    (second,) = torch.autograd.grad(g, x)
    assert g.item() == 6.0 and second.item() == 2.0


def test_several_outputs_and_undefined_gradients(torch):
    seen = []

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append((a, b))
            return 2 * a + 3 * b

    class TwoRaw(Two):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append((a, b))
            return 2 * a

    x = torch.ones(1, requires_grad=True)
    Two.apply(x)[0].backward()
    assert x.grad.item() == 2.0 and seen[0][1].item() == 0.0
    TwoRaw.apply(x)[0].backward()
    assert seen[1][1] is None


def test_non_differentiable_outputs(torch):
    class Split(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            index = x.argmax()
            ctx.mark_non_differentiable(index)
            return x * 1, index

        @staticmethod
        def backward(ctx, g, _):
            return g

    y, index = Split.apply(torch.tensor([1.0, 3.0], requires_grad=True))
    assert y.requires_grad and not index.requires_grad and index.item() == 1


def test_in_place(torch):
    class AddOne(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 5

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = AddOne.apply(y)
    assert z is y and y.tolist() == [3.0, 3.0]
    z.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]


def test_wrong_number_of_gradients(torch):
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="returned an incorrect number of gradients"):
        Wrong.apply(x, x).backward()


def test_once_differentiable(torch):
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 2

    x = torch.ones(1, requires_grad=True)
    (g,) = torch.autograd.grad(Once.apply(x), x, torch.ones(1, requires_grad=True), create_graph=True)
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        g.backward()


def test_saved_outputs_make_no_cycle(torch):
    import gc
    import weakref

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

    gc.disable()
    try:
        x = torch.ones(1, requires_grad=True)
        y = Exp.apply(x)
        alive = weakref.ref(y)
        y.backward()
        del y
        assert alive() is None
    finally:
        gc.enable()


def test_the_users_traceback_arrives(torch):
    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("my own mistake")

    x = torch.ones(1, requires_grad=True)
    with pytest.raises(ValueError, match="my own mistake"):
        Broken.apply(x).backward()
    (x * 2).backward()
    assert x.grad.item() == 2.0


def make(torch, forward, backward=None, setup_context=None, name="My", **more):
    """A Function class of these static methods."""
    members = {"forward": forward, "backward": backward, "setup_context": setup_context, **more}
    return type(name, (torch.autograd.Function,), {k: staticmethod(v) for k, v in members.items() if v is not None})


def vector(torch, *values, requires_grad=True):
    return torch.tensor(list(values), requires_grad=requires_grad)


def change(ctx, x):
    x.mul_(2)
    ctx.mark_dirty(x)
    return x


@pytest.mark.parametrize("kept", [3, "text", [1.0]])
def test_only_tensors_are_saved(torch, kept):
    def forward(ctx, x):
        ctx.save_for_backward(x, kept)
        return x * 2

    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 1 is of type"):
        make(torch, forward, lambda ctx, g: g).apply(vector(torch, 1.0))


def test_saved_none_and_the_same_tensor_twice(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x, None, x)
        return x * x

    def backward(ctx, g):
        a, nothing, b = ctx.saved_tensors
        assert nothing is None and a.tolist() == b.tolist() == ctx.saved_tensors[0].tolist()
        return g * (a + b)

    x = vector(torch, 3.0)
    y = make(torch, forward, backward).apply(x)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [12.0]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    with pytest.raises(RuntimeError, match="directly access saved tensors after they have already been freed"):
        y.grad_fn.saved_tensors
    assert y.grad_fn.to_save is None


def test_saved_tensors_take_hooks(torch):
    def forward(ctx, x):
        ctx.save_for_backward(x, x * 2)
        return x * 1

    x = vector(torch, 2.0)
    y = make(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
    first, _ = y.grad_fn._raw_saved_tensors
    first.register_hooks(lambda t: t * 3, lambda t: t)
    y.backward()
    assert x.grad.tolist() == [6.0]


def test_both_forms_mixed(torch):
    with pytest.raises(TypeError, match="missing a required argument"):
        make(torch, lambda ctx, x: x * 2, lambda ctx, g: g, lambda ctx, inputs, output: None).apply(vector(torch, 1.0))
    x = vector(torch, 1.0)
    make(torch, lambda ctx, x: x * 2, vjp=lambda ctx, g: g * 7).apply(x).backward()
    assert x.grad.tolist() == [7.0]
    both = make(torch, lambda ctx, x: x * 2, lambda ctx, g: g, vjp=lambda ctx, g: g)
    with pytest.raises(RuntimeError,
            match="Implementing both 'backward' and 'vjp' for a custom Function is not allowed"):
        both.apply(x).backward()


def test_methods_that_are_not_there(torch):
    class Empty(torch.autograd.Function):
        pass

    x = vector(torch, 1.0)
    with pytest.raises(NotImplementedError,
            match="You must implement the forward function for custom autograd.Function"):
        Empty.apply(x)
    y = make(torch, lambda ctx, x: x * 2).apply(x)
    with pytest.raises(NotImplementedError,
            match="You must implement either the backward or vjp method for your custom autograd.Function"):
        y.backward()
    with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
        Empty.jvp(None)
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = Empty()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method is deprecated"):
        instance(x)


def test_keyword_arguments_count_by_position(torch):
    seen = []

    def forward(ctx, x, k=2, j=1):
        seen.append(ctx.needs_input_grad)
        return x * k * j

    f = make(torch, forward, lambda ctx, *g: (g[0] * 5, g[0] * 7, g[0] * 9))
    x, k, j = vector(torch, 1.0), vector(torch, 3.0), vector(torch, 4.0)
    f.apply(x, j=j, k=k).backward()
    assert [t.grad.item() for t in (x, k, j)] == [5.0, 7.0, 9.0] and seen == [(True, True, True)]
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        f.apply(x, other=3)


def test_setup_context_gets_the_defaults(torch):
    seen = []
    f = make(torch, lambda x, k=2: x * k, lambda ctx, g: (g, None), lambda ctx, inputs, output: seen.append(inputs))
    f.apply(vector(torch, 1.0)).backward()
    assert len(seen[0]) == 2 and seen[0][1] == 2


def test_needs_input_grad_does_not_ask_for_the_mode(torch):
    seen = []

    def forward(ctx, *args):
        seen.append((ctx.needs_input_grad, torch.is_grad_enabled()))
        return args[0] * 2

    f = make(torch, forward)
    x, z = vector(torch, 1.0), vector(torch, 1.0, requires_grad=False)
    f.apply(x, z, 3, None)
    with torch.no_grad():
        y = f.apply(x, z, 3, [x])
    assert seen == [((True, False, False, False), False)] * 2 and not y.requires_grad


@pytest.mark.parametrize(
    ("backward", "message"),
    [
        (lambda ctx, g: (g, g, g), "returned an incorrect number of gradients .expected 2, got 3."),
        (lambda ctx, g: [g, None], "returned an incorrect number of gradients .expected 2, got 1."),
        (lambda ctx, g: (g, g), "returned a gradient different than None at position 2, but the corresponding forward "
            "input was not a Variable"),
        (lambda ctx, g: (5.0, None), "expected Variable or None .got float."),
        (lambda ctx, g: (g.new_ones(3), None),
            "MyBackward returned an invalid gradient at index 0 - got .3. but expected shape compatible with .2."),
    ],
)
def test_wrong_gradients(torch, backward, message):
    x = vector(torch, 1.0, 2.0)
    y = make(torch, lambda ctx, x, k: x * k, backward).apply(x, 3)
    with pytest.raises(RuntimeError, match=message):
        y.sum().backward()
    assert x.grad is None


def test_gradients_are_fitted(torch):
    for g in (torch.ones(3, 2), torch.tensor([3.0, 3.0], dtype=torch.float64), torch.tensor([3, 3]),
            torch.ones(1).expand(2) * 3):
        x = vector(torch, 1.0, 2.0)
        make(torch, lambda ctx, x: x * 2, lambda ctx, _, g=g: g).apply(x).sum().backward()
        assert x.grad.tolist() == [3.0, 3.0] and x.grad.dtype == torch.float32
    x = vector(torch, 1.0)
    with pytest.raises(RuntimeError, match="input_is_complex == grad_is_complex"):
        make(torch, lambda ctx, x: x * 2, lambda ctx, g: torch.tensor([1j])).apply(x).backward()
    make(torch, lambda ctx, x: x * 2, lambda ctx, g: (g, None, None)).apply(x).backward()
    assert x.grad.tolist() == [1.0]


def test_none_goes_on_as_zeros_or_none(torch):
    seen = []

    def unmaterialized(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    nothing = make(torch, lambda ctx, x: x * 2, lambda ctx, g: None)
    for forward in (lambda ctx, x: x * 2, unmaterialized):
        x = vector(torch, 1.0, 2.0)
        f = make(torch, forward, lambda ctx, g: seen.append(g))
        nothing.apply(f.apply(x)).sum().backward()
        assert x.grad is None
    assert seen[0].tolist() == [0.0, 0.0] and seen[1] is None
    with pytest.raises(TypeError, match="set_materialize_grads"):
        make(torch, lambda ctx, x: ctx.set_materialize_grads(3)).apply(x)


def test_outputs_of_other_kinds(torch):
    x = vector(torch, 1.5)
    f = make(torch, lambda ctx, x: (x * 2, None, "a", x.long(), x > 0), lambda ctx, *g: (g[0], seen.append(g))[0])
    seen = []
    out = f.apply(x)
    out[0].backward()
    assert out[1:3] == (None, "a") and [t.requires_grad for t in out[3:]] == [False, False]
    assert seen[0][1] is None and seen[0][2] is None
    for value in (3, None, {"a": 1}, "text"):
        assert make(torch, lambda ctx, x, value=value: value).apply(x) == value
    listed = make(torch, lambda ctx, x: [x * 2]).apply(x)
    assert type(listed) is list and not listed[0].requires_grad
    assert make(torch, lambda ctx: torch.ones(2)).apply().grad_fn is None


def test_names_and_attributes_of_the_node(torch):
    function = torch.autograd.function

    def forward(ctx, x, k, z):
        ctx.mine = [k]
        return x * k

    f = make(torch, forward, lambda ctx, g: (g, None, None), name="Scale")
    node = f.apply(vector(torch, 1.0), 3, vector(torch, 1.0, requires_grad=False)).grad_fn
    assert (node.name() == type(node).__name__ == "ScaleBackward" and "torch.autograd.function.ScaleBackward "
        "object" in repr(node))
    assert node.mine == [3] and node.metadata == {} and node._sequence_nr() >= 0
    assert len(node.next_functions) == 2 and node.next_functions[1] == (None, 0)
    assert (isinstance(node, function.BackwardCFunction) and isinstance(node, function.FunctionCtx)
        and type(node)._forward_cls is f)
    assert (isinstance(node, torch.autograd.graph.Node) and isinstance(f, function.FunctionMeta)
        and issubclass(f, function.FunctionCtx))
    assert (issubclass(function.InplaceFunction, f.__mro__[1])
        and issubclass(function.NestedIOFunction, torch.autograd.Function))
    assert issubclass(torch.autograd.Function, function._SingleLevelFunction)
    assert function._is_setup_context_defined(make(torch, forward, None, lambda c, i, o: None).setup_context)
    assert not function._is_setup_context_defined(f.setup_context)
    with pytest.warns(DeprecationWarning, match="use 'saved_tensors'"):
        assert node.saved_variables == ()


def test_the_same_output_twice(torch):
    seen = []

    def double(ctx, x):
        y = x * 2
        return y, y

    x = vector(torch, 1.0)
    y, z = make(torch, double, lambda ctx, g, h: (g + h, seen.append((g.item(), h.item())))[0]).apply(x)
    assert y is z and y.output_nr == 1
    y.backward()
    assert seen == [(0.0, 1.0)]
    y, z = make(torch, lambda ctx, x: (x, x), lambda ctx, g, h: 3 * g + 5 * h).apply(x)
    assert y is not z and (y.output_nr, z.output_nr) == (0, 1)
    assert torch.autograd.grad((y + 2 * z).sum(), x)[0].tolist() == [13.0]


def test_dirty_leaf(torch):
    x = vector(torch, 1.0)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used in an in-place operation"):
        make(torch, change, lambda ctx, g: g).apply(x)
    with pytest.raises(RuntimeError,
            match="a view of a leaf Variable that requires grad is being used in an in-place operation"):
        make(torch, change, lambda ctx, g: g).apply(x[:1])


def test_dirty_input_without_gradient(torch):
    def forward(ctx, x, y):
        x.add_(y)
        ctx.mark_dirty(x)
        return x

    x, y = vector(torch, 1.0, requires_grad=False), vector(torch, 3.0)
    z = make(torch, forward, lambda ctx, g: (g, g * 2)).apply(x, y)
    assert z is x and x.requires_grad and not x.is_leaf and x._version == 2
    z.backward()
    assert y.grad.tolist() == [2.0]


def test_dirty_must_be_returned(torch):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.clone()

    with pytest.raises(RuntimeError,
            match="Some elements marked as dirty during the forward method were not returned as output"):
        make(torch, forward, lambda ctx, g: g).apply(vector(torch, 1.0) * 1)

    def fresh(ctx, x):
        y = x.clone()
        ctx.mark_dirty(y)
        return y

    x = vector(torch, 1.0)
    with pytest.warns(UserWarning, match="received a tensor that was not an input"):
        y = make(torch, fresh, lambda ctx, g: g * 3).apply(x)
    y.backward()
    assert x.grad.tolist() == [3.0]
    with pytest.raises(RuntimeError, match="mark_dirty can only accept variables"):
        make(torch, lambda ctx, x: ctx.mark_dirty(3)).apply(x)
    with pytest.raises(RuntimeError, match="mark_non_differentiable only accepts variable arguments"):
        make(torch, lambda ctx, x: ctx.mark_non_differentiable(3)).apply(x)


def test_dirty_view_rewrites_its_base(torch):
    a = torch.ones(3, requires_grad=True)
    b = a.clone()
    view = b[:2]
    assert make(torch, change, lambda ctx, g: g * 3).apply(view) is view
    assert "CopySlices" in b.grad_fn.name()
    (b * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert a.grad.tolist() == [3.0, 30.0, 100.0]

    def two(ctx, x):
        return change(ctx, x), x.clone()

    with pytest.raises(RuntimeError, match="your Function cannot return more than one Tensor"):
        make(torch, two, lambda ctx, g, h: g).apply(a.clone()[:2])
    with pytest.raises(RuntimeError, match="Output 0 of Unbind is a view and is being modified inplace"):
        make(torch, change, lambda ctx, g: g).apply(a.clone().unbind()[0])


def test_dirty_and_saved(torch):
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    def backward(ctx, g):
        return g * ctx.saved_tensors[0]

    x = vector(torch, 1.0, 2.0)
    make(torch, forward, backward).apply(x * 1).sum().backward()
    assert x.grad.tolist() == [2.0, 3.0]
    base = x * 1
    make(torch, forward, backward).apply(base[1:])
    assert torch.autograd.grad(base.sum(), x)[0].tolist() == [1.0, 3.0]


def test_dirty_without_gradient(torch):
    def forward(ctx, x):
        ctx.mark_non_differentiable(x)
        return change(ctx, x)

    a = torch.ones(3, requires_grad=True)
    for x in (a.clone(), a.clone()[:2], a):
        y = make(torch, forward, lambda ctx, g: g).apply(x)
        assert y is not x and not y.requires_grad and y.data_ptr() == x.data_ptr() and x.requires_grad


def test_inputs_returned_as_they_are(torch):
    f = make(torch, lambda ctx, x: x, lambda ctx, g: g * 3)
    x = vector(torch, 1.0)
    y = f.apply(x)
    y.backward()
    assert y is not x and y._is_view() and y.data_ptr() == x.data_ptr() and x.grad.tolist() == [3.0]
    plain = f.apply(x.detach())
    assert plain._is_view() and not plain.requires_grad
    with torch.no_grad():
        quiet = f.apply(x)
    assert not quiet.requires_grad and quiet is not x
    keeps = make(torch, lambda x: x, lambda ctx, g: g, lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))
    with pytest.raises(RuntimeError, match="input that has been returned as-is as output is being saved for backward"):
        keeps.apply(x)
    mul = x * 2

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x

    assert make(torch, forward, lambda ctx, g: g).apply(mul).grad_fn.saved_tensors[0].grad_fn is mul.grad_fn


_CUSTOM = "This view was created inside a custom Function .or because an input was returned as-is."
_MULTI = "This view is the output of a function that returns multiple views"


@pytest.mark.parametrize(
    ("forward", "message"),
    [
        (lambda ctx, x: x, _CUSTOM),
        (lambda ctx, x: x[:1], _CUSTOM),
        (lambda ctx, x: (x * 2)[:1], _CUSTOM),
        (lambda ctx, x: (x[:1], x[1:]), _MULTI),
        (lambda ctx, x: (x[:1], x * 2), _MULTI),
    ],
)
def test_views_that_a_function_returns_are_not_written_to(torch, forward, message):
    x = vector(torch, 1.0, 2.0) * 1
    y = make(torch, forward, lambda ctx, *g: None).apply(x)
    y = y[0] if isinstance(y, tuple) else y
    with pytest.raises(RuntimeError, match="Output 0 of My is a view and is being modified inplace. " + message):
        y.add_(1)


def test_base_of_a_returned_view_is_written_to(torch):
    x = vector(torch, 1.0, 2.0) * 1
    y = make(torch, lambda ctx, x: x[:1], lambda ctx, g: None).apply(x)
    assert y._is_view() and y._base is x
    x.add_(1)
    with pytest.raises(RuntimeError,
            match="Output 0 of My is a view and its base or another view of its base has been modified inplace"):
        y.grad_fn


def test_several_outputs_may_be_written_to(torch):
    x = vector(torch, 1.0, 2.0)
    y, z = make(torch, lambda ctx, x: (x * 1, x * 2), lambda ctx, g, h: 3 * g + 5 * h).apply(x)
    y.mul_(2)
    (y + z).sum().backward()
    assert x.grad.tolist() == [11.0, 11.0]
    assert not make(torch, lambda ctx, x: x * 1, lambda ctx, g: g).apply(x)._is_view()


def test_history_made_inside_forward_is_replaced(torch):
    def forward(ctx, x):
        with torch.enable_grad():
            return x * 5

    x = vector(torch, 1.0)
    y = make(torch, forward, lambda ctx, g: g * 100).apply(x)
    y.backward()
    assert y.grad_fn.name() == "MyBackward" and x.grad.tolist() == [100.0]


def test_backward_inside_backward(torch):
    def backward(ctx, g):
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            (x**3).sum().backward()
        return x.grad * g

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    x = vector(torch, 1.0, 2.0)
    make(torch, forward, backward).apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]


def test_errors_keep_the_users_traceback(torch):
    def culprit():
        raise KeyError("deep")

    with pytest.raises(KeyError) as failed:
        make(torch, lambda ctx, x: x * 2, lambda ctx, g: culprit()).apply(vector(torch, 1.0)).backward()
    assert any(entry.name == "culprit" for entry in failed.traceback)
    with pytest.raises(KeyError):
        make(torch, lambda ctx, x: culprit()).apply(vector(torch, 1.0))
    assert torch.is_grad_enabled()


def test_inference_tensors_are_not_saved(torch):
    def forward(ctx, x, y):
        ctx.save_for_backward(x)
        return y * 2

    f = make(torch, forward, lambda ctx, g: (None, g))
    with torch.inference_mode():
        frozen = torch.ones(1)
        assert f.apply(frozen, vector(torch, 1.0)).is_inference()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        f.apply(frozen, vector(torch, 1.0))


def test_undefined_gradients_of_other_outputs(torch):
    seen = []

    def forward(ctx, x):
        index = x.clone()
        ctx.mark_non_differentiable(index)
        ctx._materialize_non_diff_grads = False
        return x.clone(), index, x * 2

    x = vector(torch, 1.0)
    make(torch, forward, lambda ctx, *g: (g[0], seen.append(g[1:]))[0]).apply(x)[0].backward()
    assert seen[0][0] is None and seen[0][1].tolist() == [0.0]


def test_legacy_instances_and_variables(torch):
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = make(torch, lambda ctx, x: x)()
    assert instance.saved_tensors == () and instance.next_functions == () and instance.metadata == {}
    instance.register_hook(lambda *_: None)
    with pytest.raises(AttributeError):
        instance._do_backward((), False)
    with pytest.raises(RuntimeError, match="_grad_fn argument to legacy Variable constructor is no longer supported"):
        torch.autograd.Variable(torch.zeros(1), _grad_fn=instance)
    with pytest.warns(UserWarning, match="volatile was removed"):
        torch.autograd.Variable(torch.zeros(1), volatile=True)


def test_ctx_kept_by_a_naughty_user(torch):
    kept = []
    f = make(torch, lambda ctx, x: x * 1, lambda ctx, g: (g, kept.append(ctx))[0])
    f.apply(vector(torch, 1.0)).backward()
    assert kept[0].name() == "MyBackward" and kept[0].metadata == {}
    with pytest.raises(RuntimeError, match="a second time"):
        kept[0].saved_tensors


def test_class_is_kept_where_an_input_is_returned(torch):
    class Sub(torch.Tensor):
        pass

    for x in (torch.ones(2).as_subclass(Sub), torch.ones(2).as_subclass(Sub).requires_grad_()):
        assert type(make(torch, lambda ctx, x: x).apply(x)) is Sub
        assert type(make(torch, lambda x: x, None, lambda ctx, inputs, output: None).apply(x)) is Sub


def test_a_dirty_leaf_has_a_new_version_though_it_is_refused(torch):
    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(3)

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        Triple.apply(x)
    assert x._version == 2


def test_nothing_is_recorded_inside_of_a_once_differentiable_backward(torch):
    seen = []

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            seen.append((torch.is_grad_enabled(), (2 * x).requires_grad))
            return 2 * x * g

    x = torch.tensor(3.0, requires_grad=True)
    (g,) = torch.autograd.grad(Square.apply(x), x, create_graph=True)
    assert seen == [(False, False)] and g.item() == 6 and torch.is_grad_enabled()


def test_what_is_changed_in_place_may_be_a_later_result(torch):
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.mark_dirty(b)
            b.mul_(2)
            return a * 3, b

        @staticmethod
        def backward(ctx, first, second):
            return first * 3, second * 2

    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    changed = b * 1
    first, second = Both.apply(a, changed)
    assert second is changed and second.output_nr == 1 and first.output_nr == 0
    (10 * first + 100 * second).sum().backward()
    assert a.grad.tolist() == [30, 30] and b.grad.tolist() == [200, 200]


def test_an_argument_that_a_function_returns_is_a_view_of_its_own(torch):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 5

    x = torch.ones(2, 2, requires_grad=True)
    y = Same.apply((x * 1)[0])
    with pytest.raises(RuntimeError,
            match=r"Output 0 of Same is a view and is being modified inplace\. This view was created inside a custom"):
        y.mul_(2)


def test_anything_may_be_saved_where_no_gradient_is_asked_for(torch):
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_backward(x, k)
            return x * k

        @staticmethod
        def backward(ctx, g):
            return g, None

    x = ramp_leaf(torch, 2)
    with torch.no_grad():
        assert Keeps.apply(x, 2).tolist() == (x * 2).tolist()
    assert Keeps.apply(x.detach(), 2).tolist() == (x * 2).tolist()
    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 1 is of type int"):
        Keeps.apply(x, 2)


def test_an_input_returned_and_saved_is_refused_with_setup_context_also_without_gradient(torch):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)

    for x in (ramp_leaf(torch, 2), torch.ones(2)):
        with pytest.raises(RuntimeError,
                match="An input that has been returned as-is as output is being saved for backward"):
            Same.apply(x)


def test_a_view_that_was_written_to_inside_of_forward_can_be_saved(torch):
    class Writes(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    x = ramp_leaf(torch, 2)
    y = Writes.apply(x.clone())
    z = Writes.apply(y)  # a view, which may not be written to, and is
    assert z.tolist() == (x * 4).tolist() and z.requires_grad
    with pytest.raises(RuntimeError, match="modified inplace"):
        y.grad_fn


def test_an_unknown_keyword_is_told_before_what_is_missing(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

    with pytest.raises(TypeError, match=r"forward\(\) got an unexpected keyword argument 'k'"):
        Two.apply(ramp_leaf(torch, 2), k=3)

"""The context of a custom Function: what may be kept on it, what it can do in ``forward``, flags of ``backward``."""

from __future__ import annotations

import importlib
import weakref

import pytest

from tests.makers import cases, refuses

# names that a graph needs for itself, and some that it might
NAMES = [
    "shape", "dtype", "edges", "hooks", "saved", "seq", "outputs", "count", "places", "inputs", "raw", "recorded",
    "partial", "release", "wanted", "op", "args", "variable", "operation", "written_by_user", "wants_undefined",
    "taken", "name", "version", "two", "shown",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_context_takes_values_of_any_name(torch, name):
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            setattr(ctx, name, factor)
            ctx.save_for_backward(x)
            return x * factor

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            assert x.shape == (3,)
            return g * getattr(ctx, name), None

    x = torch.ones(3, requires_grad=True)
    y = Scaled.apply(x, 5.0)
    seen = []
    y.grad_fn.register_hook(lambda grads, given: seen.append(given[0].tolist()))
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [5.0] * 3
    y.sum().backward()
    assert x.grad.tolist() == [10.0] * 3
    assert seen == [[1.0] * 3] * 2


@pytest.mark.parametrize("name", NAMES)
def test_and_so_do_those_of_several_results_and_of_tangents(torch, name):
    forward_ad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(x, kept):
            return x * 2, x * 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            setattr(ctx, name, inputs[1])

        @staticmethod
        def backward(ctx, g, h):
            assert getattr(ctx, name) == ["kept"]
            return g * 2 + h * 3, None

        @staticmethod
        def jvp(ctx, t, _):
            assert getattr(ctx, name) == ["kept"]
            return t * 2, t * 3

    x = torch.ones(2, requires_grad=True)
    a, b = Two.apply(x, ["kept"])
    (a + b).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]
    with forward_ad.dual_level():
        a, b = Two.apply(forward_ad.make_dual(x.detach(), torch.ones(2)), ["kept"])
        assert forward_ad.unpack_dual(b).tangent.tolist() == [3.0, 3.0]


def test_what_was_not_kept_is_not_there(torch):
    found = []

    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.shape = x.shape
            del ctx.shape
            found.extend(hasattr(ctx, name) for name in ("shape", "dtype", "edges", "hooks"))
            return x.sum()

        @staticmethod
        def backward(ctx, g):
            return g.expand(3)

    x = torch.ones(3, requires_grad=True)
    Plain.apply(x).backward()
    assert found == [False] * 4
    assert x.grad.tolist() == [1.0] * 3


def saving(torch, **flags):
    class Kept(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            between = x * 2
            ctx.save_for_backward(x, between)
            return between.clone()

        @staticmethod
        def backward(ctx, g):
            _, between = ctx.saved_tensors
            alive = weakref.ref(between)
            del between
            Kept.alive = alive() is not None
            return g * 2

    for name, value in flags.items():
        setattr(Kept, name, value)
    return Kept


def test_saved_tensors_can_be_let_go_of_when_they_are_read(torch):
    assert torch.autograd.Function.clear_saved_tensors_on_access is False
    Kept = saving(torch, clear_saved_tensors_on_access=True)
    x = torch.ones(2, requires_grad=True)
    y = Kept.apply(x)
    node = y.grad_fn
    assert len(node._raw_saved_tensors) == 2
    y.sum().backward(retain_graph=True)
    assert Kept.alive is False
    assert len(node._raw_saved_tensors) == 0
    with pytest.raises(RuntimeError,
            match="saved_tensors can only be accessed once when clear_saved_tensors_on_access=True"):
        node.saved_tensors
    with pytest.raises(RuntimeError, match="can only be accessed once"):
        y.sum().backward()


def test_only_where_the_function_says_so_when_it_is_called(torch):
    Kept = saving(torch)
    x = torch.ones(2, requires_grad=True)
    y = Kept.apply(x)
    Kept.clear_saved_tensors_on_access = True
    y.sum().backward(retain_graph=True)
    assert len(y.grad_fn.saved_tensors) == len(y.grad_fn.saved_tensors) == 2
    y = Kept.apply(x)
    Kept.clear_saved_tensors_on_access = False
    y.grad_fn.saved_tensors
    with pytest.raises(RuntimeError, match="can only be accessed once"):
        y.grad_fn.saved_tensors


def test_a_value_whose_unpacking_failed_can_be_asked_for_again(torch):
    Kept = saving(torch, clear_saved_tensors_on_access=True)
    fails = [True]

    def unpack(t):
        if fails:
            fails.clear()
            raise ValueError("not now")
        return t

    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = Kept.apply(torch.ones(2, requires_grad=True))
    with pytest.raises(ValueError, match="not now"):
        y.grad_fn.saved_tensors
    assert len(y.grad_fn.saved_tensors) == 2


@pytest.mark.parametrize("flag", ["clear_saved_tensors_on_access", "boxed_grads_call"])
@pytest.mark.parametrize("value", [1, "yes", None])
def test_the_flags_are_true_or_false(torch, flag, value):
    Kept = saving(torch, **{flag: value})
    for wants in (True, False):
        with pytest.raises(RuntimeError, match=f"{flag} must be a bool, got {type(value).__name__}"):
            Kept.apply(torch.ones(2, requires_grad=wants))


def boxed(torch, **more):
    class Product(torch.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y, x + y

        @staticmethod
        def backward(ctx, grads):
            assert type(grads) is list
            assert len(grads) == 2
            x, y = ctx.saved_tensors
            alive = weakref.ref(grads[0])
            a = grads.pop(0)
            first, second = a * y, a * x
            del a
            Product.freed = alive() is None
            b = grads.pop()
            return first + b, second + b

    return Product


def test_gradients_in_a_list(torch):
    Product = boxed(torch)
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
    a, b = Product.apply(x, y)
    found = torch.autograd.grad(2 * a.sum() + b.sum(), (x, y))
    assert [g.tolist() for g in found] == [[7.0, 9.0], [3.0, 5.0]]
    assert Product.freed
    (found,) = torch.autograd.grad(Product.apply(x, y)[0].sum(), x)  # zeros for the other
    assert found.tolist() == [3.0, 4.0]
    assert torch.autograd.gradcheck(Product.apply, (x, y))
    assert torch.autograd.gradgradcheck(Product.apply, (x, y))
    node = Product.apply(x, y)[0].grad_fn
    for call in (lambda: node.apply(a.detach(), b.detach()), lambda: node.apply_boxed([a.detach(), b.detach()])):
        assert len(call()) == 2


def test_hooks_see_gradients_that_were_taken_out_of_the_list(torch):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    a, b = boxed(torch).apply(x, y)
    seen = []
    a.grad_fn.register_hook(lambda grads, given: seen.append([g.tolist() for g in given]))
    (a + b).sum().backward()
    assert seen == [[[1.0, 1.0], [1.0, 1.0]]]
    assert x.grad.tolist() == [2.0, 2.0]


def test_one_gradient_in_a_list_and_a_backward_that_is_differentiable_once(torch):
    function = importlib.import_module(f"{torch.__name__}.autograd.function")

    class Once(torch.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @function.once_differentiable
        def backward(ctx, grads):
            assert not torch.is_grad_enabled()
            (g,) = grads
            return g * 2

    x = torch.ones(2, requires_grad=True)
    Once.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


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
        return ctx.next_functions, ctx._sequence_nr(), ctx.name(), ctx.metadata

    (edge,), number, name, facts = in_forward(torch, look)
    assert edge[0].name() == "torch::autograd::AccumulateGrad" and edge[1] == 0
    assert isinstance(number, int) and name == "DoubledBackward" and facts == {}
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


def test_marks_of_a_context_before_and_after_empty_calls(torch):
    assert (in_forward(torch, lambda ctx, x: (ctx.dirty_tensors, ctx.non_differentiable, ctx.to_save)) == (None, None,
        None))

    def mark(ctx, x):
        ctx.mark_dirty()
        ctx.mark_non_differentiable()
        return ctx.dirty_tensors, ctx.non_differentiable

    assert in_forward(torch, mark) == ((), ())


def test_classes_of_a_context(torch):
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


def _marking(name):
    def run(torch):
        class Marks(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                setattr(ctx, name, 3)
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2

        Marks.apply(torch.ones(2, requires_grad=True))

    return run


@cases(
    [(name, _marking(name), RuntimeError, f"autograd internal error: {name} attribute is expected to be a tuple but is")
         for name in ("dirty_tensors", "non_differentiable", "to_save")])
def test_marks_of_a_context_are_tuples(torch, run, error, message):
    refuses(torch, run, error, message)

"""What other tests pass by without noticing whether it is so: found by taking statements of the library away."""

import functools
import gc
import inspect
import weakref

import pytest
from tests.makers import module

# -- custom functions -------------------------------------------------------------------------------------------------


def test_nothing_is_recorded_inside_of_a_backward_that_is_for_once(torch):
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


# -- graphs that go ----------------------------------------------------------------------------------------------------


def test_a_result_that_a_hook_keeps_does_not_keep_its_node():
    import wengert as torch

    gc.collect()
    gc.disable()
    try:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = torch.ones(2, requires_grad=True).exp()
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


# -- grad --------------------------------------------------------------------------------------------------------------


def test_gradients_of_several_results_of_one_node(torch):
    x = torch.arange(1.0, 4.0, requires_grad=True)
    a, b, c = (x * 1).unbind()
    found = torch.autograd.grad(a * b * c, (c, a, b, c))
    assert [g.item() for g in found] == [2, 6, 3, 2]
    spread, middle = torch.var_mean(x * 1)
    found = torch.autograd.grad(spread * middle, (middle, spread))
    assert [g.item() for g in found] == [1, 2]
    loss = (a * c).exp().log()
    assert [g.item() for g in torch.autograd.grad(loss, (a, c), torch.tensor(2.0))] == [6, 2]


def test_a_root_that_is_asked_for_counts_as_both(torch):
    x = torch.tensor(5.0, requires_grad=True)
    y = x * 2
    z = y * 3
    assert [g.item() for g in torch.autograd.grad((y, z), (y,))] == [4]
    y = x * 2
    assert ([g.item() for g in torch.autograd.grad((y, y * 3), (y, x), (torch.tensor(10.0), torch.tensor(1.0)))] == [13,
        26])


def test_damage_inside_of_a_transform_is_seen(torch):
    def damaged(x):
        y = x.exp()
        z = y.sin()
        y.mul_(2)
        return z.sum() + y.sum()

    def damaged_argument(x):
        y = x * 1
        z = y.sin()
        y.mul_(2)
        return z.sum() + y.sum()

    for f in (damaged, damaged_argument):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            torch.func.grad(f)(torch.ones(2))


# -- products that are not asked to be more ----------------------------------------------------------------------------


def test_functional_forms_are_neither_strict_nor_recorded_unless_told(torch):
    F = torch.autograd.functional
    x, v, n = torch.ones(2), torch.ones(2), torch.ones(())
    apart, x_asking = (lambda x: torch.ones(2)), torch.ones(2, requires_grad=True)
    for form, rest in ((F.vjp, (v,)), (F.jvp, (v,)), (F.jacobian, ()), (F.hessian, ()), (F.vhp, (v,)), (F.hvp, (v,))):
        scalar = form in (F.hessian, F.vhp, F.hvp)
        found = form((lambda x: n) if scalar else apart, x, *rest)
        assert not (found[-1] if isinstance(found, tuple) else found).any()
        with pytest.raises(RuntimeError, match="independent of|does not require gradients"):
            form((lambda x: n) if scalar else apart, x, *rest, strict=True)
        found = form((lambda x: (x**3).sum()) if scalar else (lambda x: x**3), x_asking, *rest)
        assert not any(t.requires_grad for t in (found if isinstance(found, tuple) else (found,)))
        found = form((lambda x: (x**3).sum()) if scalar else (lambda x: x**3), x_asking, *rest, create_graph=True)
        assert (found[-1] if isinstance(found, tuple) else found).requires_grad


# -- forward mode ------------------------------------------------------------------------------------------------------


def test_only_tensors_are_taken_apart(torch):
    forward = module(torch, "autograd.forward_ad")
    assert tuple(forward.unpack_dual(3)) == (3, None)
    with forward.dual_level():
        with pytest.raises(TypeError, match="must be Tensor, not int"):
            forward.unpack_dual(3)
        assert forward.unpack_dual(torch.ones(1)).tangent is None
        dual = forward.make_dual(torch.ones(1), torch.ones(1))
        with pytest.raises(RuntimeError, match="Invalid level given to _fw_primal"):
            forward.unpack_dual(dual, level=1)
        assert forward.unpack_dual(torch.ones(1), level=1).tangent is None


# -- hooks -------------------------------------------------------------------------------------------------------------


def test_a_hook_of_several_tensors_without_a_name(torch):
    seen = []

    def note(rows, g):
        rows.append(g)

    x = torch.ones(1, requires_grad=True)
    handle = torch.autograd.graph.register_multi_grad_hook((x,), functools.partial(note, seen), mode="any")
    (x * 2).backward()
    handle.remove()
    assert [g.item() for g in seen] == [2]


# -- views -------------------------------------------------------------------------------------------------------------


def test_views_are_recorded_anew_by_their_steps_where_that_is_wanted(torch):
    C = torch._C
    assert not C._is_view_replay_enabled()
    for wanted in (True, False):
        with torch.autograd._force_original_view_tracking(wanted):
            assert C._is_view_replay_enabled() is wanted
            base = torch.ones(2, 2, requires_grad=True).clone()
            view = base.diagonal()
            base.mul_(2)
            assert view.grad_fn.name() == ("DiagonalBackward0" if wanted else "AsStridedBackward0")
        assert not C._is_view_replay_enabled()


# -- what errors say ---------------------------------------------------------------------------------------------------


def test_damage_to_what_a_function_keeps_names_the_function():
    import wengert as torch

    class Keeping(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = torch.ones(2, requires_grad=True) * 1
    y = Keeping.apply(x)
    x.mul_(2)
    with pytest.raises(RuntimeError, match="kept for the backward of KeepingBackward"):
        y.sum().backward()


def test_where_an_operation_was_recorded_is_told_without_the_library():
    import wengert as torch

    with torch.autograd.detect_anomaly(check_nan=False):
        y = torch.nn.functional.cross_entropy(torch.ones(2, 3, requires_grad=True), torch.tensor([0, 1]))
    told = list(y.grad_fn.metadata["traceback_"])
    assert told and inspect.currentframe().f_code.co_name in told[-1] and "cross_entropy" in told[-1]

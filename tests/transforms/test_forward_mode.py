"""Forward mode: dual numbers, views and in-place writes with tangents, composition with reverse mode."""

from __future__ import annotations

import gc
import importlib
import threading
import warnings
import weakref

import pytest

from tests.makers import module


def test_names(torch, forward_ad):
    for name in ("UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"):
        assert name in forward_ad.__all__ or hasattr(forward_ad, name)


def test_level_is_needed_and_single(torch, forward_ad):
    x = torch.rand(2)
    with pytest.raises(RuntimeError, match="no level exists"):
        forward_ad.make_dual(x, x)
    assert forward_ad.unpack_dual(x).tangent is None
    with forward_ad.dual_level() as level:
        assert level == 0
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported at the moment"):
            forward_ad.enter_dual_level()


def test_tangents_end_with_their_level(torch, forward_ad):
    x, t = torch.rand(2), torch.rand(2)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        primal, tangent = forward_ad.unpack_dual(dual)
        assert tangent is t
        assert torch.equal(primal, x)
    assert forward_ad.unpack_dual(dual).tangent is None
    with forward_ad.dual_level():
        assert forward_ad.unpack_dual(dual).tangent is None


def test_unpacked(torch, forward_ad):
    x, t = torch.rand(2), torch.rand(2)
    with forward_ad.dual_level():
        unpacked = forward_ad.unpack_dual(forward_ad.make_dual(x, t))
        assert isinstance(unpacked, tuple)
        assert unpacked._fields == ("primal", "tangent")
        assert forward_ad.unpack_dual(unpacked.primal).tangent is None
        assert forward_ad.unpack_dual(unpacked.primal * 2).tangent is None


@pytest.mark.parametrize("which", ["primal", "tangent"])
def test_integers_have_no_derivatives(torch, forward_ad, which):
    pair = {"primal": torch.rand(2), "tangent": torch.rand(2)}
    pair[which] = pair[which].long()
    with forward_ad.dual_level(), pytest.raises(ValueError, match=f"Expected {which} to be floating point or complex"):
        forward_ad.make_dual(pair["primal"], pair["tangent"])


def test_refused(torch, forward_ad):
    x = torch.rand(2, 3)
    with forward_ad.dual_level():
        with pytest.raises(RuntimeError, match="different size than that of the original Tensor"):
            forward_ad.make_dual(x, torch.rand(3))
        dual = forward_ad.make_dual(x, torch.rand(2, 3))
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level"):
            forward_ad.make_dual(dual, x)
        with pytest.raises(RuntimeError, match="forward grad that itself has a forward gradient"):
            forward_ad.make_dual(x, dual)
        with pytest.raises(NotImplementedError, match="does not support it because it is an out= function"):
            torch.add(dual, dual, out=torch.zeros(2, 3))


def test_dual_is_a_view_with_history(torch, forward_ad):
    x = torch.rand(2, requires_grad=True)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones(2))
        assert dual._is_view()
        assert dual.grad_fn.name() == "ViewBackward0"
        (dual**2).sum().backward()
        assert torch.allclose(x.grad, 2 * x)


def test_printing(torch, forward_ad):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.tensor([1.0]), torch.tensor([2.0]))
        assert repr(dual) == "tensor([1.], tangent=tensor([2.]))"
    assert repr(dual) == "tensor([1.])"


def test_detach_and_data_leave_the_tangent_behind(torch, forward_ad):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.rand(2), torch.rand(2))
        assert forward_ad.unpack_dual(dual.detach()).tangent is None
        assert forward_ad.unpack_dual(dual.data).tangent is None
        assert forward_ad.unpack_dual(dual.clone()).tangent is not None


def test_no_grad_keeps_tangents(torch, forward_ad):
    x = torch.rand(3, requires_grad=True)
    with forward_ad.dual_level(), torch.no_grad():
        p, t = forward_ad.unpack_dual(forward_ad.make_dual(x, torch.ones(3)) ** 2)
        assert torch.allclose(t, 2 * x)
        assert not t.requires_grad and not p.requires_grad


def test_several_outputs_and_integers(torch, forward_ad):
    x = torch.tensor([3.0, 1.0, 2.0])
    with forward_ad.dual_level():
        values, indices = forward_ad.make_dual(x, torch.tensor([10.0, 20.0, 30.0])).sort()
        assert forward_ad.unpack_dual(values).tangent.tolist() == [20.0, 30.0, 10.0]
        assert forward_ad.unpack_dual(indices).tangent is None
        assert forward_ad.unpack_dual(forward_ad.make_dual(x, x) > 2).tangent is None


def test_views_share_tangents(torch, forward_ad):
    x, t = torch.rand(4), torch.zeros(4)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        part = dual[1:3]
        part.mul_(2)
        assert forward_ad.unpack_dual(part).tangent.tolist() == [0.0, 0.0]
        part.copy_(forward_ad.make_dual(torch.ones(2), torch.tensor([5.0, 6.0])))
        assert forward_ad.unpack_dual(dual).tangent.tolist() == [0.0, 5.0, 6.0, 0.0]
        assert t.tolist() == [0.0, 5.0, 6.0, 0.0]


def test_tangent_born_in_a_view_reaches_its_base_and_other_views(torch, forward_ad):
    base = torch.zeros(4)
    first, second = base[:2], base[1:3]
    with forward_ad.dual_level():
        first.copy_(forward_ad.make_dual(torch.ones(2), torch.tensor([5.0, 6.0])))
        assert forward_ad.unpack_dual(base).tangent.tolist() == [5.0, 6.0, 0.0, 0.0]
        assert forward_ad.unpack_dual(second).tangent.tolist() == [6.0, 0.0]


def test_tangent_born_in_the_base_reaches_its_views(torch, forward_ad):
    base = torch.zeros(4)
    view = base[1:3]
    with forward_ad.dual_level():
        base.add_(forward_ad.make_dual(torch.ones(4), torch.arange(4.0)))
        assert forward_ad.unpack_dual(view).tangent.tolist() == [1.0, 2.0]


def test_setitem(torch, forward_ad):
    x = torch.zeros(3)
    with forward_ad.dual_level():
        x[1] = forward_ad.make_dual(torch.tensor(4.0), torch.tensor(7.0))
        x[0] = 2.0
        assert forward_ad.unpack_dual(x).tangent.tolist() == [0.0, 7.0, 0.0]
        x[1] = 0.0
        assert forward_ad.unpack_dual(x).tangent.tolist() == [0.0, 0.0, 0.0]


def test_inplace_on_the_dual(torch, forward_ad):
    x, t = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        dual.pow_(2)
        assert x.tolist() == [1.0, 4.0]
        assert forward_ad.unpack_dual(dual).tangent is t
        assert t.tolist() == [2.0, 4.0]
        dual.zero_()
        assert t.tolist() == [0.0, 0.0]


def test_layout_of_the_tangent_follows_the_primal(torch, forward_ad):
    x = torch.rand(2, 3).t()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.arange(6.0).reshape(3, 2))
        tangent = forward_ad.unpack_dual(dual).tangent
        assert tangent.stride() == x.stride()
        assert tangent.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_tangent_is_copied_where_its_memory_has_another_size(torch, forward_ad):
    x, t = torch.randn(5)[:4].detach(), torch.randn(4)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        tangent = forward_ad.unpack_dual(dual).tangent
        before = t.clone()
        tangent *= 2
        assert torch.equal(t, before)
        assert forward_ad.unpack_dual(dual.as_strided((5,), (1,), 0)).tangent.shape == (5,)


def test_out_may_not_be_dual(torch, forward_ad):
    with forward_ad.dual_level():
        dual, plain = forward_ad.make_dual(torch.rand(2), torch.rand(2)), torch.rand(2)
        for a, b, out in ((plain, plain, dual), (dual, plain, plain)):
            with pytest.raises(RuntimeError, match="out= function"):
                torch.add(a, b, out=out)


def test_writes_through_transposes_keep_the_view_of_the_tangent(torch, forward_ad):
    for write in ("add_", "mul_", "copy_"):
        base = torch.randn(2, 2)
        view = base.transpose(0, 1)
        with forward_ad.dual_level():
            getattr(view, write)(forward_ad.make_dual(torch.randn(2, 2), torch.randn(2, 2)))
            p, t = (x.clone() for x in forward_ad.unpack_dual(base))
            view *= 2
            doubled, tangent = forward_ad.unpack_dual(base)
            assert torch.allclose(doubled, p * 2) and torch.allclose(tangent, t * 2)


def test_memory_and_versions_are_shared(torch, forward_ad):
    x, t = torch.rand(2), torch.ones(2)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        assert dual.data_ptr() == x.data_ptr() and dual._version == x._version
        x.add_(1)
        primal, tangent = forward_ad.unpack_dual(dual)
        assert primal._version == dual._version == x._version
        assert tangent is t
    with forward_ad.dual_level():
        x.requires_grad_()
        t.requires_grad_()
        primal, tangent = forward_ad.unpack_dual(forward_ad.make_dual(x, t))
        gx, gt = torch.autograd.grad(primal.sum(), (x, t), allow_unused=True)
        assert gx.tolist() == [1, 1] and gt is None
        gx, gt = torch.autograd.grad(tangent.sum(), (x, t), allow_unused=True)
        assert gx is None and gt.tolist() == [1, 1]


def test_views_that_are_not_differentiable_stay_so(torch, forward_ad):
    x, t = torch.rand(2), torch.ones(2)
    before = x.clone()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        dual *= 2
        assert forward_ad.unpack_dual(x).tangent is None
        assert t.tolist() == [2, 2] and torch.equal(x, before * 2)
        primal, tangent = forward_ad.unpack_dual(dual)
        primal *= 2
        assert torch.equal(forward_ad.unpack_dual(dual).primal, before * 4)
        assert forward_ad.unpack_dual(dual).tangent.tolist() == [2, 2]
        tangent *= 2
        assert forward_ad.unpack_dual(dual).tangent.tolist() == [4, 4]
        other = torch.rand(2)
        aside = other.detach()
        aside += dual
        assert forward_ad.unpack_dual(other).tangent is None


def test_dual_in_inference_mode_carries_nothing(torch, forward_ad):
    with torch.inference_mode(), forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.rand(2), torch.rand(2))
        assert forward_ad.unpack_dual(dual).tangent is None


def test_levels_let_go_of_graphs_that_lead_back_to_them(torch, forward_ad):
    with forward_ad.dual_level():
        a = torch.rand(10, requires_grad=True)
        forward_ad.make_dual(torch.rand_like(a), a).exp()
        alive = weakref.ref(a)
    del a
    gc.collect()
    assert alive() is None


def test_switched_off(torch, forward_ad):
    assert forward_ad._is_fwd_grad_enabled()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.rand(2), torch.rand(2))
        with forward_ad._set_fwd_grad_enabled(False):
            assert not forward_ad._is_fwd_grad_enabled()
            y = dual * 2
        assert forward_ad._is_fwd_grad_enabled()
        assert forward_ad.unpack_dual(y).tangent is None
        assert forward_ad.unpack_dual(dual * 2).tangent is not None


def test_scalars_broadcast_and_promotion(torch, forward_ad):
    with forward_ad.dual_level():
        a = forward_ad.make_dual(torch.rand(3, 1), torch.ones(3, 1))
        b = forward_ad.make_dual(torch.rand(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64))
        p, t = forward_ad.unpack_dual(2 * a * b + 1)
        assert t.shape == (3, 2) and t.dtype == torch.float64
        assert torch.allclose(t, 2 * (forward_ad.unpack_dual(a).primal + forward_ad.unpack_dual(b).primal))
        assert p.shape == (3, 2)


def test_forward_over_reverse(torch, forward_ad):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.tensor([1.0, 0.0, 0.0]))
        (g,) = torch.autograd.grad((dual.prod() + (dual**3).sum()), dual)
        assert forward_ad.unpack_dual(g).tangent.tolist() == [6.0, 3.0, 2.0]


def test_reverse_over_forward(torch, forward_ad):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    v = torch.ones(3, requires_grad=True)
    with forward_ad.dual_level():
        t = forward_ad.unpack_dual((forward_ad.make_dual(x, v) ** 3).sum()).tangent
    gx, gv = torch.autograd.grad(t, (x, v))
    assert gx.tolist() == [6.0, 12.0, 18.0]
    assert gv.tolist() == [3.0, 12.0, 27.0]


def test_reverse_over_a_value_and_its_tangent():
    import wengert as torch  # PyTorch has no forward mode of it

    torch.manual_seed(0)
    x, t, w = torch.rand(3, 4), torch.rand(3, 4), torch.rand(4, requires_grad=True)
    y, dy = torch.func.jvp(lambda z: torch.nn.functional.pdist(z * w), (x,), (t,))
    (y + dy).sum().backward()
    gaps, theirs = (a.detach()[[0, 0, 1]] - a.detach()[[1, 2, 2]] for a in (x, t))
    v = w.detach().requires_grad_()
    gap = gaps * v
    norm = gap.norm(dim=1)
    (norm + (gap * theirs * v).sum(1) / norm).sum().backward()
    torch.testing.assert_close(w.grad, v.grad)


def test_module_in_forward_mode(torch, forward_ad):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2))
    x, v = torch.rand(5, 3), torch.rand(5, 3)
    with forward_ad.dual_level():
        t = forward_ad.unpack_dual(model(forward_ad.make_dual(x, v))).tangent
    _, expected = torch.autograd.functional.jvp(model, x, v)
    assert torch.allclose(t, expected, atol=1e-6)


def test_tangents_of_parameters(torch, forward_ad):
    torch.manual_seed(0)
    linear = torch.nn.Linear(3, 2)
    x = torch.rand(4, 3)
    with forward_ad.dual_level():
        weight = forward_ad.make_dual(linear.weight.detach(), torch.ones(2, 3))
        out = torch.nn.functional.linear(x, weight, linear.bias)
        assert torch.allclose(forward_ad.unpack_dual(out).tangent, x.sum(1, keepdim=True).expand(4, 2))


class _Cases:
    @staticmethod
    def cube(torch):
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, k):
                ctx.save_for_backward(x)
                ctx.save_for_forward(x)
                ctx.k = k
                return k * x**3

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                return ctx.k * 3 * x**2 * g, None

            @staticmethod
            def jvp(ctx, t, none):
                assert none is None
                (x,) = ctx.saved_tensors
                return ctx.k * 3 * x**2 * t

        return Cube


def test_function_with_jvp(torch, forward_ad):
    cube = _Cases.cube(torch)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones(2))
        y = cube.apply(dual, 2.0)
        assert forward_ad.unpack_dual(y).tangent.tolist() == [6.0, 24.0]
        (g,) = torch.autograd.grad(y.sum(), x)
        assert g.tolist() == [6.0, 24.0]
        assert forward_ad.unpack_dual(g).tangent.tolist() == [12.0, 24.0]


def test_function_without_jvp(torch, forward_ad):
    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with forward_ad.dual_level(), pytest.raises((RuntimeError, NotImplementedError),
            match="must implement the jvp function"):
        Plain.apply(forward_ad.make_dual(torch.rand(2), torch.rand(2)))


def test_function_materializes_tangents(torch, forward_ad):
    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def jvp(ctx, tx, ty):
            assert ty is not None
            return tx + ty

    with forward_ad.dual_level():
        y = Sum.apply(forward_ad.make_dual(torch.rand(2), torch.ones(2)), torch.rand(2))
        assert forward_ad.unpack_dual(y).tangent.tolist() == [1.0, 1.0]


def test_function_inplace(torch, forward_ad):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def jvp(ctx, t):
            return t.mul_(2)

    class Wrong(Double):
        @staticmethod
        def jvp(ctx, t):
            return t * 2

    with forward_ad.dual_level():
        t = torch.ones(2)
        y = Double.apply(forward_ad.make_dual(torch.rand(2), t))
        assert forward_ad.unpack_dual(y).tangent is t or forward_ad.unpack_dual(y).tangent.tolist() == [2.0, 2.0]
        with pytest.raises(RuntimeError,
                match="inplace custom Function is not modifying the forward mode gradients inplace"):
            Wrong.apply(forward_ad.make_dual(torch.rand(2), torch.ones(2)))


def test_complex(torch, forward_ad):
    x = torch.tensor([1 + 2j, 3 - 1j])
    v = torch.tensor([1j, 2 + 1j])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, v)
        assert torch.allclose(forward_ad.unpack_dual(dual**2).tangent, 2 * x * v)
        assert torch.allclose(forward_ad.unpack_dual(dual.exp()).tangent, x.exp() * v)
        assert torch.allclose(forward_ad.unpack_dual(dual.abs()).tangent, (x.conj() * v).real / x.abs())
        assert torch.allclose(forward_ad.unpack_dual(dual.conj()).tangent, v.conj())
        assert torch.allclose(forward_ad.unpack_dual(torch.view_as_real(dual)).tangent, torch.view_as_real(v))


def test_decorator_and_exceptions(torch, forward_ad):
    @forward_ad.dual_level()
    def f():
        return forward_ad.unpack_dual(forward_ad.make_dual(torch.ones(1), torch.ones(1)) * 3).tangent

    assert f().tolist() == [3.0]
    with pytest.raises(ZeroDivisionError), forward_ad.dual_level():
        raise ZeroDivisionError
    with forward_ad.dual_level():
        pass


def test_levels_of_threads_do_not_mix():
    import wengert as torch
    from wengert.autograd import forward_ad

    found = []

    def work(k):
        with forward_ad.dual_level():
            x = forward_ad.make_dual(torch.ones(2), torch.full((2,), float(k)))
            for _ in range(50):
                x = x * 1.0
            found.append((k, forward_ad.unpack_dual(x).tangent.tolist()))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(found) == [(k, [float(k)] * 2) for k in range(4)]


def test_levels_nest_inside():
    """Tangents of tangents: what ``func.jvp`` of ``func.jvp`` rests on."""
    import wengert as torch
    from wengert.transforms.forward_mode import DualLevel

    x = torch.tensor(2.0)
    with DualLevel() as outer:
        a = outer.dual(x, torch.tensor(1.0))
        with DualLevel() as inner:
            b = inner.dual(a, torch.tensor(1.0))
            first = inner.tangent(b**3 * b.sin())
        second = outer.tangent(first)
    import math

    s, c = math.sin(2.0), math.cos(2.0)
    assert abs(first.item() - (12 * s + 8 * c)) < 1e-5
    assert abs(second.item() - (12 * s + 24 * c - 8 * s)) < 1e-5


HANDED_ON = {  # the derivative is the identity, the result is no view
    "add": lambda x: x + 1,
    "add a tensor": lambda x: x + 0 * x.detach(),
    "add to a tensor": lambda x: x.detach() + x,
    "sub": lambda x: x - 1,
    "alpha": lambda x: x.add(x.detach(), alpha=2),
    "copy_": lambda x: x.new_zeros(2).copy_(x),
    "add_": lambda x: x.new_zeros(2).add_(x),
    "clone": lambda x: x.clone(),
    "clamp": lambda x: x.clamp(min=-100),
    "mul": lambda x: x * 1.0,
}


@pytest.mark.parametrize("name", HANDED_ON)
def test_tangents_of_results_are_their_own(torch, forward_ad, name):
    t = torch.tensor([1.0, 2.0])
    with forward_ad.dual_level():
        y = HANDED_ON[name](forward_ad.make_dual(torch.tensor([3.0, 4.0]), t))
        assert forward_ad.unpack_dual(y).tangent is not t
        y.mul_(10)
        assert forward_ad.unpack_dual(y).tangent.tolist() == [10.0, 20.0]
    assert t.tolist() == [1.0, 2.0]


def test_detaching_forgets_the_tangent(torch, forward_ad):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        inplace = dual.clone()
        assert forward_ad.unpack_dual(inplace.detach_()).tangent is None
        assert forward_ad.unpack_dual(inplace * 2).tangent is None
        assert forward_ad.unpack_dual(dual.detach()).tangent is None
        assert forward_ad.unpack_dual(dual).tangent is not None


@pytest.mark.parametrize("transposed", [False, True])
def test_gradients_of_convolution_that_are_wanted(torch, forward_ad, transposed):
    torch.manual_seed(0)
    x, w = torch.randn(2, 3, 5, requires_grad=True), torch.randn(3, 3, 2, requires_grad=True)
    b = torch.zeros(3, requires_grad=True)
    y = torch.nn.functional.conv_transpose1d(x, w, b, 2) if transposed else torch.nn.functional.conv1d(x, w, b, 2)
    g = torch.randn_like(y)
    backward = torch.ops.aten.convolution_backward
    given = (g, x.detach(), w.detach(), (3,), (2,), (0,), (1,), transposed, (0,), 1)
    for found, expected in zip(backward(*given, (True, True, True)), torch.autograd.grad(y, (x, w, b), g), strict=True):
        assert torch.allclose(found, expected, atol=1e-5)
    assert [v is None for v in backward(*given, (False, True, False))] == [True, False, True]
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(w.detach(), torch.ones_like(w))
        for_input, _, _ = backward(g, x.detach(), dual, *given[3:], (True, False, False))
        ones = backward(g, x.detach(), torch.ones_like(w), *given[3:], (True, False, False))[0]
        assert torch.allclose(forward_ad.unpack_dual(for_input).tangent, ones, atol=1e-5)
        assert backward(g, x.detach(), dual, *given[3:], (False, True, False))[0] is None


def test_zeros_laid_out_like_features(torch):
    zeros = torch.ops.aten._new_zeros_with_same_feature_meta
    batch = torch.ones(2, 3, 7)
    for other in (torch.ones(2, 3).t(), torch.ones(5)[1:4], torch.ones(3, 2, dtype=torch.float64), torch.tensor(1.0)):
        for n in range(3):
            z = zeros(batch, other, self_num_batch_dims=n)
            assert z.shape == (*batch.shape[:n], *other.shape)
            assert z.stride()[n:] == other.stride()
            assert (z.dtype, z.storage_offset()) == (other.dtype, other.storage_offset())
            assert not z.any()


@pytest.mark.parametrize("primal", ["plain", "conj", "neg"])
@pytest.mark.parametrize("tangent", ["plain", "conj", "neg"])
def test_tangents_are_lazy_like_their_primals(torch, forward_ad, primal, tangent):
    views = {"plain": lambda x: x, "conj": lambda x: x.conj(), "neg": lambda x: x._neg_view()}
    x = views[primal](torch.complex(torch.arange(6.0).reshape(2, 3), torch.ones(2, 3)))
    t = views[tangent](torch.complex(torch.ones(2, 3), torch.arange(6.0).reshape(2, 3)))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        found = forward_ad.unpack_dual(dual).tangent
        assert (found is t) == (primal == tangent)
        assert torch.equal(found, t)
        assert (found.is_conj(), found.is_neg()) == (x.is_conj(), x.is_neg())
        assert torch.equal(forward_ad.unpack_dual(dual[1:].imag).tangent, t[1:].imag)
        dual.mul_(2)
        assert torch.equal(forward_ad.unpack_dual(dual.real).tangent, 2 * t.real if primal != tangent else t.real)


def test_memory_of_duals_stays(torch, forward_ad):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(RuntimeError, match="cannot resize variables that has a forward grad"):
            dual.resize_(3)
        with pytest.raises(NotImplementedError, match="Trying to use forward AD with set_"):
            dual.set_(torch.ones(2))


def test_unpack_dual_takes_tensors_of_the_level(torch):
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


def test_the_primal_is_a_view(torch):
    forward_ad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    with forward_ad.dual_level():
        p = torch.ones(3)
        dual = forward_ad.make_dual(p, torch.ones(3))
        primal = forward_ad.unpack_dual(dual).primal
        assert primal._is_view() and primal._base is p
        assert forward_ad.unpack_dual(primal).tangent is None
        dual.mul_(2)
        assert primal.tolist() == [2.0] * 3 and primal._version == dual._version == 1
        result = dual * 5
        primal, tangent = forward_ad.unpack_dual(result)
        assert (primal._base is result and forward_ad.unpack_dual(primal).tangent is None
            and tangent.tolist() == [10.0] * 3)
        assert forward_ad.unpack_dual(primal * 2).tangent is None
        plain = forward_ad.unpack_dual(p).primal
        assert plain is not p and plain._base is p


def test_the_tangent_of_a_write_to_one_place_twice_is_that_of_the_last(torch, forward_ad):
    where = (torch.tensor([1, 1, 3]),)
    for accumulate, tangent in ((False, [1, 20, 3, 30]), (True, [1, 32, 3, 34])):
        with forward_ad.dual_level():
            x = forward_ad.make_dual(torch.arange(4.0), torch.arange(4.0) + 1)
            values = forward_ad.make_dual(torch.ones(3), torch.tensor([10.0, 20.0, 30.0]))
            assert forward_ad.unpack_dual(x.index_put(where, values, accumulate)).tangent.tolist() == tangent
            assert forward_ad.unpack_dual(x.clone().index_put_(where, values, accumulate)).tangent.tolist() == tangent
    with forward_ad.dual_level():
        y = forward_ad.make_dual(torch.zeros(2, 3), torch.ones(2, 3))
        y[1:, [0, 0]] += 2
        y[0, [1, 1]] = forward_ad.make_dual(torch.ones(2), torch.tensor([5.0, 6.0]))
        assert forward_ad.unpack_dual(y).tangent.tolist() == [[1, 6, 1], [1, 1, 1]]


def test_the_tangent_of_a_write_keeps_its_history(torch, forward_ad):
    x, v = torch.arange(3.0, requires_grad=True), torch.ones(3, requires_grad=True)
    with forward_ad.dual_level():
        y = forward_ad.make_dual(x, torch.ones(3)).index_put((torch.tensor([0, 0, 2]),), v * v)
        gx, gv = torch.autograd.grad(forward_ad.unpack_dual(y * y).tangent.sum(), [x, v], allow_unused=True)
    assert gx.tolist() == [0, 2, 0] and (gv is None or gv.tolist() == [0, 0, 0])


def test_what_make_dual_refuses_first(torch, forward_ad):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        for tangent in (torch.ones(3), dual):
            with pytest.raises(RuntimeError,
                    match="Making a dual Tensor based on a Tensor that already has a forward gradient"):
                forward_ad.make_dual(dual, tangent)
        with pytest.raises(RuntimeError, match="Setting a forward grad that itself has a forward gradient"):
            forward_ad.make_dual(torch.ones(3), dual)


@pytest.mark.parametrize("name", ["std", "var", "std_mean", "var_mean", "mean"])
def test_tangents_of_spreads_over_everything_with_kept_dimensions(torch, name):
    f, x = getattr(torch, name), torch.tensor([[1.0, 2.0], [4.0, 9.0]])
    kept = torch.func.jvp(lambda t: f(t, dim=None, keepdim=True), (x,), (x * x,))
    plain = torch.func.jvp(lambda t: f(t), (x,), (x * x,))
    for a, b in zip(kept, plain):
        for s, t in zip(a, b) if isinstance(a, tuple) else [(a, b)]:
            assert s.shape == (1, 1)
            assert torch.allclose(s.reshape(()), t)


@pytest.mark.parametrize("name", ["igamma", "heaviside", "floor_divide"])
def test_operators_without_a_derivative_say_that_forward_mode_has_none(torch, forward_ad, name):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(3), torch.ones(3))
        with pytest.raises(NotImplementedError,
                match=f"Trying to use forward AD with .*{name} that does not support it"):
            getattr(torch, name)(dual, torch.ones(3))


@pytest.mark.parametrize("training", [True, False])
def test_only_the_offset_of_a_batch_carries_a_tangent(torch, forward_ad, training):
    x, mean, var = torch.rand(4, 3), torch.zeros(3), torch.ones(3)

    def normalised(b):
        return torch.nn.functional.batch_norm(x, mean, var, None, b, training=training)

    with forward_ad.dual_level():
        assert (forward_ad.unpack_dual(normalised(forward_ad.make_dual(torch.zeros(3), torch.ones(3)))).tangent.tolist()
            == [[1.0] * 3] * 4)
    for create_graph in (True, False):
        b = torch.zeros(3, requires_grad=True)
        assert torch.autograd.grad(normalised(b).sum(), b, create_graph=create_graph)[0].tolist() == [4.0] * 3


def test_levels_that_are_not_there(torch):
    forward_ad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="Trying to create a dual Tensor for forward AD but no level exists"):
        forward_ad.make_dual(x, x)
    with pytest.raises(RuntimeError, match="Trying to access a forward AD level with an invalid index"):
        forward_ad.make_dual(x, x, level=0)
    with pytest.raises(RuntimeError, match="Invalid level given to _make_dual"):
        forward_ad.make_dual(x, x, level=5)


def test_out_is_refused_last(torch):
    forward_ad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    wanted = torch.ones(2, requires_grad=True)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(NotImplementedError, match="Trying to use forward AD with mul_out"):
            torch.mul(dual, 2, out=torch.ones(2))
        for out in (torch.ones(2), wanted, dual):
            with pytest.raises(RuntimeError,
                    match=r"mul\(\): functions with out=... arguments don't support automatic differentiation"):
                torch.mul(dual, wanted, out=out)
        with pytest.raises(RuntimeError, match="The size of tensor a"):
            torch.add(dual, torch.ones(3), out=torch.ones(2))
    with pytest.raises(RuntimeError,
            match=r"add\(\): functions with out=... arguments don't support automatic differentiation"):
        torch.add(wanted, torch.ones(3), out=torch.ones(2))


def test_gradients_accumulate_in_place_within_a_level(torch):
    forward_ad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    x = torch.ones(3, requires_grad=True)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones(3))
        (dual**2).sum().backward()
        kept = x.grad
        (dual**3).sum().backward()
        assert x.grad is kept and kept.tolist() == [5.0] * 3
        x.grad = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (x**2).sum().backward(create_graph=True)
        kept = x.grad
        assert kept.requires_grad and kept._version == 1  # a copy, which was written once
        (x**2).sum().backward()
        assert x.grad is kept and kept.requires_grad and kept._version == 2


def test_no_dual_tensors_in_inference_mode(torch):
    forward_ad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        with pytest.raises(RuntimeError, match="no level exists"):
            forward_ad.make_dual(x, torch.ones(2))
        assert forward_ad.make_dual(x, torch.ones(2), level=0)._is_view()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones(2))
        with torch.inference_mode():
            again = forward_ad.make_dual(dual, dual)  # neither is looked at
            primal, tangent = forward_ad.unpack_dual(dual)
            assert tangent is None and primal is not dual and primal._is_view()
        assert again is not dual

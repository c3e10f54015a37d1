"""Forward mode: dual numbers, views and in-place writes with tangents, composition with reverse mode."""

from __future__ import annotations

import gc
import importlib
import threading
import weakref

import pytest


@pytest.fixture
def fwAD(torch):
    return importlib.import_module(f"{torch.__name__}.autograd.forward_ad")


def test_names(torch, fwAD):
    for name in ("UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"):
        assert name in fwAD.__all__ or hasattr(fwAD, name)


def test_level_is_needed_and_single(torch, fwAD):
    x = torch.rand(2)
    with pytest.raises(RuntimeError, match="no level exists"):
        fwAD.make_dual(x, x)
    assert fwAD.unpack_dual(x).tangent is None
    with fwAD.dual_level() as level:
        assert level == 0
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported at the moment"):
            fwAD.enter_dual_level()


def test_tangents_end_with_their_level(torch, fwAD):
    x, t = torch.rand(2), torch.rand(2)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, t)
        primal, tangent = fwAD.unpack_dual(dual)
        assert tangent is t
        assert torch.equal(primal, x)
    assert fwAD.unpack_dual(dual).tangent is None
    with fwAD.dual_level():
        assert fwAD.unpack_dual(dual).tangent is None


def test_unpacked(torch, fwAD):
    x, t = torch.rand(2), torch.rand(2)
    with fwAD.dual_level():
        unpacked = fwAD.unpack_dual(fwAD.make_dual(x, t))
        assert isinstance(unpacked, tuple)
        assert unpacked._fields == ("primal", "tangent")
        assert fwAD.unpack_dual(unpacked.primal).tangent is None
        assert fwAD.unpack_dual(unpacked.primal * 2).tangent is None


@pytest.mark.parametrize("which", ["primal", "tangent"])
def test_integers_have_no_derivatives(torch, fwAD, which):
    pair = {"primal": torch.rand(2), "tangent": torch.rand(2)}
    pair[which] = pair[which].long()
    with fwAD.dual_level(), pytest.raises(ValueError, match=f"Expected {which} to be floating point or complex"):
        fwAD.make_dual(pair["primal"], pair["tangent"])


def test_refused(torch, fwAD):
    x = torch.rand(2, 3)
    with fwAD.dual_level():
        with pytest.raises(RuntimeError, match="different size than that of the original Tensor"):
            fwAD.make_dual(x, torch.rand(3))
        dual = fwAD.make_dual(x, torch.rand(2, 3))
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level"):
            fwAD.make_dual(dual, x)
        with pytest.raises(RuntimeError, match="forward grad that itself has a forward gradient"):
            fwAD.make_dual(x, dual)
        with pytest.raises(NotImplementedError, match="does not support it because it is an out= function"):
            torch.add(dual, dual, out=torch.zeros(2, 3))


def test_dual_is_a_view_with_history(torch, fwAD):
    x = torch.rand(2, requires_grad=True)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, torch.ones(2))
        assert dual._is_view()
        assert dual.grad_fn.name() == "ViewBackward0"
        (dual**2).sum().backward()
        assert torch.allclose(x.grad, 2 * x)


def test_printing(torch, fwAD):
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.tensor([1.0]), torch.tensor([2.0]))
        assert repr(dual) == "tensor([1.], tangent=tensor([2.]))"
    assert repr(dual) == "tensor([1.])"


def test_detach_and_data_leave_the_tangent_behind(torch, fwAD):
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.rand(2), torch.rand(2))
        assert fwAD.unpack_dual(dual.detach()).tangent is None
        assert fwAD.unpack_dual(dual.data).tangent is None
        assert fwAD.unpack_dual(dual.clone()).tangent is not None


def test_no_grad_keeps_tangents(torch, fwAD):
    x = torch.rand(3, requires_grad=True)
    with fwAD.dual_level(), torch.no_grad():
        p, t = fwAD.unpack_dual(fwAD.make_dual(x, torch.ones(3)) ** 2)
        assert torch.allclose(t, 2 * x)
        assert not t.requires_grad and not p.requires_grad


def test_several_outputs_and_integers(torch, fwAD):
    x = torch.tensor([3.0, 1.0, 2.0])
    with fwAD.dual_level():
        values, indices = fwAD.make_dual(x, torch.tensor([10.0, 20.0, 30.0])).sort()
        assert fwAD.unpack_dual(values).tangent.tolist() == [20.0, 30.0, 10.0]
        assert fwAD.unpack_dual(indices).tangent is None
        assert fwAD.unpack_dual(fwAD.make_dual(x, x) > 2).tangent is None


def test_views_share_tangents(torch, fwAD):
    x, t = torch.rand(4), torch.zeros(4)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, t)
        part = dual[1:3]
        part.mul_(2)
        assert fwAD.unpack_dual(part).tangent.tolist() == [0.0, 0.0]
        part.copy_(fwAD.make_dual(torch.ones(2), torch.tensor([5.0, 6.0])))
        assert fwAD.unpack_dual(dual).tangent.tolist() == [0.0, 5.0, 6.0, 0.0]
        assert t.tolist() == [0.0, 5.0, 6.0, 0.0]


def test_tangent_born_in_a_view_reaches_its_base_and_other_views(torch, fwAD):
    base = torch.zeros(4)
    first, second = base[:2], base[1:3]
    with fwAD.dual_level():
        first.copy_(fwAD.make_dual(torch.ones(2), torch.tensor([5.0, 6.0])))
        assert fwAD.unpack_dual(base).tangent.tolist() == [5.0, 6.0, 0.0, 0.0]
        assert fwAD.unpack_dual(second).tangent.tolist() == [6.0, 0.0]


def test_tangent_born_in_the_base_reaches_its_views(torch, fwAD):
    base = torch.zeros(4)
    view = base[1:3]
    with fwAD.dual_level():
        base.add_(fwAD.make_dual(torch.ones(4), torch.arange(4.0)))
        assert fwAD.unpack_dual(view).tangent.tolist() == [1.0, 2.0]


def test_setitem(torch, fwAD):
    x = torch.zeros(3)
    with fwAD.dual_level():
        x[1] = fwAD.make_dual(torch.tensor(4.0), torch.tensor(7.0))
        x[0] = 2.0
        assert fwAD.unpack_dual(x).tangent.tolist() == [0.0, 7.0, 0.0]
        x[1] = 0.0
        assert fwAD.unpack_dual(x).tangent.tolist() == [0.0, 0.0, 0.0]


def test_inplace_on_the_dual(torch, fwAD):
    x, t = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0])
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, t)
        dual.pow_(2)
        assert x.tolist() == [1.0, 4.0]
        assert fwAD.unpack_dual(dual).tangent is t
        assert t.tolist() == [2.0, 4.0]
        dual.zero_()
        assert t.tolist() == [0.0, 0.0]


def test_layout_of_the_tangent_follows_the_primal(torch, fwAD):
    x = torch.rand(2, 3).t()
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, torch.arange(6.0).reshape(3, 2))
        tangent = fwAD.unpack_dual(dual).tangent
        assert tangent.stride() == x.stride()
        assert tangent.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_tangent_is_copied_where_its_memory_has_another_size(torch, fwAD):
    x, t = torch.randn(5)[:4].detach(), torch.randn(4)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, t)
        tangent = fwAD.unpack_dual(dual).tangent
        before = t.clone()
        tangent *= 2
        assert torch.equal(t, before)
        assert fwAD.unpack_dual(dual.as_strided((5,), (1,), 0)).tangent.shape == (5,)


def test_out_may_not_be_dual(torch, fwAD):
    with fwAD.dual_level():
        dual, plain = fwAD.make_dual(torch.rand(2), torch.rand(2)), torch.rand(2)
        for a, b, out in ((plain, plain, dual), (dual, plain, plain)):
            with pytest.raises(RuntimeError, match="out= function"):
                torch.add(a, b, out=out)


def test_writes_through_transposes_keep_the_view_of_the_tangent(torch, fwAD):
    for write in ("add_", "mul_", "copy_"):
        base = torch.randn(2, 2)
        view = base.transpose(0, 1)
        with fwAD.dual_level():
            getattr(view, write)(fwAD.make_dual(torch.randn(2, 2), torch.randn(2, 2)))
            p, t = (x.clone() for x in fwAD.unpack_dual(base))
            view *= 2
            doubled, tangent = fwAD.unpack_dual(base)
            assert torch.allclose(doubled, p * 2) and torch.allclose(tangent, t * 2)


def test_memory_and_versions_are_shared(torch, fwAD):
    x, t = torch.rand(2), torch.ones(2)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, t)
        assert dual.data_ptr() == x.data_ptr() and dual._version == x._version
        x.add_(1)
        primal, tangent = fwAD.unpack_dual(dual)
        assert primal._version == dual._version == x._version
        assert tangent is t
    with fwAD.dual_level():
        x.requires_grad_()
        t.requires_grad_()
        primal, tangent = fwAD.unpack_dual(fwAD.make_dual(x, t))
        gx, gt = torch.autograd.grad(primal.sum(), (x, t), allow_unused=True)
        assert gx.tolist() == [1, 1] and gt is None
        gx, gt = torch.autograd.grad(tangent.sum(), (x, t), allow_unused=True)
        assert gx is None and gt.tolist() == [1, 1]


def test_views_that_are_not_differentiable_stay_so(torch, fwAD):
    x, t = torch.rand(2), torch.ones(2)
    before = x.clone()
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, t)
        dual *= 2
        assert fwAD.unpack_dual(x).tangent is None
        assert t.tolist() == [2, 2] and torch.equal(x, before * 2)
        primal, tangent = fwAD.unpack_dual(dual)
        primal *= 2
        assert torch.equal(fwAD.unpack_dual(dual).primal, before * 4)
        assert fwAD.unpack_dual(dual).tangent.tolist() == [2, 2]
        tangent *= 2
        assert fwAD.unpack_dual(dual).tangent.tolist() == [4, 4]
        other = torch.rand(2)
        aside = other.detach()
        aside += dual
        assert fwAD.unpack_dual(other).tangent is None


def test_dual_in_inference_mode_carries_nothing(torch, fwAD):
    with torch.inference_mode(), fwAD.dual_level():
        dual = fwAD.make_dual(torch.rand(2), torch.rand(2))
        assert fwAD.unpack_dual(dual).tangent is None


def test_levels_let_go_of_graphs_that_lead_back_to_them(torch, fwAD):
    with fwAD.dual_level():
        a = torch.rand(10, requires_grad=True)
        fwAD.make_dual(torch.rand_like(a), a).exp()
        alive = weakref.ref(a)
    del a
    gc.collect()
    assert alive() is None


def test_switched_off(torch, fwAD):
    assert fwAD._is_fwd_grad_enabled()
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.rand(2), torch.rand(2))
        with fwAD._set_fwd_grad_enabled(False):
            assert not fwAD._is_fwd_grad_enabled()
            y = dual * 2
        assert fwAD._is_fwd_grad_enabled()
        assert fwAD.unpack_dual(y).tangent is None
        assert fwAD.unpack_dual(dual * 2).tangent is not None


def test_scalars_broadcast_and_promotion(torch, fwAD):
    with fwAD.dual_level():
        a = fwAD.make_dual(torch.rand(3, 1), torch.ones(3, 1))
        b = fwAD.make_dual(torch.rand(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64))
        p, t = fwAD.unpack_dual(2 * a * b + 1)
        assert t.shape == (3, 2) and t.dtype == torch.float64
        assert torch.allclose(t, 2 * (fwAD.unpack_dual(a).primal + fwAD.unpack_dual(b).primal))
        assert p.shape == (3, 2)


def test_forward_over_reverse(torch, fwAD):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, torch.tensor([1.0, 0.0, 0.0]))
        (g,) = torch.autograd.grad((dual.prod() + (dual**3).sum()), dual)
        assert fwAD.unpack_dual(g).tangent.tolist() == [6.0, 3.0, 2.0]


def test_reverse_over_forward(torch, fwAD):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    v = torch.ones(3, requires_grad=True)
    with fwAD.dual_level():
        t = fwAD.unpack_dual((fwAD.make_dual(x, v) ** 3).sum()).tangent
    gx, gv = torch.autograd.grad(t, (x, v))
    assert gx.tolist() == [6.0, 12.0, 18.0]
    assert gv.tolist() == [3.0, 12.0, 27.0]


def test_module_in_forward_mode(torch, fwAD):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.LayerNorm(4), torch.nn.Linear(4, 2))
    x, v = torch.rand(5, 3), torch.rand(5, 3)
    with fwAD.dual_level():
        t = fwAD.unpack_dual(model(fwAD.make_dual(x, v))).tangent
    _, expected = torch.autograd.functional.jvp(model, x, v)
    assert torch.allclose(t, expected, atol=1e-6)


def test_tangents_of_parameters(torch, fwAD):
    torch.manual_seed(0)
    linear = torch.nn.Linear(3, 2)
    x = torch.rand(4, 3)
    with fwAD.dual_level():
        weight = fwAD.make_dual(linear.weight.detach(), torch.ones(2, 3))
        out = torch.nn.functional.linear(x, weight, linear.bias)
        assert torch.allclose(fwAD.unpack_dual(out).tangent, x.sum(1, keepdim=True).expand(4, 2))


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


def test_function_with_jvp(torch, fwAD):
    cube = _Cases.cube(torch)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, torch.ones(2))
        y = cube.apply(dual, 2.0)
        assert fwAD.unpack_dual(y).tangent.tolist() == [6.0, 24.0]
        (g,) = torch.autograd.grad(y.sum(), x)
        assert g.tolist() == [6.0, 24.0]
        assert fwAD.unpack_dual(g).tangent.tolist() == [12.0, 24.0]


def test_function_without_jvp(torch, fwAD):
    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with fwAD.dual_level(), pytest.raises((RuntimeError, NotImplementedError), match="must implement the jvp function"):
        Plain.apply(fwAD.make_dual(torch.rand(2), torch.rand(2)))


def test_function_materializes_tangents(torch, fwAD):
    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def jvp(ctx, tx, ty):
            assert ty is not None
            return tx + ty

    with fwAD.dual_level():
        y = Sum.apply(fwAD.make_dual(torch.rand(2), torch.ones(2)), torch.rand(2))
        assert fwAD.unpack_dual(y).tangent.tolist() == [1.0, 1.0]


def test_function_inplace(torch, fwAD):
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

    with fwAD.dual_level():
        t = torch.ones(2)
        y = Double.apply(fwAD.make_dual(torch.rand(2), t))
        assert fwAD.unpack_dual(y).tangent is t or fwAD.unpack_dual(y).tangent.tolist() == [2.0, 2.0]
        with pytest.raises(RuntimeError,
                match="inplace custom Function is not modifying the forward mode gradients inplace"):
            Wrong.apply(fwAD.make_dual(torch.rand(2), torch.ones(2)))


def test_complex(torch, fwAD):
    x = torch.tensor([1 + 2j, 3 - 1j])
    v = torch.tensor([1j, 2 + 1j])
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, v)
        assert torch.allclose(fwAD.unpack_dual(dual**2).tangent, 2 * x * v)
        assert torch.allclose(fwAD.unpack_dual(dual.exp()).tangent, x.exp() * v)
        assert torch.allclose(fwAD.unpack_dual(dual.abs()).tangent, (x.conj() * v).real / x.abs())
        assert torch.allclose(fwAD.unpack_dual(dual.conj()).tangent, v.conj())
        assert torch.allclose(fwAD.unpack_dual(torch.view_as_real(dual)).tangent, torch.view_as_real(v))


def test_decorator_and_exceptions(torch, fwAD):
    @fwAD.dual_level()
    def f():
        return fwAD.unpack_dual(fwAD.make_dual(torch.ones(1), torch.ones(1)) * 3).tangent

    assert f().tolist() == [3.0]
    with pytest.raises(ZeroDivisionError), fwAD.dual_level():
        raise ZeroDivisionError
    with fwAD.dual_level():
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
    from wengert.transforms.forward_mode import Level

    x = torch.tensor(2.0)
    with Level() as outer:
        a = outer.dual(x, torch.tensor(1.0))
        with Level() as inner:
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
def test_tangents_of_results_are_their_own(torch, fwAD, name):
    t = torch.tensor([1.0, 2.0])
    with fwAD.dual_level():
        y = HANDED_ON[name](fwAD.make_dual(torch.tensor([3.0, 4.0]), t))
        assert fwAD.unpack_dual(y).tangent is not t
        y.mul_(10)
        assert fwAD.unpack_dual(y).tangent.tolist() == [10.0, 20.0]
    assert t.tolist() == [1.0, 2.0]


def test_detaching_forgets_the_tangent(torch, fwAD):
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.ones(2), torch.ones(2))
        inplace = dual.clone()
        assert fwAD.unpack_dual(inplace.detach_()).tangent is None
        assert fwAD.unpack_dual(inplace * 2).tangent is None
        assert fwAD.unpack_dual(dual.detach()).tangent is None
        assert fwAD.unpack_dual(dual).tangent is not None


@pytest.mark.parametrize("transposed", [False, True])
def test_gradients_of_convolution_that_are_wanted(torch, fwAD, transposed):
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
    with fwAD.dual_level():
        dual = fwAD.make_dual(w.detach(), torch.ones_like(w))
        for_input, _, _ = backward(g, x.detach(), dual, *given[3:], (True, False, False))
        ones = backward(g, x.detach(), torch.ones_like(w), *given[3:], (True, False, False))[0]
        assert torch.allclose(fwAD.unpack_dual(for_input).tangent, ones, atol=1e-5)
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
def test_tangents_are_lazy_like_their_primals(torch, fwAD, primal, tangent):
    views = {"plain": lambda x: x, "conj": lambda x: x.conj(), "neg": lambda x: x._neg_view()}
    x = views[primal](torch.complex(torch.arange(6.0).reshape(2, 3), torch.ones(2, 3)))
    t = views[tangent](torch.complex(torch.ones(2, 3), torch.arange(6.0).reshape(2, 3)))
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, t)
        found = fwAD.unpack_dual(dual).tangent
        assert (found is t) == (primal == tangent)
        assert torch.equal(found, t)
        assert (found.is_conj(), found.is_neg()) == (x.is_conj(), x.is_neg())
        assert torch.equal(fwAD.unpack_dual(dual[1:].imag).tangent, t[1:].imag)
        dual.mul_(2)
        assert torch.equal(fwAD.unpack_dual(dual.real).tangent, 2 * t.real if primal != tangent else t.real)


def test_memory_of_duals_stays(torch, fwAD):
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(RuntimeError, match="cannot resize variables that has a forward grad"):
            dual.resize_(3)
        with pytest.raises(NotImplementedError, match="Trying to use forward AD with set_"):
            dual.set_(torch.ones(2))

"""Conjugates and negatives that are views: of the same memory, computed when they are read."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest


def numbers(torch, *values, **options):
    return torch.tensor(list(values), dtype=torch.complex128, **options)


def names(node, depth=5):
    found = []
    while node is not None and len(found) < depth:
        found.append(node.name().removeprefix("torch::autograd::"))
        node = node.next_functions[0][0] if node.next_functions else None
    return found


def test_a_conjugate_is_a_view(torch):
    x = numbers(torch, 1 + 2j, 3 - 4j)
    c = x.conj()
    assert c.is_conj() and torch.is_conj(c) and not x.is_conj() and not c.is_neg()
    assert c._is_view() and c._base is x and c.data_ptr() == x.data_ptr() and c.tolist() == [1 - 2j, 3 + 4j]
    assert repr(c) == "tensor([1.-2.j, 3.+4.j], dtype=torch.complex128)" and c[0].item() == complex(c[0]) == 1 - 2j
    assert not c.is_set_to(x) and c.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    twice = c.conj()
    assert not twice.is_conj() and twice is not x and twice._base is x and twice.tolist() == x.tolist()
    x.mul_(2)
    assert c._version == 1 and c.tolist() == [2 - 4j, 6 + 8j]


def test_the_imaginary_part_of_a_conjugate_is_a_lazy_negative(torch):
    c = numbers(torch, 1 + 2j, 3 - 4j).conj()
    assert (c.imag.is_neg() and torch.is_neg(c.imag) and not c.imag.is_conj() and c.imag._is_view()
        and c.imag.tolist() == [-2, 4])
    assert (not c.real.is_neg() and not c.real.is_conj() and c.real.tolist() == [1, 3]
        and c.real.numpy().tolist() == [1, 3])
    assert not c.imag.resolve_neg().is_neg() and not c.imag.clone().is_neg() and not c.imag.float().is_neg()
    assert repr(c.imag) == "tensor([-2.,  4.], dtype=torch.float64)" and (c.imag + 1).tolist() == [-1, 5]


def test_real_tensors_are_their_own_conjugates(torch):
    x = torch.tensor([1.0, 2.0])
    assert (x.conj() is x and torch.conj(x) is x and x.resolve_conj() is x and x.resolve_neg() is x
        and torch.conj_physical(x) is x)
    assert torch.real(x) is x and x.real is x and not x.is_conj()
    whole = torch.tensor([1])
    assert whole.conj() is whole and x[None].mH.tolist() == [[1.0], [2.0]]


def test_resolving(torch):
    x = numbers(torch, 1 + 2j)
    c = x.conj()
    assert x.resolve_conj() is x and torch.resolve_conj(c).tolist() == [1 - 2j] and not torch.resolve_conj(c).is_conj()
    assert not c.resolve_conj()._is_view() and c.resolve_neg() is c and torch.resolve_neg(c.imag).tolist() == [-2]
    for computed in (torch.conj_physical(x), torch.conj_physical(c), c.clone(), copy.deepcopy(c),
            c.to(torch.complex64)):
        assert not computed.is_conj() and not computed._is_view()
    assert (c.contiguous() is c and c.to(torch.complex128) is c and copy.copy(c).is_conj() and c.detach().is_conj()
        and c.data.is_conj())


@pytest.mark.parametrize(
    "view",
    [
        "v[0]", "v[:1]", "v.view(2, 1)", "v.reshape(1, 2)", "v.unsqueeze(0)", "v.expand(3, 2)",
        "v.as_strided((1,), (1,))", "v.t()", "v.flatten()",
        "v.unfold(0, 1, 1)", "v.split(1)[1]", "v.chunk(2)[1]", "v.unbind()[1]", "v.select(0, 1)", "v.narrow(0, 0, 1)",
        "v.view_as(v)", "v.squeeze()", "v.view(1, 2).mT", "v.movedim(0, 0)", "v.tensor_split(2)[0]",
        "v.view(1, 2).diagonal()", "list(v)[1]", "v[..., None]",
    ],
)
def test_views_of_lazy_tensors_are_lazy(torch, view):
    x = numbers(torch, 1 + 2j, 3 - 4j)
    for lazy, plain in ((x.conj(), x.conj().resolve_conj()), (torch._neg_view(x), -x), (x.conj().imag, -x.imag)):
        got = eval(view, {"v": lazy})
        assert (got.is_conj(), got.is_neg()) == (lazy.is_conj(), lazy.is_neg()) and got._is_view() and got._base is x
        assert torch.equal(got, eval(view, {"v": plain}))


def test_results_are_not_lazy(torch):
    x = numbers(torch, 1 + 2j, 3 - 4j)
    c, p = x.conj(), x.conj().resolve_conj()
    for f in (
        lambda v: v + 1, lambda v: v * v, lambda v: -v, lambda v: v.sum(), lambda v: v.abs(), torch.zeros_like,
        torch.ones_like, lambda v: v.repeat(2),
        lambda v: torch.cat([v, v]), lambda v: torch.stack([v]), lambda v: v[[0]], lambda v: v.flip(0),
        lambda v: v[torch.tensor([True, False])], lambda v: torch.where(torch.tensor([True, False]), v, v),
        lambda v: v.angle(), lambda v: v.sgn(), lambda v: v.cumsum(0), lambda v: torch.vdot(v, v),
        lambda v: torch.outer(v, v), lambda v: torch.einsum("i,j->ij", v, v), lambda v: v.exp(), lambda v: v**2,
        lambda v: torch.fft.fft(v), lambda v: v.mean(), lambda v: torch.linalg.norm(v),
        lambda v: v.gather(0, torch.tensor([1])),
    ):
        assert not f(c).is_conj() and torch.allclose(f(c), f(p))
    assert torch.equal(c, p) and (c == p).all() and bool(c[0]) and torch.tensor([c[0], c[1]]).tolist() == c.tolist()


@pytest.mark.parametrize(
    "write",
    [
        "v.add_(1j)", "v.mul_(2j)", "v.copy_(w)", "v.__setitem__(0, 7j)", "v.fill_(1j)", "v.zero_()", "v.imag.add_(1)",
        "v.real.add_(1)", "v.index_put_((torch.tensor([0]),), w[:1])", "torch.sin(v, out=v)", "torch.add(w, 1, out=v)",
        "v.masked_fill_(torch.tensor([True, False]), 3j)", "v.conj_physical_()", "v.neg_()",
        "v.__setitem__(torch.tensor([True, False]), w[:1])", "v[1:].mul_(w[0])", "v.__iadd__(w)", "v.copy_(v + w)",
        "v.addcmul_(w, w)", "v.index_add_(0, torch.tensor([1]), w[:1])", "v.tanh_()", "v.conj().mul_(1j)",
        "v.imag.zero_()", "v.exp_()",
    ],
)
@pytest.mark.parametrize("lazy", ["x.conj()", "torch._neg_view(x)", "torch._neg_view(x.conj())"])
def test_writes_go_through(torch, write, lazy):
    w = numbers(torch, 5 - 1j, 6j)
    x = numbers(torch, 1 + 2j, 3 - 4j)
    v = eval(lazy, {"x": x, "torch": torch})
    plain = v.clone()
    marks = v.is_conj(), v.is_neg()
    eval(write, {"v": plain, "w": w, "torch": torch})
    answer = eval(write, {"v": v, "w": w, "torch": torch})
    assert torch.allclose(v, plain) and x._version == v._version == 1 and (v.is_conj(), v.is_neg()) == marks
    assert torch.allclose(eval(lazy, {"x": x, "torch": torch}), plain)
    assert (answer is v or "__setitem__" in write or "imag" in write or "real" in write or "conj()" in write
        or "[1:]" in write)


def test_writes_of_a_conjugate_to_its_base(torch):
    x = numbers(torch, 1 + 2j)
    assert x.copy_(x.conj()).tolist() == [1 - 2j] and x.add_(x.conj()).tolist() == [2]
    y = numbers(torch, 1 + 2j, 3j)
    y.conj().imag = torch.tensor([9.0, 9.0])
    assert y.tolist() == [1 - 9j, -9j]


def test_what_lazy_tensors_refuse(torch):
    x = numbers(torch, 1 + 2j)
    c = x.conj()
    assert c.numpy(force=True).tolist() == [1 - 2j] and c.imag.numpy(force=True).tolist() == [-2]
    with pytest.raises(RuntimeError,
            match="view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor"):
        torch.view_as_real(c)
    assert torch.view_as_real(c.resolve_conj()).tolist() == [[1, -2]]
    with pytest.raises(BufferError, match="Can't export tensors with the conjugate bit set"):
        c.__dlpack__()
    with pytest.raises(RuntimeError,
            match="not supported for conjugate view tensors when converting to a different dtype"):
        c.view(torch.float64)
    with pytest.raises(RuntimeError,
            match="not supported for tensors with negative bit set when converting to a different dtype"):
        c.imag.view(torch.int64)


def test_lazy_negatives(torch):
    r = torch.tensor([1.0, 2.0])
    n = torch._neg_view(r)
    assert n.is_neg() and n._is_view() and n._base is r and n.tolist() == [-1, -2] and not torch._neg_view(n).is_neg()
    assert n.sum() == -3 and n.add_(5).tolist() == [4, 3] and r.tolist() == [-4, -3] and n.mul_(n).tolist() == [16, 9]
    x = numbers(torch, 1 + 2j)
    both = torch._neg_view(x).conj()
    assert (both.is_conj() and both.is_neg() and both.tolist() == [-1 + 2j] and not both.imag.is_neg()
        and both.real.is_neg())
    assert (torch.view_as_real(torch._neg_view(x)).is_neg()
        and torch._neg_view(torch.tensor([1, 2])).tolist() == [-1, -2])
    assert torch.view_as_complex(torch._neg_view(torch.ones(1, 2))).tolist() == [-1 - 1j]
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        torch._neg_view(torch.tensor([True])).tolist()


def test_kept_in_files(torch):
    x = numbers(torch, 1 + 2j, 3 - 4j)
    for v in (x.conj(), x.conj().imag, torch._neg_view(x).conj()[1:]):
        buffer = io.BytesIO()
        torch.save(v, buffer)
        buffer.seek(0)
        for again in (pickle.loads(pickle.dumps(v)), torch.load(buffer)):
            assert (again.is_conj(), again.is_neg()) == (v.is_conj(), v.is_neg()) and torch.equal(again, v)


def test_data_and_storage(torch):
    x = numbers(torch, 1 + 2j)
    y = numbers(torch, 0)
    y.data = x.conj()
    assert y.is_conj() and y.tolist() == [1 - 2j]
    z = numbers(torch, 0).set_(x.conj())
    assert not z.is_conj() and z.tolist() == [1 + 2j]
    assert x.conj().requires_grad_().is_leaf


def test_adjoints(torch):
    m = torch.tensor([[1 + 2j, 3j], [4 - 1j, 5.0]], requires_grad=True)
    for adjoint in (m.H, m.mH, m.adjoint(), torch.adjoint(m)):
        assert adjoint.is_conj() and adjoint._base is m and adjoint.stride() == (1, 2)
        assert names(adjoint.grad_fn)[:2] == ["ConjBackward0", "TransposeBackward0"]
    for product in (m.H @ m, m.conj() @ m, torch.mm(m, m.H), m.H @ m.conj()):
        assert not product.is_conj()
    assert torch.allclose(m.H @ m, m.mT.resolve_conj().conj_physical() @ m)
    with pytest.raises(RuntimeError,
            match="tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor."):
        m[0].mH


def test_nodes(torch):
    x = numbers(torch, 1 + 2j, requires_grad=True)
    for y, chain in (
        (x.conj(), ["ConjBackward0", "AccumulateGrad"]),
        (x.conj().conj(), ["ConjBackward0", "ConjBackward0", "AccumulateGrad"]),
        (x.conj().imag,
            ["SelectBackward0", "NegViewBackward0", "ViewAsRealBackward0", "ConjBackward0", "ConjBackward0"]),
        (x.imag, ["SelectBackward0", "ViewAsRealBackward0", "AccumulateGrad"]),
        (torch.real(x), ["SelectBackward0", "ViewAsRealBackward0", "AccumulateGrad"]),
        (x.conj().resolve_conj(), ["CloneBackward0", "ConjBackward0", "AccumulateGrad"]),
        (torch._neg_view(x), ["NegViewBackward0", "AccumulateGrad"]),
        (torch.conj_physical(x), ["ConjPhysicalBackward0", "AccumulateGrad"]),
    ):
        assert names(y.grad_fn) == chain


def test_writes_through_lazy_views_are_recorded(torch):
    def after(write):
        x = numbers(torch, 1 + 2j, 3 - 4j, requires_grad=True)
        b = x * 1
        v = b.conj()
        write(v)
        assert b.grad_fn.name() == "torch::autograd::CopySlices" and v.grad_fn.name() == "ConjBackward0" and v.is_conj()
        torch.view_as_real(b).pow(2).sum().backward()
        return b.tolist(), x.grad.tolist()

    assert after(lambda v: v.mul_(2j)) == ([4 - 2j, -8 - 6j], [8 + 16j, 24 - 32j])
    assert after(lambda v: v.imag.mul_(2)) == ([1 + 4j, 3 - 8j], [2 + 16j, 6 - 32j])
    assert after(lambda v: v[0].fill_(0)) == ([0, 3 - 4j], [0, 6 - 8j])
    x = numbers(torch, 1 + 2j, 3 - 4j, requires_grad=True)
    with pytest.raises(RuntimeError,
            match="a view of a leaf Variable that requires grad is being used in an in-place operation"):
        x.conj().mul_(2)
    b = x * 1
    v = b.conj()
    b.mul_(3j)
    assert (v.tolist() == [-6 - 3j, 12 - 9j]
        and names(v.grad_fn) == ["ConjBackward0", "MulBackward0", "MulBackward0", "AccumulateGrad"])
    with torch.no_grad():
        x.conj().add_(1j)
    assert x.tolist() == [1 + 1j, 3 - 5j]


def test_a_saved_conjugate_that_was_overwritten(torch):
    b = numbers(torch, 1 + 2j, requires_grad=True) * 1
    c = b.conj()
    z = c * c
    b.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*which is output 0 of Conj"):
        z.abs().sum().backward()


def test_lazy_gradients(torch):
    x = numbers(torch, 1 + 2j, requires_grad=True)
    (x * 1).backward(numbers(torch, 1j).conj())
    assert x.grad.tolist() == [-1j]
    assert torch.autograd.grad(x * 2, x, numbers(torch, 1j).conj())[0].tolist() == [-2j]
    x.grad = numbers(torch, 1 + 1j).conj()
    (x * 1).backward(numbers(torch, 1))
    assert x.grad.tolist() == [2 - 1j]
    y = x * 2
    y.register_hook(lambda g: g.conj())
    x.grad = None
    y.backward(numbers(torch, 1j))
    assert x.grad.tolist() == [-2j]
    (g,) = torch.autograd.grad((x.conj() ** 3).abs().sum(), x, create_graph=True)
    assert g.is_conj() and g.grad_fn.name() == "ConjBackward0"


@pytest.mark.parametrize(
    "f",
    [
        lambda a: a.conj() * a, lambda a: a.conj().imag * a.real, lambda a: a.mH @ a, lambda a: a.conj().real + a.imag,
        lambda a: a.H.conj().sin(),
    ],
)
def test_checked_numerically(torch, f):
    a = torch.randn(2, 2, dtype=torch.complex128, generator=torch.Generator().manual_seed(3)).requires_grad_()
    assert torch.autograd.gradcheck(f, a, check_forward_ad=True) and torch.autograd.gradgradcheck(f, a)


def test_forward_mode(torch):
    import importlib

    fw = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    with fw.dual_level():
        c = fw.make_dual(numbers(torch, 1 + 2j), numbers(torch, 3 + 1j)).conj()
        primal, tangent = fw.unpack_dual(c)
        assert primal.is_conj() and tangent.is_conj() and tangent.tolist() == [3 - 1j]
        assert fw.unpack_dual(c.imag).tangent.tolist() == [-1]


def test_saved_and_mapped(torch):
    seen = []
    x = numbers(torch, 1 + 2j, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (seen.append(t.is_conj()), t)[1], lambda t: t):
        y = x.conj() * x
    y.real.sum().backward()
    assert seen == [False, True] and x.grad.tolist() == [2 + 4j]
    assert torch.vmap(lambda a: a.conj())(numbers(torch, 1j, 2j)).is_conj()

    class Conjugate(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a.conj())
            return a.conj()

        @staticmethod
        def backward(ctx, g):
            (saved,) = ctx.saved_tensors
            assert saved.is_conj()
            return g.conj()

    x.grad = None
    Conjugate.apply(x).abs().sum().backward()
    assert torch.allclose(x.grad, x.detach() / x.detach().abs())


def test_numpy_of_a_lazy_tensor_is_computed_and_read_only():
    """PyTorch refuses; nothing is lost where nothing can be written."""
    import wengert

    x = numbers(wengert, 1 + 2j)
    for lazy, value in ((x.conj(), 1 - 2j), (x.conj().imag, -2.0)):
        array = lazy.numpy()
        assert array.tolist() == [value]
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert np.asarray(x.conj()).tolist() == [1 - 2j]


def test_operators_take_conjugates_as_their_numbers(torch):
    x = torch.randn(3, 3, dtype=torch.complex128)
    calls = [lambda t: t * t, lambda t: x + t, lambda t: t.sum(1), lambda t: x @ t, lambda t: torch.stack([t, x]),
        lambda t: t.t(), lambda t: t[1:, 0], lambda t: t.exp(), lambda t: t.abs(), lambda t: t * 2j, lambda t: 1 - t,
        lambda t: torch.where(t.real > 0, t, x), lambda t: t.reshape(-1), lambda t: t.to(torch.complex64),
        lambda t: t.clone()]
    for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with mode():
            for source in (x, x.t(), x[:, ::2].expand(3, 2), x[:0], x[0, 0]):
                for f in calls if source.shape == x.shape else calls[:1]:
                    for _ in range(2):
                        found, expected = f(source.conj()), f(source.conj_physical())
                        assert torch.equal(found, expected) and found.shape == expected.shape
                        assert found.is_inference() == (mode is torch.inference_mode and not found._is_view())


def test_histories_of_conjugates(torch):
    for made in (lambda: torch.randn(3, dtype=torch.complex128, requires_grad=True),
            lambda: torch.randn(3, dtype=torch.complex128).conj().requires_grad_()):
        x = made()
        y = x * x.conj()
        y.backward(torch.ones_like(y))
        assert torch.allclose(x.grad, 2 * x.detach()) and y.grad_fn.name() == "MulBackward0"
        assert x.conj().grad_fn.name() == "ConjBackward0"
        assert torch.autograd.gradcheck(lambda t: t.conj() * t.exp(), (x,))
    x = made()
    c = (x * 1).conj()
    y = c * c
    c.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.abs().sum().backward()
    z = x.detach().clone()
    z.mul_(z.conj())
    assert torch.allclose(z, x.detach().abs().square() + 0j)
    leaf = torch.randn(3, dtype=torch.complex128, requires_grad=True)
    with torch.no_grad():
        w = leaf.conj()
    with pytest.raises(RuntimeError, match="no_grad mode"):
        w.add_(1)

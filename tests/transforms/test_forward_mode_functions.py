"""Forward mode where custom Functions run, tangents of other types than their primals, and what the primal of a dual
tensor shows.
"""

from __future__ import annotations

import importlib
import warnings

import pytest


@pytest.fixture
def fwad(torch):
    return importlib.import_module(f"{torch.__name__}.autograd.forward_ad")


def enabled(torch):
    return importlib.import_module(f"{torch.__name__}.autograd.forward_ad")._is_fwd_grad_enabled()


def function(torch, fwad, seen, separate):
    def note(where, *tensors):
        seen.append((where, enabled(torch), [fwad.unpack_dual(t).tangent for t in tensors]))

    class Together(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            note("forward", x, x * 2)
            ctx.x = x
            return x * 3

        @staticmethod
        def backward(ctx, g):
            note("backward")
            return g * 3

        @staticmethod
        def jvp(ctx, t):
            note("jvp", ctx.x, t)
            return t * 3

    class Apart(torch.autograd.Function):
        @staticmethod
        def forward(x):
            note("forward", x, x * 2)
            return x * 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            note("setup_context", inputs[0], output)
            ctx.x = inputs[0]

        backward, jvp = Together.backward, Together.jvp

    return (Apart if separate else Together).apply


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_tangents_are_out_of_sight_in_custom_functions(torch, fwad, separate, requires_grad):
    seen = []
    f = function(torch, fwad, seen, separate)
    with fwad.dual_level():
        x = fwad.make_dual(torch.ones(2, requires_grad=requires_grad), torch.full((2,), 5.0))
        y = f(x)
        assert fwad.unpack_dual(y).tangent.tolist() == [15.0, 15.0]
        assert (
            {where for where, *_ in seen} == ({"forward", "setup_context", "jvp"} if separate else {"forward", "jvp"}))
        assert all(not on and tangents == [None, None] for _, on, tangents in seen)
        del seen[:]
        if requires_grad:
            torch.autograd.grad(y.sum(), x)
            assert seen == [("backward", True, [])]
    assert enabled(torch)


def test_without_a_level_too(torch, fwad):
    seen = []
    function(torch, fwad, seen, False)(torch.ones(2))
    assert seen[0][:2] == ("forward", False) and enabled(torch)


def test_a_failing_forward_leaves_forward_mode_on(torch, fwad):
    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            raise ValueError("no")

    with fwad.dual_level():
        with pytest.raises(ValueError, match="no"):
            Failing.apply(fwad.make_dual(torch.ones(2), torch.ones(2)))
        assert enabled(torch)
        assert fwad.unpack_dual(fwad.make_dual(torch.ones(2), torch.ones(2)) * 2).tangent.tolist() == [2.0, 2.0]


def test_dual_tensors_made_where_forward_mode_is_off(torch, fwad):
    with fwad.dual_level():
        with fwad._set_fwd_grad_enabled(False):
            x = fwad.make_dual(torch.ones(2), torch.full((2,), 3.0))
            assert fwad.unpack_dual(x).tangent is None
            assert not enabled(torch)
        assert fwad.unpack_dual(x).tangent.tolist() == [3.0, 3.0]
    with fwad._set_fwd_grad_enabled(False), fwad.dual_level() as level:
        assert level == fwad._current_level == 0
        assert fwad.unpack_dual(fwad.make_dual(torch.ones(2), torch.ones(2))).tangent is None
    assert fwad._current_level == -1


def test_writes_where_forward_mode_is_off_leave_the_tangent(torch, fwad):
    with fwad.dual_level():
        x = fwad.make_dual(torch.ones(2), torch.ones(2)) * 1
        with fwad._set_fwd_grad_enabled(False):
            x.mul_(3)
        assert x.tolist() == [3.0, 3.0] and fwad.unpack_dual(x).tangent.tolist() == [1.0, 1.0]


def test_inference_mode_has_no_forward_mode(torch, fwad):
    with torch.inference_mode():
        assert not enabled(torch)
        with fwad.dual_level():
            assert fwad.unpack_dual(fwad.make_dual(torch.ones(2), torch.ones(2)) * 3).tangent is None
    with torch.no_grad():
        assert enabled(torch)


# -- types ------------------------------------------------------------------------------------------------------------

KEPT = {
    "add": lambda torch, x: x + 1,
    "mul": lambda torch, x: x * x,
    "div": lambda torch, x: 2 / x,
    "sum": lambda torch, x: x.sum(),
    "mean": lambda torch, x: x.mean(),
    "prod": lambda torch, x: x.prod(),
    "exp": lambda torch, x: x.exp(),
    "sin": lambda torch, x: x.sin(),
    "pow": lambda torch, x: x**3,
    "norm": lambda torch, x: x.norm(),
    "softmax": lambda torch, x: x.softmax(0),
    "view": lambda torch, x: x.view(2, 1),
    "index": lambda torch, x: x[0],
    "cat": lambda torch, x: torch.cat([x, torch.ones(2, dtype=x.dtype)]),
    "where": lambda torch, x: torch.where(x > 1, x, torch.ones(2, dtype=x.dtype)),
    "maximum": lambda torch, x: x.max(),
    "cumsum": lambda torch, x: x.cumsum(0),
    "copy_": lambda torch, x: torch.zeros(2, dtype=x.dtype).copy_(x),
    "add_": lambda torch, x: torch.zeros(2, dtype=x.dtype).add_(x),
    "mul_": lambda torch, x: x.clone().mul_(x),
    "to": lambda torch, x: x.to(x.dtype),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_wider_tangent_stays_wide(torch, fwad, name):
    with fwad.dual_level():
        x = fwad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0], dtype=torch.float64))
        assert fwad.unpack_dual(x).tangent.dtype is torch.float64
        y = KEPT[name](torch, x)
        value, tangent = fwad.unpack_dual(y)
        assert value.dtype is torch.float32 and tangent.dtype is torch.float64
        same = fwad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]))
        assert torch.allclose(tangent.float(), fwad.unpack_dual(KEPT[name](torch, same)).tangent)


@pytest.mark.parametrize("name", ["add", "sum", "mean", "view", "index", "cumsum", "mul", "copy_"])
def test_a_complex_tangent_of_a_real_tensor_stays_complex(torch, fwad, name):
    with fwad.dual_level():
        x = fwad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0 + 1j, 3.0 - 1j]))
        value, tangent = fwad.unpack_dual(KEPT[name](torch, x))
        assert value.dtype is torch.float32 and tangent.dtype is torch.complex64
        parts = [
            fwad.unpack_dual(KEPT[name](torch, fwad.make_dual(torch.tensor([1.0, 2.0]), part))).tangent
            for part in (torch.tensor([1.0, 3.0]), torch.tensor([1.0, -1.0]))
        ]
        assert torch.allclose(tangent, torch.complex(*parts))


def test_analytic_functions_take_the_real_part(torch, fwad):
    with fwad.dual_level():
        x = fwad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0 + 1j, 3.0 - 1j]))
        for f in (torch.exp, torch.sin, torch.sqrt):
            same = fwad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 3.0]))
            assert torch.allclose(fwad.unpack_dual(f(x)).tangent, fwad.unpack_dual(f(same)).tangent)


def test_products_of_matrices_want_one_type(torch, fwad):
    with fwad.dual_level():
        x = fwad.make_dual(torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64))
        with pytest.raises(RuntimeError, match="expected m1 and m2 to have the same dtype"):
            torch.mm(x, torch.ones(2, 2))


def test_operands_of_several_types(torch, fwad):
    with fwad.dual_level():
        x = fwad.make_dual(torch.ones(2), torch.ones(2))
        wide = torch.ones(2, dtype=torch.float64)
        assert fwad.unpack_dual(x + wide).tangent.dtype is fwad.unpack_dual(x * wide).tangent.dtype is torch.float64
        assert fwad.unpack_dual(x + torch.tensor(1.0, dtype=torch.float64)).tangent.dtype is torch.float32
        narrow = fwad.make_dual(wide, torch.ones(2))
        assert fwad.unpack_dual(narrow + 1).tangent.dtype is torch.float32
        assert fwad.unpack_dual(narrow * narrow).tangent.dtype is torch.float64


def test_integers_are_no_tangents(torch, fwad):
    with fwad.dual_level(), pytest.raises(ValueError, match="Expected tangent to be floating point or complex"):
        fwad.make_dual(torch.ones(2), torch.ones(2, dtype=torch.int64))


# -- the primal -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of", ["dual", "result", "view", "other"])
def test_the_primal_of_a_recorded_dual(torch, fwad, of):
    leaf = torch.ones(2, requires_grad=True)
    with fwad.dual_level():
        dual = fwad.make_dual(leaf, torch.ones(2))
        assert dual.grad_fn.name() == "ViewBackward0"
        t = {"dual": dual, "result": dual * 3, "view": dual.view(2, 1), "other": leaf}[of]
        primal = fwad.unpack_dual(t).primal
        assert primal.grad_fn is not None and primal._is_view()
        (grad,) = torch.autograd.grad(primal.sum(), leaf)
        assert grad.tolist() == ([3.0, 3.0] if of == "result" else [1.0, 1.0])
        with torch.no_grad():
            assert fwad.unpack_dual(t).primal.grad_fn is None


@pytest.mark.parametrize("name", ["igamma", "heaviside", "floor_divide"])
def test_operators_without_a_derivative_say_that_forward_mode_has_none(torch, fwad, name):
    with fwad.dual_level():
        dual = fwad.make_dual(torch.ones(3), torch.ones(3))
        with pytest.raises(NotImplementedError,
                match=f"Trying to use forward AD with .*{name} that does not support it"):
            getattr(torch, name)(dual, torch.ones(3))


# -- layouts ----------------------------------------------------------------------------------------------------------


def test_what_becomes_sparse_carries_no_tangent(torch, fwad):
    at, eye = torch.tensor([[0, 1]]), torch.eye(2).to_sparse()
    with fwad.dual_level():
        d = fwad.make_dual(torch.rand(2, 2), torch.ones(2, 2))
        for f, name in (
            (lambda: d.to_sparse(), "_to_sparse"), (lambda: d.sparse_mask(eye), "sparse_mask"),
            (lambda: torch.sparse.mm(eye, d), "_sparse_addmm"),
            (lambda: torch.sparse_coo_tensor(at, d[0], (3,), check_invariants=False),
                "_sparse_coo_tensor_with_dims_and_tensors"),
        ):  # fmt: skip
            with pytest.raises(NotImplementedError,
                    match=f"Trying to use forward AD with {name} that does not support it"):
                f()
        for f in (lambda: d + eye, lambda: d * eye, lambda: eye @ d):
            with pytest.raises(NotImplementedError):
                f()
        assert torch.eye(2).to_sparse().to_dense().tolist() == [[1.0, 0.0], [0.0, 1.0]]
        x = torch.eye(2, requires_grad=True)
        with pytest.raises(NotImplementedError, match="sparse_mask"):
            torch.autograd.grad(x.to_sparse().to_dense(), x, d)


def test_a_table_with_sparse_gradients_carries_a_tangent(torch, fwad):
    with fwad.dual_level():
        table = fwad.make_dual(torch.rand(3, 2), torch.arange(6.0).reshape(3, 2))
        rows = torch.nn.functional.embedding(torch.tensor([2, 0]), table, sparse=True)
        assert fwad.unpack_dual(rows).tangent.tolist() == [[4.0, 5.0], [0.0, 1.0]]


def test_tangents_of_an_image_of_another_format(torch):
    x = torch.rand(2, 3, 2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda t: t.double(memory_format=torch.channels_last), (x,), check_forward_ad=True, check_batched_grad=True,
        check_batched_forward_grad=True
    )


@pytest.mark.parametrize("training", [True, False])
def test_only_the_offset_of_a_batch_carries_a_tangent(torch, fwad, training):
    x, mean, var = torch.rand(4, 3), torch.zeros(3), torch.ones(3)

    def normalised(b):
        return torch.nn.functional.batch_norm(x, mean, var, None, b, training=training)

    with fwad.dual_level():
        assert (fwad.unpack_dual(normalised(fwad.make_dual(torch.zeros(3), torch.ones(3)))).tangent.tolist()
            == [[1.0] * 3] * 4)
    for create_graph in (True, False):
        b = torch.zeros(3, requires_grad=True)
        assert torch.autograd.grad(normalised(b).sum(), b, create_graph=create_graph)[0].tolist() == [4.0] * 3


def test_levels_that_are_not_there(torch):
    fwad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="Trying to create a dual Tensor for forward AD but no level exists"):
        fwad.make_dual(x, x)
    with pytest.raises(RuntimeError, match="Trying to access a forward AD level with an invalid index"):
        fwad.make_dual(x, x, level=0)
    with pytest.raises(RuntimeError, match="Invalid level given to _make_dual"):
        fwad.make_dual(x, x, level=5)


@pytest.mark.parametrize("change",
    ["unsqueeze_(0)", "t_()", "transpose_(0, 1)", "as_strided_((2,), (1,))", "squeeze_()"])
def test_views_in_place_change_the_tangent_itself(torch, change):
    fwad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    with fwad.dual_level():
        x, tangent = torch.ones(2, 3, requires_grad=True), torch.ones(2, 3, requires_grad=True)
        given = tangent * 2
        dual = fwad.make_dual(x * 2, given)
        with torch.no_grad():
            eval(f"dual.{change}")
        assert fwad.unpack_dual(dual).tangent is given
        assert given._version == 1 and given.shape == dual.shape and given.grad_fn is not None


def test_a_tangent_of_another_layout_is_copied(torch):
    fwad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    with fwad.dual_level():
        for base in (torch.arange(4.0)[2:], torch.ones(2, 2).t()):
            found = fwad.unpack_dual(fwad.make_dual(base, torch.ones(base.shape))).tangent
            assert not found._is_view() and found._version == 1
            assert found.stride() == base.stride() and found.storage_offset() == base.storage_offset()


def test_out_is_refused_last(torch):
    fwad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    wanted = torch.ones(2, requires_grad=True)
    with fwad.dual_level():
        dual = fwad.make_dual(torch.ones(2), torch.ones(2))
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
    fwad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    x = torch.ones(3, requires_grad=True)
    with fwad.dual_level():
        dual = fwad.make_dual(x, torch.ones(3))
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
    fwad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        with pytest.raises(RuntimeError, match="no level exists"):
            fwad.make_dual(x, torch.ones(2))
        assert fwad.make_dual(x, torch.ones(2), level=0)._is_view()
    with fwad.dual_level():
        dual = fwad.make_dual(x, torch.ones(2))
        with torch.inference_mode():
            again = fwad.make_dual(dual, dual)  # neither is looked at
            primal, tangent = fwad.unpack_dual(dual)
            assert tangent is None and primal is not dual and primal._is_view()
        assert again is not dual

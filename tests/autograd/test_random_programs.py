"""What random programs showed: small things in which a library that copies another one is easily wrong."""

from __future__ import annotations

import warnings

import pytest
from tests.makers import ramp_leaf

# -- writes that the tape does not see -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["logical_and_", "logical_or_", "logical_xor_", "logical_not_"])
def test_logical_writes_are_not_seen_by_the_tape(torch, name):
    x = ramp_leaf(torch, 2, 3)
    args = () if name == "logical_not_" else (torch.ones(2, 3),)
    y = x.exp()
    before = y.grad_fn
    getattr(y, name)(*args)
    assert y.grad_fn is before and y._version == 1
    getattr(x, name)(*args)  # even a leaf takes it
    assert x.is_leaf and x.requires_grad and x._version == 1


@pytest.mark.parametrize("name", ["eq", "ne", "gt", "ge", "lt", "le"])
def test_comparisons_in_place_have_a_gradient_of_zero(torch, name):
    x = ramp_leaf(torch, 3)
    y = getattr(x.clone(), name + "_")(torch.zeros(3, dtype=torch.float64))
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        getattr(x, name + "_")(0)


# -- tensors of no dimensions ----------------------------------------------------------------------------------------


def test_views_of_tensors_without_dimensions(torch):
    x = torch.tensor(2.0, requires_grad=True)
    assert x.movedim(0, 0).grad_fn.name() == "AliasBackward0" and x.moveaxis(-1, 0)._base is x
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert x.mH is x
    with pytest.raises(RuntimeError, match="unflatten got an unexpected error"):
        x.unflatten(0, (1,))
    with pytest.raises(RuntimeError,
            match=r"index_select\(\): Index to scalar can have only 1 value, got 2 value\(s\)"):
        x.index_select(0, torch.tensor([0, 0]))
    assert x.index_select(0, torch.tensor([0])).item() == 2


def test_conj_physical_of_truth_values(torch):
    b = torch.tensor([True, False])
    assert b.conj_physical_() is b and b.tolist() == [True, False]
    with pytest.raises(NotImplementedError, match="\"dot\" not implemented for 'Bool'"):
        b @ b


# -- custom functions ------------------------------------------------------------------------------------------------


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


def test_materialized_gradients_lie_as_their_inputs(torch):
    x = ramp_leaf(torch, 2, 3).detach().t().requires_grad_()
    (g,) = torch.autograd.grad(ramp_leaf(torch, 2).sum(), x, materialize_grads=True)
    assert g.stride() == x.stride() == (1, 3) and g.tolist() == [[0, 0]] * 3


# -- subscripts and shapes -------------------------------------------------------------------------------------------


def test_slices_of_a_whole_dimension_are_no_step(torch):
    x = ramp_leaf(torch, 2, 3)
    for y, name in (
        (x[None, 0:2], "Unsqueeze"), (x[0, 0:3], "Select"), (x[..., 0:9], "Alias"), (x[:, 0:3], "Alias"),
        (x[0:2, 0:3], "Alias"), (x[0:2], "Slice"), (x[0:9], "Slice"), (x[None, -2:], "Slice"), (x[None, 0:1], "Slice"),
        (x[0:2, 0], "Select"),
    ):  # fmt: skip
        assert y.grad_fn.name() == name + "Backward0"
        (g,) = torch.autograd.grad(y.sum(), x)
        assert g.sum() == y.numel()
    y = x.clone()
    y[:, 0:3] = 5.0
    y[0:2, None] = y[:, None] * 2
    assert y.tolist() == [[10.0] * 3] * 2


def test_shapes_that_do_not_fit_are_refused_in_pytorchs_words(torch):
    x = torch.ones(2, 3)
    for target, source, text in (
        (x, torch.ones(2, 2),
            r"The size of tensor a \(3\) must match the size of tensor b \(2\) at non-singleton dimension 1"),
        (x, torch.ones(5),
            r"The size of tensor a \(3\) must match the size of tensor b \(5\) at non-singleton dimension 1"),
        (x[:1], torch.ones(2, 3), r"output with shape \[1, 3\] doesn't match the broadcast shape \[2, 3\]"),
        (x[0], torch.ones(2, 3), r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"),
    ):
        with pytest.raises(RuntimeError, match=text):
            target.copy_(source)
    with pytest.raises(RuntimeError,
            match=r"expand\(torch.FloatTensor\{\[2, 3\]\}, size=\[3\]\): the number of sizes provided \(1\) must be"):
        x[0] = torch.ones(2, 3)
    with pytest.raises(RuntimeError, match=r"expand\(torch.DoubleTensor\{\[2, 3\]\}, size=\[3\]\)"):
        x.double().expand(3)
    with pytest.raises(RuntimeError,
            match=r"^The expanded size of the tensor \(-1\) isn't allowed in a leading, non-existing dimension 0"):
        x.expand(-1, -1, -1)
    with pytest.raises(RuntimeError, match=r"The expanded size of the tensor \(3\) must match the existing size \(2\) "
            r"at non-singleton dimension 1"):
        x.expand(-1, 3, -1)


def test_writes_to_expanded_tensors_are_advised_against(torch):
    x = torch.zeros(3).expand(2, 3)
    for name, args, text in (
        ("masked_fill_", (torch.ones(2, 3) > 0, 1.0), r"tensor\[mask\] = scalar"),
        ("index_fill_", (0, torch.tensor([0]), 2.0), r"tensor\[mask\] = scalar"),
        ("index_put_", ((torch.tensor([0]),), torch.full((3,), 3.0)), r"tensor\[indices\] = tensor"),
    ):
        with pytest.warns(UserWarning, match=f"Use of {name} on expanded tensors is deprecated.*{text}"):
            getattr(x, name)(*args)
    assert x.tolist() == [[3.0] * 3] * 2


@pytest.mark.parametrize("name", ["scatter_", "scatter_add_", "index_add_", "index_copy_"])
def test_a_tensor_is_not_scattered_into_itself(torch, name):
    x = torch.arange(4.0)
    with pytest.raises(RuntimeError,
            match="some elements of the input tensor and the written-to tensor refer to a single memory location"):
        getattr(x, name)(0, torch.arange(4), x)
    with pytest.raises(RuntimeError,
            match="some elements of the input tensor and the written-to tensor refer to a single memory location"):
        x.put_(torch.tensor([0]), x[:1])
    assert x.tolist() == [0, 1, 2, 3] and x._version == 0


# -- sparse tensors --------------------------------------------------------------------------------------------------


def test_anomaly_mode_looks_into_sparse_gradients(torch):
    x = ramp_leaf(torch, 2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            (x.to_sparse().to_dense() * 2).sum().backward()
            w = ramp_leaf(torch, 3, 2)
            torch.nn.functional.embedding(torch.tensor([0, 1, 0]), w * 1, sparse=True).sum().backward()
    assert x.grad.to_dense().sum() == 2 * (x != 0).sum() and w.grad.to_dense().tolist() == [[2, 2], [1, 1], [0, 0]]


# -- forward mode ----------------------------------------------------------------------------------------------------


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


def test_tangents_of_outputs_that_are_no_tensors_are_not_looked_at(torch, forward_ad):
    class Several(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 3, x * 2, "s"

        @staticmethod
        def jvp(ctx, t):
            return t, t * 2, t

    with forward_ad.dual_level():
        number, y, text = Several.apply(forward_ad.make_dual(torch.ones(2), torch.ones(2)))
        assert (number, text) == (3, "s") and forward_ad.unpack_dual(y).tangent.tolist() == [2, 2]


def test_a_subscript_that_is_false_writes_nothing(torch):
    x = ramp_leaf(torch, 2)
    x[False] = 3.0
    x.view(2)[False] = torch.ones(9)
    assert x._version == 0 and x.tolist() == [-1, -0.75]


# -- values of other types, gradients of NaN -------------------------------------------------------------------------


@pytest.mark.parametrize("key", [[0, 1], [[0, 0]], ([0, 1], slice(None)), "tensor", "pair"])
@pytest.mark.parametrize("value", [2.0, [2.0], 2])
def test_what_is_put_at_places_must_be_of_the_type(torch, key, value):
    x = torch.zeros(2, 3, dtype=torch.float64)
    key = torch.tensor([0, 1]) if key == "tensor" else (torch.tensor([0]), torch.tensor([1])) if key == "pair" else key
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError,
                match="Index put requires the source and destination dtypes match, got Double for the destination"):
            x[key] = torch.tensor(value)
        assert x.sum() == 0 and x._version == 0
        x[key] = 2  # a number takes the type
    assert x.max() == 2


def test_a_mask_is_filled_by_a_value_of_any_type(torch):
    x = torch.zeros(2, 3, dtype=torch.float64)
    x[torch.tensor([True, False])] = torch.tensor([2])
    x[0] = torch.tensor([3, 4, 5])
    assert x.tolist() == [[3, 4, 5], [0, 0, 0]]


@pytest.mark.parametrize(("f", "reached"), [
    ("x.max()", [2]), ("x.min()", [0]), ("x.median()", [1]), ("x.nanmedian()", [1]), ("x.amax()", [0, 1, 2]),
    ("x.aminmax()[0]", [0, 1, 2]), ("F.threshold(x, 2.0, 0.0)", [2]), ("F.hardshrink(x, 2.0)", [2]),
    ("F.softshrink(x, 2.0)", [2]), ("F.relu(x - 2)", [2]),
])  # fmt: skip
def test_how_far_a_gradient_of_nan_reaches(torch, f, reached):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = eval(f, {"x": x, "F": torch.nn.functional})
    y.backward(torch.full_like(y, float("nan")))
    assert [i for i, v in enumerate(x.grad.tolist()) if v != v] == reached


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4), (1,)])
def test_probabilities_of_classes_are_floating(torch, shape):
    with pytest.raises(RuntimeError,
            match="Expected floating point type for target with class probabilities, got Long"):
        torch.nn.functional.cross_entropy(torch.ones(shape), torch.zeros(shape, dtype=torch.int64))


@pytest.mark.parametrize("sparse", [False, True])
def test_complex_embeddings_have_no_gradient(torch, sparse):
    weight = torch.ones(2, 2, dtype=torch.complex64)
    assert torch.nn.functional.embedding(torch.tensor([0]), weight, sparse=sparse).shape == (1, 2)
    with pytest.raises(RuntimeError,
            match="embedding does not support automatic differentiation for outputs with complex dtype."):
        torch.nn.functional.embedding(torch.tensor([0]), weight.requires_grad_(), sparse=sparse)

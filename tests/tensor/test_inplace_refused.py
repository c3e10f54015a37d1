"""What PyTorch asks first of a write that it refuses, and writes that it allows although places share memory."""

from __future__ import annotations

import pytest

LEAF = "a leaf Variable that requires grad is being used in an in-place operation"
SHARED = "some elements of the input tensor and the written-to tensor refer to a single memory location"


def test_a_leaf_before_the_key(torch):
    x = torch.ones(3, requires_grad=True)
    for key, value in (([[0, 0]], x), ([5], 1), (torch.tensor([0, 9]), torch.ones(3))):
        with pytest.raises(RuntimeError, match=LEAF):
            x[key] = value
    with pytest.raises(RuntimeError,
            match="a view of a leaf Variable that requires grad is being used in an in-place operation"):
        x[:2][[7]] = 1
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        x[5] = 1
    with pytest.raises(RuntimeError, match=LEAF):
        torch.ones(2, 2, 2, requires_grad=True).t_()


def test_the_shape_before_the_type(torch):
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.ones(4, 1).add_(torch.ones(2, dtype=torch.complex64))
    with pytest.raises(RuntimeError, match="result type ComplexFloat can't be cast to the desired output type Float"):
        torch.ones(4, 1).add_(torch.ones(1, dtype=torch.complex64))


def test_limits_name_types_as_c_does(torch):
    for x, limit, names in (
        (torch.ones(2, dtype=torch.bool), 1, ("Long", "bool")),
        (torch.ones(2, dtype=torch.int64), 1.5, ("Float", "long int")),
        (torch.ones(2, dtype=torch.int32), 1.5, ("Float", "int")),
    ):
        for name in ("clamp_", "clamp_min_", "clamp_max_"):
            with pytest.raises(RuntimeError,
                    match=f"result type {names[0]} can't be cast to the desired output type {names[1]}$"):
                getattr(x, name)(limit)


@pytest.mark.filterwarnings("ignore")
def test_memory_shared_with_an_argument(torch):
    for kind in ("amax", "sum"):
        x = torch.arange(3.0)
        with pytest.raises(RuntimeError, match=SHARED):
            x.scatter_reduce_(0, torch.tensor([0, 1, 2]), x, kind)
    with pytest.raises(RuntimeError, match=SHARED):
        x.index_reduce_(0, torch.tensor([0, 1, 2]), x, "amax")
    with pytest.raises(RuntimeError, match=SHARED):
        x.scatter_(0, torch.tensor([0, 1, 2]), x, reduce="add")
    with pytest.raises(RuntimeError, match="to be no larger size than src"):  # sizes are looked at first
        x.scatter_(0, torch.tensor([0, 1, 2]), x[1:])
    mask = torch.tensor([True, False, True])
    with pytest.raises(RuntimeError, match=SHARED):
        mask[:2].masked_fill_(mask[1:], True)
    assert mask.masked_fill_(mask, False).tolist() == [False, False, False]


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_xor", "bitwise_or", "gcd",
    "bitwise_left_shift", "add"])
def test_places_shared_in_part(torch, name):
    x = torch.arange(1, 11)
    with pytest.raises(RuntimeError, match=SHARED):
        getattr(x[2:], f"{name}_")(x[:8])
    with pytest.raises(RuntimeError, match=SHARED):
        getattr(x[:8], f"{name}_")(x[2:])
    assert x.tolist() == list(range(1, 11))
    wanted = getattr(x, name)(x)
    assert torch.equal(getattr(x, f"{name}_")(x), wanted.to(x.dtype))  # all of it, in the same order
    getattr(x[5:], f"{name}_")(x[:5])


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp"])
def test_a_running_sum_over_what_it_reads(torch, name):
    x = torch.arange(1.0, 11.0)
    with pytest.raises(RuntimeError, match=SHARED):
        getattr(torch, name)(x[:8], 0, out=x[2:])
    wanted = getattr(torch, name)(x, 0)
    assert torch.equal(getattr(torch, name)(x, 0, out=x), wanted)


def test_sorted_and_stacked_over_what_is_read(torch):
    x, order = torch.arange(10.0), torch.empty(8, dtype=torch.int64)
    for call in (lambda: torch.sort(x[:8], out=(x[2:], order)), lambda: torch.topk(x[:8], 8, out=(x[2:], order)),
            lambda: torch.stack([x[:4], x[:4]], out=x[2:].view(2, 4))):
        with pytest.raises(RuntimeError, match=SHARED):
            call()
    assert torch.sort(x[2:], descending=True, out=(x[2:], order))[0].tolist() == [9, 8, 7, 6, 5, 4, 3, 2]


@pytest.mark.filterwarnings("ignore:Use of masked_fill_ on expanded tensors")
def test_one_value_for_all_places_that_share_memory(torch):
    x = torch.arange(3.0)
    x.expand(2, 3).masked_fill_(torch.tensor([True, False, True]), torch.tensor(7.0))
    assert x.tolist() == [7, 1, 7]


def test_types_without_a_kernel(torch):
    flags, numbers = torch.ones(2, dtype=torch.bool), torch.ones(2, dtype=torch.complex128)
    with pytest.raises(NotImplementedError, match="\"addcmul_cpu_out\" not implemented for 'Bool'"):
        torch.addcmul(flags, flags, flags)
    for x in (flags, numbers):
        with pytest.raises(NotImplementedError, match='"threshold_cpu" not implemented for'):
            torch.nn.functional.threshold(x, 0.1, 0.0)
    with pytest.raises(NotImplementedError, match="\"bernoulli_tensor_cpu_self_\" not implemented for 'ComplexDouble'"):
        numbers.bernoulli_(torch.full((2,), 0.5))
    seen = flags._neg_view()  # which nobody has computed yet
    assert seen.is_neg()
    with pytest.raises(NotImplementedError, match="\"neg_cpu\" not implemented for 'Bool'"):
        seen.clone()


def test_resizing_to_the_same_size(torch):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        x.resize_(2)
    with torch.inference_mode():
        y = torch.ones(2)
        assert x.resize_(2) is x
    assert y.resize_(2) is y
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode is not allowed"):
        y.resize_(1)


def test_another_memory_for_a_view(torch):
    base = torch.ones(3, 3, requires_grad=True).clone()
    row = base[0]
    row.set_(torch.zeros(3))
    assert row._base is base and base.grad_fn.name() == "torch::autograd::CopySlices"
    with pytest.raises(RuntimeError, match="derivative for .*set_ is not implemented"):
        base.sum().backward()


@pytest.mark.filterwarnings("ignore")
def test_the_size_of_a_base_changes_under_a_view_of_another_type(torch):
    x = torch.ones(1, 2, dtype=torch.complex128, requires_grad=True)
    real = x.real
    with torch.no_grad():
        x.squeeze_(0)
    assert not real.is_leaf


@pytest.mark.filterwarnings("ignore")
def test_turned_without_dimensions(torch):
    x = torch.tensor(2.0, requires_grad=True)
    assert x.mT is x and x.mH is x and x.H is x
    assert x.T is not x and x.T.grad_fn.name() == "PermuteBackward0"


def test_arrays_begin_where_they_begin(torch):
    part = torch.arange(6.0).view(2, 3)[1].numpy()
    x = torch.from_numpy(part)
    assert x.storage_offset() == 0 and x.untyped_storage().nbytes() == 12
    x.mul_(2)
    assert part.tolist() == [6, 8, 10]
    strided = torch.from_numpy(torch.arange(6.0).view(2, 3).numpy()[:, 1:])
    assert (strided.storage_offset(), strided.stride()) == (0, (3, 1)) and strided.tolist() == [[1, 2], [4, 5]]


def test_the_history_of_an_argument_before_its_numbers(torch):
    x = torch.ones(4, 1, dtype=torch.complex64, requires_grad=True).clone()
    part = x.split(1)[3]
    with torch.no_grad():
        part.mul_(2)
    for run in (lambda: part.round(), lambda: part @ torch.ones(3, 3, dtype=torch.complex64)):
        with pytest.raises(RuntimeError,
                match="Output 3 of Split is a view and its base or another view of its base has been"):
            run()


def test_too_many_places(torch):
    x, at = torch.ones(2), torch.tensor([0])
    for call in (lambda: x.index_put_((at, at), torch.tensor(1.0)),
            lambda: torch.index_put(x, (at, at), torch.tensor(1, dtype=torch.int64))):
        with pytest.raises(IndexError, match=r"too many indices for tensor of dimension 1 \(got 2\)"):
            call()
    one = torch.tensor(1.0)
    for key, message in ((0, "invalid index of a 0-dim tensor"),
            (torch.tensor(0), "too many indices for tensor of dimension 0")):
        with pytest.raises(IndexError, match=message):
            one[key]


def test_copies_of_parts(torch):
    x = torch.arange(3.0, requires_grad=True)
    y = x.narrow_copy(0, 1, 2)
    assert not y._is_view()
    y.sum().backward()
    assert x.grad.tolist() == [0, 1, 1]
    z = torch.detach_copy(x)
    assert z.requires_grad and z.tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="derivative for aten::detach_copy is not implemented"):
        z.sum().backward()


def test_another_memory_without_recording(torch):
    base = torch.ones(4, requires_grad=True)
    row = base.permute(0)
    with torch.no_grad():
        row.set_(torch.zeros(4))
    assert not row.is_leaf and row.requires_grad
    with pytest.raises(RuntimeError, match="Could not set tensor of type double to a tensor of type c10::BFloat16"):
        torch.ones(1, dtype=torch.bfloat16, requires_grad=True).set_(torch.ones(1, dtype=torch.float64))
    y = base.clone().set_(base)
    assert y.grad_fn.next_functions[1][0].name() == "torch::autograd::AccumulateGrad"


def test_types_named_by_keyword(torch):
    assert torch.ones(4, 2, dtype=torch.float64).view(dtype=torch.complex64).shape == (4, 2)
    assert torch.ones(4, 2).view(size=(8,)).shape == (8,)


def test_absolute_values_in_place(torch):
    with pytest.raises(RuntimeError, match="In-place abs is not supported for complex tensors"):
        torch.ones(2, dtype=torch.complex64).abs_()
    for kind in (torch.bool, torch.int64):
        with pytest.raises(RuntimeError,
                match="linalg.vector_norm: Expected a floating point or complex tensor as input. Got"):
            torch.ones(2, 2, dtype=kind).renorm(2, 0, 1.0)


def test_out_with_a_gradient_before_all_else(torch):
    x = torch.ones(4, 3, dtype=torch.complex64, requires_grad=True)
    for run in (lambda: torch.clamp(x, 0, 1, out=x), lambda: torch.matmul(x, x, out=x)):
        with pytest.raises(RuntimeError,
                match="functions with out=... arguments don't support automatic differentiation"):
            run()


def test_types_of_another_size(torch):
    x = torch.ones(4, 4)
    for seen, message in (
        (x[:, :3].t()[:, :1].t(), r"self.size\(-1\) must be divisible by 2"),
        (x[:, 1:3], r"self.storage_offset\(\) must be divisible by 2"), (x.t(), r"self.stride\(-1\) must be 1"),
        (torch.ones(3, 3)[:, :2], r"self.stride\(0\) must be divisible by 2"),
    ):
        with pytest.raises(RuntimeError,
                match=f"{message} to view Float as Double" if "must be 1" not in message else message):
            seen.view(torch.float64)


def test_a_view_whose_base_has_moved(torch):
    x = torch.ones(3, 4, requires_grad=True)
    row = x[0]
    with torch.no_grad():
        x.set_(torch.zeros(1, 4))
    assert not row.is_leaf and row.requires_grad and row.grad_fn.name() == "AsStridedBackward0"
    assert row.tolist() == [1, 1, 1, 1]


def test_a_key_of_true_and_what_is_expanded(torch):
    x = torch.zeros(3, requires_grad=True).clone()
    x[True] = torch.ones(3, requires_grad=True) * 2
    assert (x.grad_fn.name() == "torch::autograd::CopySlices"
        and x.grad_fn.next_functions[1][0].name() == "ExpandBackward0")
    y = torch.zeros(2, 3)
    y[True] = torch.ones(1, 1, 3)
    y[:, 0] = torch.full((1, 2), 4.0)
    assert y.tolist() == [[4, 1, 1], [4, 1, 1]]
    with pytest.raises(RuntimeError,
            match=r"must match the existing size \(2\) at non-singleton dimension 2.  Target sizes: \[1, 2, 3\]"):
        y[True] = torch.ones(1, 2)


def test_one_number_by_a_mask(torch):
    x = torch.ones(1)
    x[x != x] = x
    assert x.tolist() == [1]
    with pytest.raises(RuntimeError, match=SHARED):
        x[[0]] = x


@pytest.mark.filterwarnings("ignore:Use of index_fill_ on expanded tensors")
def test_one_value_at_places_that_share_memory(torch):
    x = torch.ones(3)
    x.expand(2, 3).index_fill_(1, torch.tensor([0]), torch.tensor(2.0))
    assert x.tolist() == [2, 1, 1]


def test_results_lie_as_the_arguments_did_before_they_were_converted(torch):
    numbers, column = torch.arange(12).view(4, 3).t(), torch.arange(4).view(4, 1).expand(2, 4, 1)
    assert (numbers * torch.ones(3, 4)).stride() == (1, 3) and (torch.ones(3, 4) * numbers).stride() == (4, 1)
    assert (column * torch.ones(2)).stride() == (8, 2, 1)


def test_the_history_of_what_is_written_first(torch):
    x = torch.ones(3, 4, requires_grad=True).clone()
    row = x.unbind()[1]
    x.mul_(2)
    with pytest.raises(RuntimeError,
            match="Output 1 of Unbind is a view and its base or another view of its base has been"):
        torch.ones(2, 3).mul_(row)


OVERLAP = "more than one element of the written-to tensor refers to a single memory location"


def _expanded(torch):
    return torch.arange(2.0).expand(3, 2)


@pytest.mark.parametrize("key", [slice(None), ..., slice(1, None), (slice(None), 0)])
@pytest.mark.parametrize("value", [1.0, "tensor"])
def test_assigning_to_expanded_memory_is_refused(torch, key, value):
    y = _expanded(torch)
    with pytest.raises(RuntimeError, match=OVERLAP):
        y[key] = torch.tensor(1.0) if value == "tensor" else value
    assert y.tolist() == [[0.0, 1.0]] * 3 and y._version == 0


def test_assigning_where_no_two_elements_share_memory(torch):
    y = _expanded(torch)
    y[0] = 5.0
    y[1, 0] = 6.0
    assert y.tolist() == [[6.0, 5.0]] * 3


def test_filling_expanded_memory_takes_numbers_alone(torch):
    y = _expanded(torch)
    assert y.fill_(3.0).tolist() == [[3.0, 3.0]] * 3
    with pytest.raises(RuntimeError, match=OVERLAP):
        y.fill_(torch.tensor(2.0))
    assert y.tolist() == [[3.0, 3.0]] * 3


@pytest.mark.parametrize("source", [lambda y: y, lambda y: y[:], lambda y: y.view(3, 2), lambda y: y.detach()])
def test_copying_expanded_memory_to_itself(torch, source):
    y = _expanded(torch)
    assert y.copy_(source(y)) is y
    assert y.tolist() == [[0.0, 1.0]] * 3 and y._version == 1
    with pytest.raises(RuntimeError, match=OVERLAP):
        y.copy_(_expanded(torch))


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

"""Making nested tensors, what they tell of themselves, and taking them apart."""

from __future__ import annotations

import copy
import pickle

import pytest

LAYOUTS = ["strided", "jagged"]


@pytest.fixture(params=LAYOUTS)
def layout(request, torch):
    return getattr(torch, request.param)


def example(torch, layout, **options):
    return torch.nested.nested_tensor([torch.arange(6.0).view(2, 3), torch.arange(9.0).view(3, 3) + 10], layout=layout,
        **options)


# -- making ------------------------------------------------------------------------------------------------------------


def test_copies_and_a_leaf(torch, layout):
    a = torch.ones(2, 3, requires_grad=True)
    t = torch.nested.nested_tensor([a, torch.zeros(1, 3)], layout=layout, requires_grad=True)
    assert (t.is_leaf and t.requires_grad and t.is_nested and t.layout is layout and t.dim() == 3 and t.numel() == 9
        and t.dtype is torch.float32)
    with torch.no_grad():
        a.zero_()
    assert t.unbind()[0].sum() == 6


def test_lists_and_types(torch, layout):
    assert torch.nested.nested_tensor([[1, 2], [3]], layout=layout).dtype is torch.int64
    t = torch.nested.nested_tensor([[1, 2], [3]], layout=layout, dtype=torch.float64)
    assert [p.tolist() for p in t.unbind()] == [[1.0, 2.0], [3.0]] and t.dtype is torch.float64
    with pytest.raises(RuntimeError, match="nly Tensors of floating point"):
        torch.nested.nested_tensor([[1, 2], [3]], layout=layout, requires_grad=True)


def test_gradients_reach_the_parts(torch, layout):
    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True)
    t = torch.nested.as_nested_tensor([a, b], layout=layout)
    (t * 2).unbind()[1].sum().backward()
    assert (a.grad == 0).all() and (b.grad == 2).all()
    assert torch.nested.as_nested_tensor(t, layout=layout) is t


def test_names_of_nodes(torch):
    parts = [torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True)]
    t = torch.nested.as_nested_tensor(parts, layout=torch.strided)
    assert t.grad_fn.name() == "NestedTensorFromTensorListBackward0"
    t = torch.nested.as_nested_tensor(parts, layout=torch.jagged)
    assert (t.grad_fn.name() == "NestedViewFromJaggedBackward0"
        and t.grad_fn.next_functions[0][0].name() == "CatBackward0")
    assert t.values().grad_fn.name() == "NestedGetValuesBackward0"
    y = t * 2
    assert y.grad_fn.name() == "MulBackward0" and y.grad_fn.next_functions[0][0] is t.grad_fn
    assert {p.grad_fn.name() for p in t.unbind()} == {"UnbindBackwardAutogradNestedTensor0"}
    assert t.sum().grad_fn.name() == "SumBackwardAutogradNestedTensor0" and t.mean(1).grad_fn.name() == "MeanBackward1"
    assert t.to_padded_tensor(0.0).grad_fn.name() == "ToPaddedTensorBackward0"
    assert torch.nn.Linear(3, 2)(t).grad_fn.name() == "LinearBackward0"


def test_rows_of_a_tensor(torch, layout):
    x = torch.arange(24.0).view(2, 3, 4).requires_grad_()
    t = torch.nested.as_nested_tensor(x, layout=layout)
    assert [tuple(p.shape) for p in t.unbind()] == [(3, 4), (3, 4)]
    (t.unbind()[1] * 2).sum().backward()
    assert (x.grad[0] == 0).all() and (x.grad[1] == 2).all()
    with pytest.raises(RuntimeError, match=r"as_nested_tensor\(\): Expected tensor argument to have dim\(\) > 1"):
        torch.nested.as_nested_tensor(torch.ones(2), layout=layout)


def test_one_dimension_may_differ(torch):
    t = torch.nested.as_nested_tensor([torch.ones(2, 3), torch.ones(2, 5)], layout=torch.jagged)
    assert t.dim() == 3 and t.size(1) == 2 and t.values().shape == (2, 8)
    with pytest.raises(RuntimeError, match="the jagged layout only allows for a single ragged dimension"):
        torch.nested.as_nested_tensor([torch.ones(2, 3), torch.ones(4, 5)], layout=torch.jagged)
    assert ([tuple(p.shape) for p in torch.nested.as_nested_tensor([torch.ones(2, 3), torch.ones(4, 5)]).unbind()]
        == [(2, 3), (4, 5)])


def test_what_cannot_be_made(torch, layout):
    make = torch.nested.as_nested_tensor
    for wrong in (3, [torch.ones(2), 3], [[1.0]]):
        with pytest.raises(TypeError,
                match=r"as_nested_tensor\(\): Expected first argument to be a tensor or a list / tuple of tensors"):
            make(wrong, layout=layout)
    with pytest.raises(RuntimeError, match="must have the same dim"):
        make([torch.ones(2, 3), torch.ones(3)], layout=layout)
    with pytest.raises(RuntimeError, match="Specified layout is unsupported for nested tensors: torch.sparse_coo"):
        make([torch.ones(2)], layout=torch.sparse_coo)
    other = torch.jagged if layout is torch.strided else torch.strided
    with pytest.raises(RuntimeError, match="Converting between nested tensor layouts is not supported"):
        make(example(torch, other), layout=layout)


def test_what_cannot_be_jagged(torch):
    make = torch.nested.as_nested_tensor
    with pytest.raises(RuntimeError, match="Cannot construct a nested tensor from an empty tensor list"):
        make([], layout=torch.jagged)
    with pytest.raises(RuntimeError, match="Cannot construct a nested tensor from a list of zero-dim tensors"):
        make([torch.tensor(1.0)], layout=torch.jagged)
    with pytest.raises(RuntimeError, match="all tensors in list must have the same dtype"):
        make([torch.ones(2), torch.ones(2).double()], layout=torch.jagged)


# -- what they tell ----------------------------------------------------------------------------------------------------


def test_text(torch):
    t = example(torch, torch.strided, requires_grad=True)
    assert repr(t) == (
        "nested_tensor([\n  tensor([[0., 1., 2.],\n          [3., 4., 5.]], requires_grad=True),\n  tensor([[10., 11., "
        "12.],\n          [13., 14., 15.],\n          [16., 17., 18.]], requires_grad=True)\n], requires_grad=True)"
    )
    assert repr(t * 2).endswith("], grad_fn=<MulBackward0>)")
    t = example(torch, torch.jagged)
    assert repr(t) == f"NestedTensor(size=(2, {t.shape[1]}, 3), offsets=tensor([0, 2, 5]), contiguous=True)"
    assert "grad_fn=<MulBackward0 object at" in repr(t.requires_grad_() * 2)


def test_sizes_of_parts_apart(torch):
    t = example(torch, torch.strided)
    assert t.size(0) == 2 and t.size(2) == t.size(-1) == 3
    assert (t._nested_tensor_size().tolist() == [[2, 3], [3, 3]]
        and t._nested_tensor_strides().tolist() == [[3, 1], [3, 1]])
    assert t._nested_tensor_storage_offsets().tolist() == [0, 6]
    with pytest.raises(RuntimeError, match="Given dimension 1 is irregular and does not have a size"):
        t.size(1)
    for ask in (lambda: t.shape, lambda: t.size(), lambda: len(t), lambda: list(t)):
        with pytest.raises(RuntimeError, match="NestedTensorImpl doesn't support sizes"):
            ask()
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of \[-3, 2\], but got 5\)"):
        t.size(5)


def test_the_size_of_the_ragged_dimension(torch):
    t, other = example(torch, torch.jagged), example(torch, torch.jagged)
    n = t.shape[1]
    assert (isinstance(n, torch.SymInt) and not isinstance(n, int) and str(n).startswith("j")
        and str(t.shape) == f"torch.Size([2, {n}, 3])")
    assert n == t.size(1) == (t * 2).size(1) and t.shape == (t + 1).shape and t.shape != other.shape
    assert n != 3 and n >= 2 and n > 1 and str(2 * n) == str(n * 2) == f"2*{n}" and n != 2 * n and bool(n)
    with pytest.raises(ValueError, match="ge: relation is indeterminate"):
        n < 5
    with pytest.raises(AttributeError):
        int(n)
    assert [str(s) for s in t.stride()] == [f"3*{n}", "3", "1"] and len(t) == 2 and t.numel() == 15
    assert t.is_contiguous() and not t.transpose(1, 2).is_contiguous() and t.transpose(1, 2).shape == (2, 3, n)


def test_parts(torch, layout):
    t = example(torch, layout)
    first, second = t.unbind()
    assert (first == torch.arange(6.0).view(2, 3)).all() and tuple(second.shape) == (3, 3)
    assert (t[0] == first).all() and (t[-1] == second).all() and t[1, 2, 0] == 16
    assert not t.unbind()[0].requires_grad
    first.zero_()
    assert t[0].sum() == 0  # they are views


def test_values_are_a_view(torch):
    t = example(torch, torch.jagged)
    assert t.values().shape == (5, 3) and t.offsets().tolist() == [0, 2, 5] and t.lengths() is None
    t.values().mul_(2)
    assert t[0].tolist() == [[0, 2, 4], [6, 8, 10]]
    t = torch.nested.nested_tensor([[1.0, 2.0], [3.0]])
    assert t.values().tolist() == [1, 2, 3]


def test_padding(torch, layout):
    t = example(torch, layout)
    full = torch.nested.to_padded_tensor(t, 0.5)
    assert (full.shape == (2, 3, 3) and (full[0, 2] == 0.5).all() and (full[0, :2] == t[0]).all()
        and (full[1] == t[1]).all())
    assert torch.nested.to_padded_tensor(t, 0.0, (2, 4, 3)).shape == (2, 4, 3)
    assert (t.to_padded_tensor(1.0) == full.where(full != 0.5, 1.0)).all()
    with pytest.raises(NotImplementedError, match="to_padded_tensor"):
        torch.nested.to_padded_tensor(torch.ones(2), 0.0)


def test_padding_of_parts_that_differ_in_all(torch):
    t = torch.nested.nested_tensor([torch.ones(1, 2), torch.ones(2, 1)], requires_grad=True)
    full = t.to_padded_tensor(0.0)
    assert full.tolist() == [[[1, 1], [0, 0]], [[1, 0], [1, 0]]]
    full.backward(torch.arange(8.0).view(2, 2, 2))
    assert [p.tolist() for p in t.grad.unbind()] == [[[0, 1]], [[4], [6]]]
    with pytest.raises(RuntimeError, match="Value in output_size is less than NestedTensor padded size"):
        t.to_padded_tensor(0.0, (2, 1, 2))


def test_conversions_and_copies(torch, layout):
    t = example(torch, layout, requires_grad=True)
    assert (t.double().dtype is torch.float64 and t.to("cpu") is t and t.to(torch.float32) is t
        and t.detach().long().dtype is torch.int64)
    assert (t.clone().grad_fn.name() == "CloneBackward0" and t.contiguous() is t
        and t.double().grad_fn.name() == "ToCopyBackward0")
    plain = t.detach()
    assert (not plain.requires_grad
        and plain.values().data_ptr() == t.values().data_ptr() != plain.clone().values().data_ptr())
    assert (t.is_same_size(t * 2) and torch.nn.Parameter(plain).requires_grad and plain.element_size() == 4
        and plain.nbytes == 60)
    back = pickle.loads(pickle.dumps(plain))
    assert back.layout is layout and all((a == b).all() for a, b in zip(back.unbind(), plain.unbind()))


def test_deep_copies(torch):
    t = example(torch, torch.jagged, requires_grad=True)
    twin = copy.deepcopy(t)
    assert (twin.requires_grad and twin.is_leaf and twin.values().data_ptr() != t.values().data_ptr()
        and (twin.values() == t.values()).all())


def test_transposed_parts(torch, layout):
    t = example(torch, layout).transpose(1, 2)
    assert [tuple(p.shape) for p in t.unbind()] == [(3, 2), (3, 3)] and not t.is_contiguous()
    assert t.contiguous().is_contiguous() and (t.contiguous().unbind()[0] == t.unbind()[0]).all()


def test_random_tensors_of_the_same_parts(torch):
    t = example(torch, torch.jagged)
    torch.manual_seed(0)
    made = torch.rand_like(t)
    torch.manual_seed(0)
    assert made.shape == t.shape and (made.values() == torch.rand(5, 3)).all()


# -- cut from other tensors --------------------------------------------------------------------------------------------


def test_cut_at_offsets(torch):
    values = torch.arange(20.0).view(10, 2).clone().requires_grad_()
    t = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 3, 3, 10]))
    assert t._is_view() and t._base is values and t.values()._base is values
    assert [len(p) for p in t.unbind()] == [3, 0, 7]
    assert t._max_seqlen == 7 and t._min_seqlen == 0
    (g,) = torch.autograd.grad(t.unbind()[2].sum(), values)
    assert (g[:3] == 0).all() and (g[3:] == 1).all()
    t = torch.nested.nested_tensor_from_jagged(values, lengths=torch.tensor([4, 6]))
    assert t.offsets().tolist() == [0, 4, 10] and t.lengths() is None
    t = torch.nested.nested_tensor_from_jagged(torch.ones(2, 10, 3), torch.tensor([0, 4, 10]), jagged_dim=2)
    assert [tuple(p.shape) for p in t.unbind()] == [(2, 4, 3), (2, 6, 3)]
    with pytest.raises(RuntimeError, match="At least one of offsets or lengths is required"):
        torch.nested.nested_tensor_from_jagged(values)
    with pytest.raises(ValueError, match="Expected jagged_dim >=1, but got 0"):
        torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 10]), jagged_dim=0)
    with pytest.raises(TypeError, match="must be Tensor, not list"):
        torch.nested.nested_tensor_from_jagged(values, [0, 10])


def test_parts_that_do_not_reach_to_the_next(torch):
    values = torch.arange(10.0).requires_grad_()
    t = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 3, 10]), torch.tensor([2, 4]))
    assert [p.tolist() for p in t.unbind()] == [[0, 1], [3, 4, 5, 6]] and t.numel() == 6 and not t.is_contiguous()
    assert [p.tolist() for p in (t * 2).unbind()] == [[0, 2], [6, 8, 10, 12]] and (t * 2).lengths().tolist() == [2, 4]
    whole = t.contiguous()
    assert (whole.lengths() is None and whole.values().tolist() == [0, 1, 3, 4, 5, 6]
        and whole.offsets().tolist() == [0, 2, 6])
    if torch.__name__ == "wengert":  # PyTorch has no gradient of this
        (g,) = torch.autograd.grad(whole.sum(), values)
        assert g.tolist() == [1, 1, 0, 1, 1, 1, 1, 0, 0, 0]
    with pytest.raises(RuntimeError, match="not supported for nested tensors with holes"):
        t.to_padded_tensor(0.0)
    with pytest.raises(RuntimeError,
            match="reducing across the ragged dimension is not supported for non-contiguous nested tensors with holes"):
        t.sum(1)


def test_narrow(torch):
    x = torch.arange(24.0).view(2, 4, 3).requires_grad_()
    t = torch.nested.narrow(x, 1, torch.tensor([0, 1]), torch.tensor([2, 3]), layout=torch.jagged)
    assert (t.unbind()[0] == x[0, :2]).all() and (t.unbind()[1] == x[1, 1:4]).all() and t.lengths().tolist() == [2, 3]
    (g,) = torch.autograd.grad(t.unbind()[1].sum(), x)
    assert g.sum() == 9 and (g[1, 1:] == 1).all()
    assert [tuple(p.shape) for p in torch.nested.narrow(x, 0, 1, 1).unbind()] == [(4, 3)]
    with pytest.raises(RuntimeError, match="only dim=0 supported for nested tensors, but got: 1"):
        torch.nested.narrow(x, 1, 1, 2)
    for wrong, text in (
        ((x, 1, [0], 2), "start must be an integer or a tensor"),
        ((x, 2, 0, torch.tensor([2, 3])), "jagged layout only supports dim=1"),
        ((x, 1, torch.tensor([0, 1, 2]), 2), "must be Tensors that broadcast"),
    ):
        with pytest.raises(RuntimeError, match=text):
            torch.nested.narrow(*wrong, layout=torch.jagged)
    with pytest.raises(RuntimeError, match="start and length must be integers for the strided layout"):
        torch.nested.narrow(x, 1, torch.tensor([0, 1]), 2)


def test_masked_select(torch):
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    t = torch.nested.masked_select(x, torch.tensor([[True, False, True], [False, False, True]]))
    assert [p.tolist() for p in t.unbind()] == [[0, 2], [5]] and t.offsets().tolist() == [0, 2, 3]
    (g,) = torch.autograd.grad((t * t).sum(), x)
    assert g.tolist() == [[0, 0, 4], [0, 0, 10]]


def test_other_tensors_are_not_nested(torch):
    assert not torch.ones(2).is_nested and str(torch.jagged) == "torch.jagged"

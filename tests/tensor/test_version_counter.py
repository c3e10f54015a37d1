"""The version counter, ``.data``, ``set_`` and storages: who shares memory, and who notices a write."""

from __future__ import annotations

import copy
import pickle
import weakref

import pytest


def test_who_shares_the_counter(torch):
    x = torch.zeros(4)
    view, detached, data, copy = x[:2], x.detach(), x.data, x.clone()
    x.add_(1)
    view.add_(1)
    detached.add_(1)
    data.add_(1)
    assert x._version == view._version == detached._version == 3
    assert data._version == 1 and copy._version == 0
    assert view.tolist() == [4.0, 4.0] and data.tolist() == [4.0, 4.0, 3.0, 3.0] and copy.tolist() == [0.0] * 4
    assert x.reshape(2, 2)._version == x.T._version == x.expand(4)._version == x.real._version == 3
    assert torch.nn.Parameter(x)._version == 3


WRITES = {
    "zero_": lambda torch, x: x.zero_(),
    "fill_": lambda torch, x: x.fill_(2),
    "copy_": lambda torch, x: x.copy_(torch.ones(4)),
    "setitem": lambda torch, x: x.__setitem__(0, 1.0),
    "index_put_": lambda torch, x: x.index_put_((torch.tensor([0]),), torch.tensor(1.0)),
    "augmented": lambda torch, x: x.__imul__(2),
    "random": lambda torch, x: x.normal_(),
    "out": lambda torch, x: torch.add(torch.ones(4), 1, out=x),
    "unsqueeze_": lambda torch, x: x.unsqueeze_(0),
    "squeeze_": lambda torch, x: x.squeeze_(),
    "t_": lambda torch, x: x.t_(),
    "transpose_": lambda torch, x: x.transpose_(0, 0),
    "as_strided_": lambda torch, x: x.as_strided_((2,), (1,)),
    "resize_": lambda torch, x: x.resize_(2),
    "set_": lambda torch, x: x.set_(torch.ones(3)),
    "scatter_": lambda torch, x: x.scatter_(0, torch.tensor([0]), 1.0),
}
NO_WRITES = {
    "resize_ to its size": lambda torch, x: x.resize_(4),
    "requires_grad_": lambda torch, x: x.requires_grad_(),
    "detach_": lambda torch, x: x.detach_(),
    "data =": lambda torch, x: setattr(x, "data", torch.ones(4)),
    "data write": lambda torch, x: x.data.zero_(),
    "apply_": lambda torch, x: x.apply_(lambda v: v + 1),
    "map_": lambda torch, x: x.map_(x, lambda a, b: a + b),
}


@pytest.mark.parametrize("name", [*WRITES, *NO_WRITES])
def test_what_counts_as_a_write(torch, name):
    x = torch.ones(4)
    with torch.no_grad():
        (WRITES | NO_WRITES)[name](torch, x)
    assert x._version == (name in WRITES)


def test_resizing(torch):
    x = torch.rand((1,))
    x.resize_((10,))
    assert x._version == 1
    x.resize_as_(torch.zeros(2, 2))
    assert x._version == 2 and x.shape == (2, 2)
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        torch.ones(2, requires_grad=True).resize_(3)


@pytest.mark.parametrize(
    "write",
    [lambda t: t.add_(1), lambda t: t[0].fill_(9), lambda t: t.detach().mul_(2), lambda t: t.view(-1)[1:].zero_()]
)
def test_saved_values_are_watched(torch, write):
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    z = y * y
    write(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*is at version 1; expected version 0"):
        z.sum().backward()


def test_versions_kept_on_purpose(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    z = y * y
    with torch.autograd._unsafe_preserve_version_counter(y):
        y.detach().mul_(2)
    assert y._version == 0
    z.sum().backward()
    assert x.grad.tolist() == [4.0] * 3
    a, b = torch.ones(2), torch.ones(2)
    with torch.autograd._unsafe_preserve_version_counter((a, b)):
        a.mul_(2)
        b.mul_(3)
    assert a._version == b._version == 0
    torch.autograd.graph.increment_version(a)
    torch.autograd.graph.increment_version([a, b])
    assert (a._version, b._version) == (2, 1)


def test_assigned_data(torch):
    x = torch.ones(3, requires_grad=True)
    x.data = torch.zeros(2, dtype=torch.float64)
    assert x.requires_grad and x.is_leaf and x._version == 0 and x.shape == (2,) and x.dtype == torch.float64
    (x * 2).sum().backward()
    assert x.grad.shape == (2,) and x.grad.dtype == torch.float64
    with pytest.raises(RuntimeError,
            match="data set to a tensor that requires gradients must be floating point or complex dtype"):
        x.data = torch.zeros(2, dtype=torch.int64)
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got float"):
        x.data = 1.0
    with pytest.raises(RuntimeError, match="Deleting tensor data is not allowed. Delete tensor instead!"):
        del x.data
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        x.data = torch.zeros(2, 2).to_sparse()
    y = x * 2
    y.data = torch.ones(5)
    assert y.grad_fn is not None and y.shape == (5,)


def test_another_shape_meets_an_old_gradient(torch):
    x = torch.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    x.data = torch.zeros(2)
    with pytest.raises(RuntimeError, match="The size of tensor a .3. must match the size of tensor b .2."):
        (x * 2).sum().backward()


def test_set_in_all_its_forms(torch):
    source = torch.arange(6.0).view(2, 3)
    x = torch.ones(3)
    assert x.set_(source) is x and x.data_ptr() == source.data_ptr() and x.tolist() == source.tolist()
    x.set_(source.untyped_storage(), 1, (2,), (2,))
    assert x.tolist() == [1.0, 3.0] and x.storage_offset() == 1 and x.stride() == (2,)
    assert x.set_(source.untyped_storage()).shape == (6,)
    assert x.set_(source.storage(), 2, (2, 2), (1, 1)).tolist() == [[2.0, 3.0], [3.0, 4.0]]
    assert x.set_(source, 1, (2,), (1,)).tolist() == [1.0, 2.0]
    assert x.set_().shape == (0,)
    with pytest.raises(RuntimeError, match="Could not set tensor of type long int to a tensor of type float"):
        x.set_(torch.ones(2, dtype=torch.int64))
    w = torch.ones(3).requires_grad_()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        w.set_(source)
    with torch.no_grad():
        w.set_(torch.zeros(2))
    assert w.requires_grad and w.tolist() == [0.0, 0.0] and w._version == 1
    with pytest.raises(RuntimeError, match="derivative for .*set_ is not implemented"):
        (w * 1).set_(torch.ones(1)).sum().backward()


def test_storages(torch):
    x = torch.arange(6.0).view(2, 3)
    whole, part = x.untyped_storage(), x[1].untyped_storage()
    assert whole.nbytes() == whole.size() == len(part) == 24 and whole.data_ptr() == part.data_ptr() == x.data_ptr()
    assert x[1].storage_offset() == 3 and x[1].data_ptr() - x.data_ptr() == 12
    typed = x.storage()
    assert (typed.dtype == torch.float32 and len(typed) == 6 and typed.tolist() == list(range(6))
        and typed.element_size() == 4)
    typed[0] = 9.0
    assert x[0, 0] == 9 and typed[0] == 9.0
    typed.fill_(1.0)
    assert x.sum() == 6 and typed.untyped().nbytes() == 24
    whole.fill_(0)
    assert x.sum() == 0
    whole.copy_(torch.ones(6).untyped_storage())
    assert x.sum() == 6 and whole.clone().data_ptr() != whole.data_ptr()
    with pytest.raises(IndexError, match="index 7 out of range for storage of size 6"):
        typed[7]
    assert torch.is_storage(typed) and torch.is_storage(whole) and not torch.is_storage(x)
    assert torch.UntypedStorage(8).nbytes() == 8 and torch.FloatStorage([1.0, 2.0]).tolist() == [1.0, 2.0]
    assert isinstance(whole, torch.storage.UntypedStorage)


def test_addresses(torch):
    x = torch.arange(4.0)
    assert (x.view(2, 2).data_ptr() == x.detach().data_ptr() == x.data.data_ptr() == x[:1].data_ptr() == x.data_ptr()
        != x.clone().data_ptr())
    assert x[2:].data_ptr() == x.data_ptr() + 8 and x[2:].storage_offset() == 2


def test_tensors_trade_places(torch):
    a, b = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.zeros(3))
    a.note = "first"
    y = (a * 3).sum()
    torch.utils.swap_tensors(a, b)
    assert a.shape == (3,) and b.shape == (2,) and b.note == "first" and not hasattr(a, "note")
    with pytest.raises(RuntimeError, match="AccumulateGrad node that was poisoned by swap_tensors"):
        y.backward()
    del y
    (b * 3).sum().backward()
    assert a.grad is None and b.grad.tolist() == [3.0, 3.0]
    torch.utils.swap_tensors(a, b)
    assert a.grad.tolist() == [3.0, 3.0] and b.grad is None

    class Mine(torch.Tensor):
        pass

    c, d = torch.ones(1), torch.zeros(2).as_subclass(Mine)
    torch.utils.swap_tensors(c, d)
    assert type(c) is Mine and type(d) is torch.Tensor
    e, keep = torch.ones(1), []
    keep.append(weakref.ref(e))
    with pytest.raises(RuntimeError, match="Cannot swap t1 because it has weakref associated with it"):
        torch.utils.swap_tensors(e, torch.zeros(1))


def test_copies_count_the_memory_that_was_put_in(torch):
    a = torch.ones(4)
    a.add_(1).add_(1)
    leaf, weight = torch.ones(3, requires_grad=True), torch.nn.Parameter(torch.ones(3))
    assert [copy.deepcopy(t)._version for t in (a, leaf, a[:2], a.int(), weight)] == [1, 1, 1, 1, 0]
    assert [copy.copy(t)._version for t in (a, leaf, weight)] == [1, 1, 0]
    assert pickle.loads(pickle.dumps(leaf))._version == 1
    whole, part = copy.deepcopy([a, a[:2]])
    whole.add_(1)
    assert (whole._version, part._version) == (2, 1) and part.tolist() == [4.0, 4.0]
    shared = copy.copy(a)
    shared.add_(1)
    assert (a._version, shared._version) == (2, 2) and a.tolist() == [4.0] * 4
    assert copy.deepcopy(torch.ones(2, device="meta"))._version == 0


def test_a_copy_can_be_written_to_before_it_is_used(torch):
    x = copy.deepcopy(torch.ones(3, requires_grad=True))
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0] * 3
    y = x * x
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="is at version 2; expected version 1 instead"):
        y.sum().backward()


@pytest.mark.parametrize("dtype, name",
    [("float32", r"torch\.FloatTensor"), ("float64", r"torch\.DoubleTensor"), ("float16", r"torch\.HalfTensor"),
                                         ("bfloat16", "CPUBFloat16Type"), ("complex64", "CPUComplexFloatType"),
                                         ("complex128", "CPUComplexDoubleType")])
def test_types_in_messages(torch, dtype, name):
    x = torch.ones(3, dtype=getattr(torch, dtype), requires_grad=True)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(RuntimeError,
            match=rf"\[{name} \[3\]\], which is output 0 of Exp, is at version 1; expected version 0"):
        y.sum().abs().backward()


@pytest.mark.parametrize("dtype, name",
    [("bool", "CPUBoolType"), ("uint8", r"torch\.ByteTensor"), ("int64", r"torch\.LongTensor"),
                                         ("uint16", "CPUUInt16Type")])
def test_types_in_messages_of_functions(torch, dtype, name):
    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, kept):
            ctx.save_for_backward(kept)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g, ctx.saved_tensors and None

    kept = torch.zeros(2, dtype=getattr(torch, dtype))
    y = Keep.apply(torch.ones(3, requires_grad=True), kept)
    kept.zero_()
    with pytest.raises(RuntimeError, match=rf"\[{name} \[2\]\] is at version 1; expected version 0"):
        y.sum().backward()


def test_transposing_in_place_names_itself_where_it_is_refused(torch):
    with pytest.raises(RuntimeError, match=r"^t_\(\) expects a tensor with <= 2 dimensions, but self is 3D"):
        torch.ones(2, 2, 2).t_()
    with pytest.raises(RuntimeError, match=r"^t\(\) expects a tensor with <= 2 dimensions, but self is 3D"):
        torch.ones(2, 2, 2).t()


def _five(torch, n=3):
    return torch.full((n,), 5.0)


def test_data_set_between_forward_and_backward_is_what_the_gradient_sees(torch):
    x = torch.ones(3, requires_grad=True)
    y = x * x
    x.data = _five(torch)
    y.sum().backward()
    assert x.grad.tolist() == [10.0] * 3

    x, w = torch.ones(3, requires_grad=True), torch.ones(3)
    y = x * w
    w.data = _five(torch) * 2
    w.data = _five(torch)
    y.sum().backward()
    assert x.grad.tolist() == [5.0] * 3

    x = torch.ones(3, requires_grad=True)
    h = x * 1
    y = h * h
    h.data = _five(torch)
    y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [10.0] * 3
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [10.0] * 3


def test_data_set_leaves_saved_results_and_views_as_they_were(torch):
    x = torch.zeros(3, requires_grad=True)
    y = x.exp()
    y.data = _five(torch)
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 3

    x, w = torch.ones(2, requires_grad=True), torch.ones(3)
    y = x * w[:2]
    w.data = _five(torch)
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 2


def test_uses_after_data_was_set_and_writes_after_them(torch):
    x, w = torch.ones(3, requires_grad=True), torch.ones(3)
    first = x * w
    w.data = _five(torch)
    second = x * w
    (first.sum() + second.sum()).backward()
    assert x.grad.tolist() == [10.0] * 3
    third = x * w
    w.data = _five(torch) * 2
    third.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [20.0] * 3
    w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        third.sum().backward()


def test_data_set_and_a_custom_function(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = torch.ones(3, requires_grad=True)
    y = Square.apply(x)
    x.data = _five(torch)
    y.sum().backward()
    assert x.grad.tolist() == [10.0] * 3


NAMES = {"x**2": "Pow", "2**x": "Pow2", "x.sum(0)": "Sum1", "torch.log2(x)": "Log2",
         "torch.zeros(2, 3).copy_(x)": "torch::autograd::CopyBackwards", "x * 2": "Mul"}


@pytest.mark.parametrize("code", NAMES)
def test_the_error_names_the_operation_whose_result_was_overwritten(torch, code):
    x = torch.ones(2, 3, requires_grad=True)
    y = eval(code, {"torch": torch, "x": x})
    z = (y * y).sum()
    with torch.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError) as caught:
        z.backward()
    assert f", which is output 0 of {NAMES[code]}, is at version" in str(caught.value)

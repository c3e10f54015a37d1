"""Views of another type, and shapes with a memory format: what is refused, and what the tape knows of them."""

from __future__ import annotations

import pytest


def test_the_same_bytes_as_another_type(torch):
    x = torch.arange(8.0).view(2, 4)
    for kind, shape in ((torch.int32, (2, 4)), (torch.float64, (2, 2)), (torch.int16, (2, 8)), (torch.uint8, (2, 16)),
            (torch.complex64, (2, 2))):
        v = x.view(kind)
        assert (v.dtype == kind and v.shape == shape and v.data_ptr() == x.data_ptr()
            and torch.equal(v.view(torch.float32), x))
    assert torch.tensor(1.0).view(torch.int32).item() == 0x3F800000 and x.t().view(torch.int32).stride() == (1, 4)
    assert (torch.empty(0, 4).view(torch.float64).shape == (0, 2)
        and torch.ones(2, 1).t().view(torch.int16).shape == (1, 4))
    v = x.view(torch.int32)
    x.add_(1)
    assert v._version == x._version == 1 and not v._is_view()


def test_no_gradient_passes_to_another_type(torch):
    x = torch.ones(2, 2, requires_grad=True)
    for kind in (torch.int32, torch.float32):
        v = x.view(kind)
        assert not v.requires_grad and v.grad_fn is None and v.data_ptr() == x.data_ptr()


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        ("torch.ones(3, 5)", "float64",
            r"self.size\(-1\) must be divisible by 2 to view Float as Double \(different element sizes\), but got 5"),
        ("torch.ones(3, 6)[:, 1:5]", "float64",
            r"self.storage_offset\(\) must be divisible by 2 to view Float as Double .*, but got 1"),
        ("torch.ones(4, 4).t()", "float64",
            r"self.stride\(-1\) must be 1 to view Float as Double \(different element sizes\), but got 4"),
        ("torch.ones(3, 5)[:, :4]", "float64",
            r"self.stride\(0\) must be divisible by 2 to view Float as Double .*, but got 5"),
        ("torch.tensor(1.0)", "float64",
            r"self.dim\(\) cannot be 0 to view Float as Double \(different element sizes\)"),
        ("torch.ones(2, 4)[:, ::2]", "int16", r"self.stride\(-1\) must be 1 to view Float as Short .*, but got 2"),
        ("torch.ones(3, 1).expand(3, 2)", "float64",
            r"self.stride\(-1\) must be 1 to view Float as Double .*, but got 0"),
        ("torch.ones(4, 4).short().as_strided((4, 4, 4), (0, 1, 1))", "int32",
            r"self.stride\(1\) must be divisible by 2 to view Short as Int"),
    ],
)
def test_types_that_do_not_fit(torch, make, kind, message):
    x = eval(make, {"torch": torch})
    with pytest.raises(RuntimeError, match=message):
        x.view(getattr(torch, kind))


def test_resizing_in_a_memory_format(torch):
    assert torch.empty(10, 3, 32, 32).resize_(1, 2, 4, 5, memory_format=torch.channels_last).stride() == (40, 1, 10, 2)
    template = torch.empty(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    assert torch.empty(120).resize_as_(template, memory_format=torch.preserve_format).stride() == (60, 1, 15, 3)
    assert torch.empty(120).resize_as_(template).stride() == (60, 20, 5, 1)
    assert torch.empty(4).resize_(1, 2, 2, 3, memory_format=torch.channels_last).stride() == (12, 1, 6, 2)
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        torch.empty(6).resize_(2, 3, memory_format=torch.channels_last)
    with pytest.raises(RuntimeError, match="Unsupported memory format"):
        torch.empty(2, 3).resize_(2, 3, memory_format=torch.preserve_format)
    with pytest.raises(RuntimeError,
            match=r"Storage size calculation overflowed with sizes=\[2, 4, 536870912, 536870912\]"):
        torch.empty((), dtype=torch.float64).resize_([2, 4, 2**29, 2**29])
    with pytest.raises(RuntimeError, match="numel: integer multiplication overflow"):
        torch.empty(()).resize_([8, 8, 2**29, 2**29])


@pytest.mark.filterwarnings("ignore")
def test_transposes_of_other_ranks(torch):
    scalar = torch.tensor(2 + 1j)
    assert scalar.mT.item() == 2 + 1j and scalar.mH.item() == scalar.H.item() == scalar.adjoint().item() == 2 - 1j
    with pytest.raises(RuntimeError,
            match=r"tensor.H is only supported on matrices \(2-D tensors\). Got 3-D tensor. For batches of"):
        torch.ones(2, 2, 2).H
    with pytest.raises(RuntimeError,
            match=r"tensor.adjoint\(\) is only supported on matrices or batches of matrices. Got 1-D tensor."):
        torch.ones(2).adjoint()


def test_flat_copies_and_views(torch):
    x = torch.arange(6.0).view(2, 3)
    every_other = torch.arange(6.0)[::2]
    assert every_other.ravel().data_ptr() != every_other.data_ptr() and every_other.ravel().is_contiguous()
    assert x.ravel()._base is x._base and x.t().ravel().tolist() == [0, 3, 1, 4, 2, 5]
    assert torch.ones(3).flatten().data_ptr() != 0 and torch.tensor(1.0).ravel().shape == (1,)


def test_scatter_into_strided_memory(torch):
    """The gradient speaks of memory, which is that of a contiguous tensor only."""
    x = torch.zeros(12)[1:10:2]
    part = torch.ones(2, requires_grad=True)
    assert torch.as_strided_scatter(x, part, (2,), (4,), 1).tolist() == [1, 0, 1, 0, 0]
    with pytest.raises(RuntimeError, match="only supported for contiguous inputs"):
        torch.as_strided_scatter(x.requires_grad_(), part, (2,), (4,), 1)
    with pytest.raises(RuntimeError, match="only supported for contiguous inputs"):
        x.as_strided_scatter(part, (2,), (4,), 1)

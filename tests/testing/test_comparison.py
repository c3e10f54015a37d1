"""``torch.testing``, on both libraries: what is close, what is said when it is not, and what tensors are made."""

from __future__ import annotations

import numpy as np
import pytest


def complaint(torch, *args, **kwargs):
    with pytest.raises(AssertionError) as caught:
        torch.testing.assert_close(*args, **kwargs)
    return str(caught.value)


def test_what_is_close(torch):
    t = torch.tensor

    def close(*args, **kwargs):
        assert torch.testing.assert_close(*args, **kwargs) is None

    close(t([1.0, 2.0]), t([1.0, 2.0 + 1e-6]))
    close(t([100, 2]), t([101, 2]), rtol=0.1, atol=0)
    close(t([1.0, 2.0]), t([1.0, 2.1]), rtol=0.0, atol=0.5)
    close(t([float("nan")]), t([float("nan")]), equal_nan=True)
    close(t([float("inf")]), t([float("inf")]))
    close(torch.ones(2), torch.ones(2).double(), check_dtype=False)
    close(torch.ones(2), torch.ones(2, dtype=torch.int64), check_dtype=False)
    close(torch.ones(2, 3), torch.ones(3, 2).t())
    close(torch.zeros(0), torch.zeros(0))
    close(t([1.0], dtype=torch.float16), t([1.001], dtype=torch.float64), check_dtype=False)
    close(1, 1.0, check_dtype=False)
    close((1.0, [None, True]), [1.0, (None, True)])
    close({"a": 1.0, "b": t(2.0)}, {"b": t(2.0), "a": 1.0})
    close(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    close(torch.nn.Parameter(torch.ones(2)), torch.ones(2))
    close(t([[0.0, 1.0]]).to_sparse(), t([[0.0, 1.0]]), check_layout=False)


def test_how_tensors_differ(torch):
    t = torch.tensor
    assert complaint(torch, t([[1.0, 2.0], [3.0, 5.0]]), t([[1.0, 2.0], [4.0, 5.0]])) == (
        "Tensor-likes are not close!\n\nMismatched elements: 1 / 4 (25.0%)\n"
        "Greatest absolute difference: 1.0 at index (1, 0) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.25 at index (1, 0) (up to 1.3e-06 allowed)"
    )
    exact = "Tensor-likes are not equal!\n\nMismatched elements: 1 / 2 (50.0%)\nGreatest absolute difference: 1"
    assert complaint(torch, t([1, 2]), t([1, 4])).startswith(exact.replace(": 1", ": 2").replace("s: 2 ", "s: 1 "))
    assert complaint(torch, t([True, False]), t([True, True])).startswith(exact)
    assert ("Greatest relative difference: 0.25 at index (1,)" in complaint(torch, t([1.0, 3.0]), t([1.0, 4.0]), rtol=0,
        atol=0))
    assert "difference: 0.4472135901451111 at" in complaint(torch, t([1 + 1j]), t([1 + 2j]))
    assert "absolute difference: nan at index (0,)" in complaint(torch, t([float("nan"), 1.0]), t([1.0, 1.0]))
    assert "absolute difference: inf at index (0,)" in complaint(torch, t([float("inf")]), t([-float("inf")]))
    assert "relative difference: inf at index (0,)" in complaint(torch, t([1.0, 0.0]), t([0.0, 0.0]))
    assert ("absolute difference: 255 at index (0,)" in complaint(torch, t([0], dtype=torch.uint8),
        t([255], dtype=torch.uint8)))
    assert "absolute difference: 1 at index (0,)" in complaint(torch, t([2**60]), t([2**60 + 1]))
    assert "(up to 0.016 allowed)" in complaint(torch, torch.ones(2).bfloat16(), torch.ones(2).bfloat16() * 1.1)
    assert complaint(torch, t([[0.0, 1.0]]).to_sparse(),
        t([[0.0, 2.0]]).to_sparse()).startswith("Sparse COO values are not close!")
    assert complaint(torch, t(1.0),
        t(2.0)).startswith("Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 (up to 1e-05")


def test_how_attributes_differ(torch):
    ones = torch.ones
    assert (complaint(torch, ones(2), ones(3)) == "The values for attribute 'shape' do not match: torch.Size([2]) != "
        "torch.Size([3]).")
    assert (complaint(torch, ones(2), ones(2).double()) == "The values for attribute 'dtype' do not match: "
        "torch.float32 != torch.float64.")
    assert ("attribute 'stride()' do not match: (3, 1) != (1, 2)" in complaint(torch, ones(2, 3), ones(3, 2).t(),
        check_stride=True))
    assert ("attribute 'layout' do not match: torch.sparse_coo != torch.strided" in complaint(torch,
        ones(2).to_sparse(), ones(2)))


def test_how_numbers_and_containers_differ(torch):
    t = torch.tensor
    assert complaint(torch, 1.0, 2.0) == (
        "Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 (up to 1e-07 allowed)\n"
        "Relative difference: 0.5 (up to 1e-07 allowed)"
    )
    assert (complaint(torch, 1, 2) == "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: "
        "1\nRelative difference: 0.5")
    assert "Absolute difference: nan" in complaint(torch, float("nan"), float("nan"))
    assert complaint(torch, True, False) == "Booleans mismatch: True is not False"
    assert complaint(torch, None, 1.0) == "None mismatch: None is not 1.0"
    assert complaint(torch, 1, 1.0) == "The (d)types do not match: <class 'int'> != <class 'float'>."
    assert complaint(torch, [1.0], [1.0, 2.0]) == "The length of the sequences mismatch: 1 != 2"
    assert complaint(torch, {"a": 1.0, "b": 2.0}, {"a": 1.0, "c": 2.0}) == (
        "The keys of the mappings do not match:\nMissing keys in the actual mapping: ['c']\nAdditional keys in the "
        "actual mapping: ['b']"
    )
    assert complaint(torch, {"a": [1.0, (2.0, 3.0)]},
        {"a": [1.0, (2.0, 4.0)]}).endswith("\n\nThe failure occurred for item ['a'][1][1]")
    assert complaint(torch, t([1.0]), t([2.0]), msg="mine") == "mine"
    assert complaint(torch, [t([1.0])], [t([2.0])],
        msg=lambda text: f"mine: {text}").startswith("mine: Tensor-likes are not close!")


def test_what_cannot_be_compared(torch):
    close = torch.testing.assert_close
    for a, b in (("a", "a"), (np.array([1.0]), torch.ones(1)), (1.0, torch.tensor(1.0)), ({1}, {1}),
            (torch.ones(1), [1.0])):
        with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
            close(a, b)
    with pytest.raises(TypeError, match="No comparison pair"):
        close(torch.nn.Parameter(torch.ones(2)), torch.ones(2), allow_subclasses=False)
    with pytest.raises(ValueError,
            match="Both 'rtol' and 'atol' must be either specified or omitted, but got no atol."):
        close(1.0, 1.0, rtol=1.0)


def test_the_older_form(torch):
    with pytest.warns(FutureWarning, match="assert_allclose"):
        torch.testing.assert_allclose(torch.ones(2), torch.ones(2).double() + 1e-7)
    with pytest.warns(FutureWarning), pytest.raises(AssertionError, match="not close"):
        torch.testing.assert_allclose([1.0, 2.0], torch.tensor([1.0, 3.0]))


def test_tensors_are_made_as_pytorch_makes_them(torch):
    def made(*shape, dtype="float32", **options):
        torch.manual_seed(0)
        return torch.testing.make_tensor(*shape, dtype=getattr(torch, dtype), device="cpu", **options)

    assert made(3, 4).reshape(-1)[:3].tolist() == pytest.approx([-0.06738138, 4.8279924, -7.4074063])
    assert made((3, 4), dtype="float64")[0, :2].tolist() == pytest.approx([8.461, 3.7408], abs=1e-4)
    assert (made((2,), dtype="complex64").tolist() == [pytest.approx(-0.067381 + 4.827992j),
        pytest.approx(-7.407406 - 6.623451j)])
    assert made(4, dtype="int64").tolist() == made(4, dtype="int32").tolist() == [6, -5, -9, -9]
    assert (made(4, dtype="uint8").tolist() == [4, 9, 3, 0]
        and made(4, dtype="bool").tolist() == [False, True, True, False])
    assert made(4, low=8).tolist() == pytest.approx([8.4963, 8.7682, 8.0885, 8.1320], abs=1e-4)
    assert made(4, dtype="int64", low=0, high=3).tolist() == [2, 0, 2, 0]
    assert made(4, dtype="int64", low=-1, high=1, exclude_zero=True).tolist() == [-1, 1, 1, -1]
    gaps = made(3, 4, noncontiguous=True)
    assert not gaps.is_contiguous() and gaps.shape == (3, 4) and gaps[0, 0].item() == pytest.approx(4.8279924)
    assert made(1, noncontiguous=True).is_contiguous() and made(()).shape == () and made((0, 3)).shape == (0, 3)
    assert made(3, requires_grad=True).requires_grad and made(3, requires_grad=True).is_leaf
    assert made(3, dtype="float16", low=-1e6, high=1e6).isfinite().all()


def test_tensors_that_cannot_be_made(torch):
    def refused(match, kind=ValueError, **options):
        with pytest.raises(kind, match=match):
            torch.testing.make_tensor(3, device="cpu", **{"dtype": torch.float32, **options})

    refused("`low` must be less than `high`, but got 2 >= 1", low=2, high=1)
    refused("`low` must be less than `high`, but got 20 >= 9", low=20)
    refused("cannot be NaN", low=float("nan"))
    refused("but torch.uint8 only supports", dtype=torch.uint8, low=-5, high=-1)
    refused("`requires_grad=True` is not supported for boolean and integral dtypes", dtype=torch.int64,
        requires_grad=True)
    refused("mutually exclusive", noncontiguous=True, memory_format=torch.contiguous_format)
    refused("is not supported by torch.testing.make_tensor", TypeError, dtype="float")
    with pytest.warns(FutureWarning, match="low==high"):
        assert torch.testing.make_tensor(2, dtype=torch.float32, device="cpu", low=2, high=2).tolist() == [2, 2]

"""``torch.testing``, on both libraries: what is close, what is said when it is not, and what tensors are made."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest


def complaint(torch, *args, **kwargs):
    with pytest.raises(AssertionError) as caught:
        torch.testing.assert_close(*args, **kwargs)
    return str(caught.value)


def test_what_is_close(torch):
    t, close = torch.tensor, torch.testing.assert_close
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
    assert "Greatest relative difference: 0.25 at index (1,)" in complaint(torch, t([1.0, 3.0]), t([1.0, 4.0]), rtol=0, atol=0)
    assert "difference: 0.4472135901451111 at" in complaint(torch, t([1 + 1j]), t([1 + 2j]))
    assert "absolute difference: nan at index (0,)" in complaint(torch, t([float("nan"), 1.0]), t([1.0, 1.0]))
    assert "absolute difference: inf at index (0,)" in complaint(torch, t([float("inf")]), t([-float("inf")]))
    assert "relative difference: inf at index (0,)" in complaint(torch, t([1.0, 0.0]), t([0.0, 0.0]))
    assert "absolute difference: 255 at index (0,)" in complaint(torch, t([0], dtype=torch.uint8), t([255], dtype=torch.uint8))
    assert "absolute difference: 1 at index (0,)" in complaint(torch, t([2**60]), t([2**60 + 1]))
    assert "(up to 0.016 allowed)" in complaint(torch, torch.ones(2).bfloat16(), torch.ones(2).bfloat16() * 1.1)
    assert complaint(torch, t([[0.0, 1.0]]).to_sparse(), t([[0.0, 2.0]]).to_sparse()).startswith("Sparse COO values are not close!")
    assert complaint(torch, t(1.0), t(2.0)).startswith("Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 (up to 1e-05")


def test_how_attributes_differ(torch):
    ones = torch.ones
    assert complaint(torch, ones(2), ones(3)) == "The values for attribute 'shape' do not match: torch.Size([2]) != torch.Size([3])."
    assert complaint(torch, ones(2), ones(2).double()) == "The values for attribute 'dtype' do not match: torch.float32 != torch.float64."
    assert "attribute 'stride()' do not match: (3, 1) != (1, 2)" in complaint(torch, ones(2, 3), ones(3, 2).t(), check_stride=True)
    assert "attribute 'layout' do not match: torch.sparse_coo != torch.strided" in complaint(torch, ones(2).to_sparse(), ones(2))


def test_how_numbers_and_containers_differ(torch):
    t = torch.tensor
    assert complaint(torch, 1.0, 2.0) == (
        "Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 (up to 1e-07 allowed)\n"
        "Relative difference: 0.5 (up to 1e-07 allowed)"
    )
    assert complaint(torch, 1, 2) == "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\nRelative difference: 0.5"
    assert "Absolute difference: nan" in complaint(torch, float("nan"), float("nan"))
    assert complaint(torch, True, False) == "Booleans mismatch: True is not False"
    assert complaint(torch, None, 1.0) == "None mismatch: None is not 1.0"
    assert complaint(torch, 1, 1.0) == "The (d)types do not match: <class 'int'> != <class 'float'>."
    assert complaint(torch, [1.0], [1.0, 2.0]) == "The length of the sequences mismatch: 1 != 2"
    assert complaint(torch, {"a": 1.0, "b": 2.0}, {"a": 1.0, "c": 2.0}) == (
        "The keys of the mappings do not match:\nMissing keys in the actual mapping: ['c']\nAdditional keys in the actual mapping: ['b']"
    )
    assert complaint(torch, {"a": [1.0, (2.0, 3.0)]}, {"a": [1.0, (2.0, 4.0)]}).endswith("\n\nThe failure occurred for item ['a'][1][1]")
    assert complaint(torch, t([1.0]), t([2.0]), msg="mine") == "mine"
    assert complaint(torch, [t([1.0])], [t([2.0])], msg=lambda text: f"mine: {text}").startswith("mine: Tensor-likes are not close!")


def test_what_cannot_be_compared(torch):
    close = torch.testing.assert_close
    for a, b in (("a", "a"), (np.array([1.0]), torch.ones(1)), (1.0, torch.tensor(1.0)), ({1}, {1}), (torch.ones(1), [1.0])):
        with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
            close(a, b)
    with pytest.raises(TypeError, match="No comparison pair"):
        close(torch.nn.Parameter(torch.ones(2)), torch.ones(2), allow_subclasses=False)
    with pytest.raises(ValueError, match="Both 'rtol' and 'atol' must be either specified or omitted, but got no atol."):
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
    assert made((2,), dtype="complex64").tolist() == [pytest.approx(-0.067381 + 4.827992j), pytest.approx(-7.407406 - 6.623451j)]
    assert made(4, dtype="int64").tolist() == made(4, dtype="int32").tolist() == [6, -5, -9, -9]
    assert made(4, dtype="uint8").tolist() == [4, 9, 3, 0] and made(4, dtype="bool").tolist() == [False, True, True, False]
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
    refused("`requires_grad=True` is not supported for boolean and integral dtypes", dtype=torch.int64, requires_grad=True)
    refused("mutually exclusive", noncontiguous=True, memory_format=torch.contiguous_format)
    refused("is not supported by torch.testing.make_tensor", TypeError, dtype="float")
    with pytest.warns(FutureWarning, match="low==high"):
        assert torch.testing.make_tensor(2, dtype=torch.float32, device="cpu", low=2, high=2).tolist() == [2, 2]


OWN_KIND_OF_FILE = """
import unittest

import torch
from torch.autograd import Function
from torch.testing import make_tensor
from torch.testing._internal.common_cuda import TEST_CUDA
from torch.testing._internal.common_device_type import deviceCountAtLeast, dtypes, dtypesIfCUDA, instantiate_device_type_tests, onlyCUDA, skipMeta
from torch.testing._internal.common_dtype import floating_types_and
from torch.testing._internal.common_methods_invocations import mask_not_all_zeros
from torch.testing._internal.common_utils import (
    IS_MACOS, TEST_ACCELERATOR, TemporaryFileName, TestCase, decorateIf, disable_gc, gradcheck, gradgradcheck,
    instantiate_parametrized_tests, parametrize, run_tests, runWithoutCompiledAutograd, skipCUDANonDefaultStreamIf,
    skipIfTorchDynamo, skipIfXpu, slowTest, subtest, xfailIfTorchDynamo,
)
from torch.testing._internal.logging_utils import LoggingTestCase, make_logging_test
from torch.utils.checkpoint import _infer_device_type

class TestGeneral(TestCase):
    def test_equal(self):
        self.assertEqual(torch.ones(2), torch.ones(2))
        self.assertEqual(torch.ones(2)[0], 1)
        self.assertEqual(torch.ones(2), [1, 1])
        self.assertEqual([torch.ones(1), 2, "a", None], [torch.ones(1), 2, "a", None])
        self.assertEqual({"a": 1}, {"a": 1.0})
        self.assertEqual(float("nan"), float("nan"))
        self.assertEqual(torch.ones(2), torch.ones(2) + 0.1, atol=0.2, rtol=0)
        self.assertNotEqual(torch.ones(2), torch.zeros(2))
        for x, y in ((torch.ones(2), torch.ones(2).double()), (torch.ones(2), torch.ones(3)), (1, 2), ([1, 2], [1]), ("a", "b")):
            with self.assertRaises(AssertionError):
                self.assertEqual(x, y)

    def test_random_numbers_begin_anew(self):
        first = torch.rand(1)
        self.setUp()
        self.assertEqual(first, torch.rand(1))

    def test_gradients(self):
        x = torch.randn(3, dtype=torch.double, requires_grad=True)
        self.assertTrue(gradcheck(torch.sin, (x,)) and gradgradcheck(torch.sin, (x,)))

    @parametrize("flag", [True, False])
    @parametrize("x,y", [(1, 2), subtest((3, 4), name="large")])
    def test_parameters(self, flag, x, y):
        self.assertIsInstance(flag, bool)
        self.assertEqual(y, x + 1)

    @decorateIf(unittest.skip("odd"), lambda given: given["n"] % 2)
    @parametrize("n", range(3))
    def test_one_more(self, n):
        self.assertEqual(n % 2, 0)

    def test_names_by_family(self):
        self.assertFalse(TEST_ACCELERATOR or TEST_CUDA)
        self.assertIsInstance(_infer_device_type(torch.ones(1)), str)

    @skipIfXpu
    @runWithoutCompiledAutograd("reason")
    def test_file(self):
        with TemporaryFileName() as name:
            torch.save(torch.ones(1), name)
            self.assertEqual(torch.load(name), torch.ones(1))

    @skipIfTorchDynamo("reason")
    def test_decorated(self):
        with disable_gc():
            self.assertNotWarn(lambda: torch.ones(1))

    @slowTest
    def test_slow(self):
        self.fail()

class TestDevices(TestCase):
    @dtypes(torch.float32, torch.float64)
    @dtypesIfCUDA(torch.half)
    def test_types(self, device, dtype):
        self.assertIs(torch.ones(1, device=device, dtype=dtype).dtype, dtype)

    @dtypes(*floating_types_and(torch.half))
    def test_family(self, device, dtype):
        self.assertEqual(make_tensor(2, device=device, dtype=dtype).dtype, dtype)

    @onlyCUDA
    def test_elsewhere(self, device):
        self.fail()

    @skipMeta
    def test_device(self, device):
        self.assertEqual(device, "cpu")
        self.assertTrue(mask_not_all_zeros((2, 2)).any())

    @deviceCountAtLeast(2)
    def test_two(self, devices):
        self.fail()

    @parametrize("k", [1, 2])
    def test_both(self, device, k):
        self.assertIn(k, (1, 2))

instantiate_parametrized_tests(TestGeneral)
instantiate_device_type_tests(TestDevices, globals())

if __name__ == "__main__":
    run_tests()
"""


@pytest.mark.parametrize("program", [pytest.param(["-m", "wengert", "run"], id="wengert"), pytest.param([], id="torch", marks=pytest.mark.parity)])
def test_files_of_pytorchs_own_kind_run(program, tmp_path):
    (tmp_path / "test_own.py").write_text(OWN_KIND_OF_FILE)
    plain = {k: v for k, v in os.environ.items() if k != "CI"}  # where it is set, PyTorch's runner wants a package for reports
    done = subprocess.run(
        [sys.executable, *program, "test_own.py", "-v"], cwd=tmp_path, env=plain, capture_output=True, text=True, timeout=300, check=False
    )
    lines = done.stderr.splitlines()
    assert done.returncode == 0 and "OK (skipped=4)" in done.stderr, done.stderr
    ran = {line.split()[0] for line in lines if line.endswith("... ok")}
    assert {"test_parameters_flag_True_large", "test_types_cpu_float32", "test_both_k_1_cpu", "test_family_cpu_float16"} <= ran
    assert len(ran) == 20, done.stderr

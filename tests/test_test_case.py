"""``TestCase`` of ``torch.testing._internal``, and the tests that ``parametrize`` and device types make: as PyTorch's own."""

from __future__ import annotations

import collections
import enum
import importlib
import os
import unittest

import numpy as np
import pytest


@pytest.fixture(params=["wengert", "torch"])
def torch(request):
    if request.param == "torch" and os.environ.get("WENGERT_REQUIRE_PARITY") != "1":
        return pytest.importorskip("torch")
    return importlib.import_module(request.param)


@pytest.fixture
def utils(torch):
    return importlib.import_module(f"{torch.__name__}.testing._internal.common_utils")


@pytest.fixture
def devices(torch):
    return importlib.import_module(f"{torch.__name__}.testing._internal.common_device_type")


@pytest.fixture
def equal(utils):
    class Test(utils.TestCase):
        def runTest(self):
            pass

    return Test().assertEqual


class Color(enum.Enum):
    RED = 1


Pair = collections.namedtuple("Pair", "a b")

EQUAL = {
    "numbers as float32": lambda t: (1.0, 1.0 + 1e-6),
    "kinds of numbers": lambda t: (1, 1.0),
    "complex": lambda t: (1 + 0j, 1),
    "nan": lambda t: (float("nan"), float("nan")),
    "a tensor and a number": lambda t: (t.tensor([[2.0]]), 2),
    "a double tensor and a number": lambda t: (t.tensor(1.0, dtype=t.float64) + 1e-6, 1.0),
    "a list and a tensor": lambda t: ([1, 2], t.tensor([1.0, 2.0])),
    "a tuple and an integer tensor": lambda t: (t.tensor([1, 2]), (1, 2)),
    "booleans": lambda t: (True, 1),
    "a tensor and a boolean": lambda t: (t.tensor([1]), True),
    "arrays": lambda t: (np.ones(2), t.ones(2, dtype=t.float64)),
    "array of strings": lambda t: (np.array(["a", "b"]), ["a", "b"]),
    "sequences": lambda t: ([1, (2, "x", None)], (1, [2.0, "x", None])),
    "mappings": lambda t: (collections.OrderedDict(a=t.ones(1)), {"a": t.ones(1)}),
    "named tuples": lambda t: (Pair(1, 2), (1, 2)),
    "sets": lambda t: ({1}, {1}),
    "types": lambda t: (t.float32, t.float32),
    "requires grad": lambda t: (t.ones(1), t.ones(1, requires_grad=True)),
    "enumerations": lambda t: (Color.RED, Color.RED),
    "sizes": lambda t: (t.Size([1, 2]), [1, 2]),
}
DIFFERENT = {
    "numbers": (lambda t: (1.0, 1.1), r"Scalars are not close!\n\nExpected 1.1 but got 1.0.\nAbsolute difference: .* \(up to 1e-05 allowed\)"),
    "integers": (lambda t: (1, 2), "Scalars are not equal!"),
    "booleans": (lambda t: (True, False), "Booleans mismatch: True is not False"),
    "none": (lambda t: (None, 1), "None mismatch: None is not 1"),
    "none and a tensor": (lambda t: (t.ones(1), None), r"None mismatch: tensor\(\[1.\]\) is not None"),
    "lengths": (lambda t: ([1], [1, 2]), "The length of the sequences mismatch: 1 != 2"),
    "keys": (lambda t: ({"a": 1}, {"b": 1}), r"Missing keys in the actual mapping: \['b'\]"),
    "strings": (lambda t: ("a", "b"), "String comparison failed: 'a' != 'b'"),
    "objects": (lambda t: ("a", 1), "Object comparison failed: 'a' != 1"),
    "types": (lambda t: (object, int), "Type comparison failed"),
    "sets": (lambda t: ({1}, {2}), "Set comparison failed"),
    "dtypes": (lambda t: (t.ones(1), t.ones(1).double()), "'dtype' do not match: torch.float32 != torch.float64"),
    "shapes": (lambda t: (t.ones(1), t.ones(2)), "'shape' do not match"),
    "an item": (lambda t: ([1, {"k": t.ones(2)}], [1, {"k": t.zeros(2)}]), r"The failure occurred for item \[1\]\['k'\]"),
    "integers in tensors": (lambda t: (t.tensor([1, 2]), t.tensor([1, 3])), "Greatest relative difference: 0.3333333432674408 at index"),
    "doubles": (lambda t: (t.tensor([1.0]).double(), t.tensor([1.0]).double() + 1e-6), r"\(up to 1e-07 allowed\)"),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal(torch, equal, name):
    equal(*EQUAL[name](torch))


@pytest.mark.parametrize("name", DIFFERENT)
def test_different(torch, equal, name):
    pair, text = DIFFERENT[name]
    with pytest.raises(AssertionError, match=text):
        equal(*pair(torch))


def test_messages_are_added(torch, equal):
    for pair in ((1, 2), ("a", "b"), (torch.ones(1), torch.zeros(1))):
        with pytest.raises(AssertionError, match=r"(?s).+\nit is so$"):
            equal(*pair, "it is so")
        with pytest.raises(AssertionError, match="^my own$"):
            equal(*pair, msg=lambda found: "my own")


def test_tolerances(torch, equal):
    a, b = torch.tensor([1.0]), torch.tensor([1.05])
    equal(a, b, atol=0.1, rtol=0)
    equal(1.0, 1.05, atol=0, rtol=0.1)
    with pytest.raises(ValueError, match="got no rtol"):
        equal(a, b, atol=0.1)
    with pytest.raises(ValueError, match="got no atol"):
        equal(a, b, rtol=0.1)
    with pytest.raises(AssertionError):
        equal(torch.tensor([float("nan")]), torch.tensor([float("nan")]), equal_nan=False)
    equal(a, a.double(), exact_dtype=False)
    with pytest.raises(ValueError, match="Only single element tensor-likes can be compared against a number. Got 2 elements instead."):
        equal(torch.ones(2), 1)


def run(case):
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result


def names(case):
    return sorted(n for n in dir(case) if n.startswith("test_") and getattr(case, n) is not None)


def test_parametrized(torch, utils):
    seen = []

    class Test(utils.TestCase):
        @utils.parametrize("flag", [True, False])
        @utils.parametrize("x", [1, 2.5, "s", None, torch.float32, [3]])
        def test_values(self, flag, x):
            seen.append((flag, x))

        @utils.parametrize("x,y", [(1, 2), utils.subtest((3, 4), name="large"), utils.subtest((5, 5), decorators=[unittest.expectedFailure])])
        def test_rows(self, x, y):
            self.assertNotEqual(x, y)

        @utils.parametrize("x", [utils.subtest(1, name="one", decorators=[unittest.skip("not now")]), 2], name_fn=lambda x: f"number{x}")
        def test_named(self, x):
            self.assertEqual(x, 2)

    utils.instantiate_parametrized_tests(Test)
    assert names(Test) == sorted([
        *(f"test_values_flag_{flag}_{x}" for x in ("x_1", "x_2_5", "x_s", "x3", "float32", "x5") for flag in (True, False)),
        "test_rows_x_1_y_2", "test_rows_large", "test_rows_x_5_y_5", "test_named_one", "test_named_number2",
    ])  # fmt: skip
    result = run(Test)
    assert result.wasSuccessful(), result.errors + result.failures
    assert (len(seen), len(result.expectedFailures), len(result.skipped)) == (12, 1, 1)


def test_device_types(torch, utils, devices):
    seen = []

    class Test(utils.TestCase):
        def test_device(self, device):
            seen.append((device, self.device_type, self.get_primary_device(), type(self).__name__))

        @devices.dtypes(torch.float, torch.double)
        def test_dtype(self, device, dtype):
            seen.append(dtype)

        @devices.dtypes((torch.float, torch.int), (torch.double, torch.long))
        def test_rows(self, device, dtypes):
            seen.append(dtypes)

        @devices.dtypes(torch.float)
        @devices.dtypesIfCPU(torch.int)
        @utils.parametrize("x", [1, utils.subtest(2, decorators=[unittest.expectedFailure])])
        def test_both(self, device, dtype, x):
            self.assertEqual(x, 1)
            seen.append(dtype)

        @devices.precisionOverride({torch.float: 0.5})
        @devices.dtypes(torch.float, torch.double)
        def test_lax(self, device, dtype):
            pair = torch.tensor([1.0], dtype=dtype), torch.tensor([1.25], dtype=dtype)
            (self.assertEqual if dtype == torch.float else self.assertNotEqual)(*pair)

        @devices.toleranceOverride({torch.float: devices.tol(atol=0, rtol=0.5)})
        @devices.dtypes(torch.float)
        def test_very_lax(self, device, dtype):
            self.assertEqual(torch.tensor([1.0]), torch.tensor([1.25]))

        @devices.onlyCUDA
        def test_elsewhere(self, device):
            self.fail()

    Test.__module__ = __name__
    scope = {"Test": Test}
    devices.instantiate_device_type_tests(Test, scope, only_for="cpu")
    assert list(scope) == ["TestCPU"]
    assert names(scope["TestCPU"]) == [
        "test_both_x_1_cpu_int32", "test_both_x_2_cpu_int32", "test_device_cpu", "test_dtype_cpu_float32", "test_dtype_cpu_float64",
        "test_elsewhere_cpu", "test_lax_cpu_float32", "test_lax_cpu_float64", "test_rows_cpu_float32_int32", "test_rows_cpu_float64_int64",
        "test_very_lax_cpu_float32",
    ]  # fmt: skip
    result = run(scope["TestCPU"])
    assert result.wasSuccessful(), result.errors + result.failures
    assert (len(result.expectedFailures), len(result.skipped)) == (1, 1)
    assert ("cpu", "cpu", "cpu", "TestCPU") in seen
    assert {torch.int, torch.float, torch.double, (torch.float, torch.int), (torch.double, torch.long)} <= set(seen)


@pytest.mark.parametrize("uncoalesced", [False, True])
def test_sparse_inputs(torch, utils, uncoalesced):
    case = utils.TestCase()
    x, indices, values = case.genSparseTensor([3, 4, 2], 2, 5, is_uncoalesced=uncoalesced, device="cpu", dtype=torch.float64)
    assert (x.shape, x.dtype, x.is_coalesced(), x.sparse_dim()) == (torch.Size([3, 4, 2]), torch.float64, not uncoalesced, 2)
    case.assertEqual(torch.sparse_coo_tensor(indices, values, (3, 4, 2)).to_dense(), case.safeToDense(x))
    empty, *_ = case.genSparseTensor([0, 2], 1, 0, is_uncoalesced=False, device="cpu", dtype=torch.float32)
    assert empty._nnz() == 0

"""``TestCase`` of ``torch.testing._internal``, and the tests that ``parametrize`` and device types make: as PyTorch's own."""

from __future__ import annotations

import collections
import enum
import importlib
import unittest

import numpy as np
import pytest


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


def test_which_tests_run_on_a_device(torch, utils, devices):
    d = devices

    class Test(utils.TestCase):
        absent_here = False

        @d.onlyOn(["cuda", "cpu"])
        def test_on_cpu(self, device):
            self.assertEqual(device, "cpu")

        @d.onlyOn("cuda")
        def test_on_cuda(self, device):
            self.fail()

        @d.onlyAccelerator
        def test_on_accelerators(self, device):
            self.fail()

        @d.skipIf(True, "both", device_type=("cpu", "cuda"))
        def test_skipped(self, device):
            self.fail()

        @d.skipIf(True, "only there", device_type="cuda")
        @d.skipIf("absent_here", "an attribute")
        @d.skipCUDAIf(True, "there")
        @d.skipGPUIf(True, "there")
        def test_not_skipped(self, device):
            pass

        @d.skipIf("no_such_attribute", "what it has not")
        def test_without_attribute(self, device):
            self.fail()

        @d.expectedFailureCPU
        def test_has_to_fail(self, device):
            raise ValueError

        @d.expectedFailureMeta
        def test_has_not_to_fail(self, device):
            pass

        @d.expectedFailure("cpu", dtype=torch.float32)
        @d.dtypes(torch.float32, torch.float64)
        def test_fails_for_a_dtype(self, device, dtype):
            self.assertIs(dtype, torch.float64)

        @d.deviceCountAtLeast(1)
        def test_one_device(self, devices):
            self.assertEqual(devices, ["cpu"])

        @d.deviceCountAtLeast(2)
        def test_two_devices(self, devices):
            self.fail()

        @d.dtypesIfCPU(torch.float64)
        @d.dtypes(torch.float32, torch.float16)
        def test_own_dtypes(self, device, dtype):
            self.assertIs(dtype, torch.float64)

        @d.precisionOverride({torch.float32: 0.5})
        @d.toleranceOverride({torch.float64: d.tol(atol=1e-3, rtol=1e-4)})
        @d.dtypes(torch.float32, torch.float64, torch.float16)
        def test_both_overrides(self, device, dtype):
            wanted = {torch.float32: (0.5, 0), torch.float64: (1e-3, 1e-4), torch.float16: (0, 0)}
            self.assertEqual((self.precision, self.rel_tol), wanted[dtype])

        @utils.decorateIf(unittest.expectedFailure, lambda given: given["device"] == "cpu" and given["x"] == 2)
        @utils.parametrize("x", range(3))
        def test_decorated(self, device, x):
            self.assertNotEqual(x, 2)

    Test.__module__ = __name__
    scope = {"Test": Test}
    d.instantiate_device_type_tests(Test, scope)
    assert not [n for n in names(Test) if n.startswith("test_")]
    case = scope["TestCPU"]
    result = run(case)
    assert result.wasSuccessful(), result.errors + result.failures
    skipped = sorted(test.id().rpartition(".")[2] for test, _ in result.skipped)
    assert skipped == ["test_on_accelerators_cpu", "test_on_cuda_cpu", "test_skipped_cpu", "test_two_devices_cpu", "test_without_attribute_cpu"]
    assert (result.testsRun, len(result.expectedFailures)) == (19, 1)


def test_classes_of_tests_for_a_device(torch, utils, devices):
    seen = []

    class Base(utils.TestCase):
        def test_inherited(self):
            seen.append(self.device_type)

    class Test(Base):
        @classmethod
        def setUpClass(cls):
            super().setUpClass()
            seen.append(f"up {cls.device_type}")

        def test_own(self, device):
            seen.append(device)

    Test.__module__ = __name__
    scope = {"Test": Test}
    devices.instantiate_device_type_tests(Test, scope, except_for="meta", allow_mps=True, allow_xpu=True)
    assert names(scope["TestCPU"]) == ["test_inherited", "test_own_cpu"]
    assert issubclass(scope["TestCPU"], (devices.CPUTestBase, devices.DeviceTypeTestBase))
    assert run(scope["TestCPU"]).wasSuccessful()
    assert seen == ["up cpu", "cpu", "cpu"]
    for options in ({"except_for": "cpu"}, {"only_for": ("cuda",)}):

        class Elsewhere(utils.TestCase):
            pass

        scope = {"Elsewhere": Elsewhere}
        devices.instantiate_device_type_tests(Elsewhere, scope, **options)
        assert scope == {}


def test_operators_for_which_a_test_is_skipped_or_fails(torch, utils, devices):
    database = importlib.import_module(f"{torch.__name__}.testing._internal.common_methods_invocations").op_db
    chosen = [op for op in database if op.name in ("sin", "add", "matmul")]

    class Test(utils.TestCase):
        @devices.skipOps([devices.xfail("sin"), devices.skip("matmul", dtypes=(torch.float32,)), devices.skip("add", device_type="cuda")])
        @devices.ops(chosen, dtypes=(torch.float32,))
        def test_it(self, device, dtype, op):
            self.assertEqual(op.name, "add")

        @devices.ops(chosen, dtypes=devices.OpDTypes.none)
        def test_any(self, device, op):
            pass

    Test.__module__, Test.test_it.__qualname__ = __name__, "Test.test_it"
    scope = {"Test": Test}
    devices.instantiate_device_type_tests(Test, scope)
    result = run(scope["TestCPU"])
    assert result.wasSuccessful(), result.errors + result.failures
    assert (result.testsRun, len(result.expectedFailures), len(result.skipped)) == (6, 1, 1)


def test_what_cannot_be_made(torch, utils, devices):
    def make(decorator, error, text, instantiate):
        class Test(utils.TestCase):
            @decorator
            def test_x(self, x=None, device=None, dtype=None, op=None):
                pass

        with pytest.raises(error, match=text):
            instantiate(Test)

    plain = utils.instantiate_parametrized_tests
    make(utils.parametrize("x", [1, 1]), AssertionError, "Redefinition of test", plain)
    make(utils.parametrize("x", []), ValueError, "An empty arg_values was passed to @parametrize", plain)
    make(utils.parametrize("x,y", [(1, 2, 3)]), RuntimeError, "Expected # values == # arg names, but got: 3 values and 2 names", plain)
    make(devices.ops([1]), RuntimeError, "only intended to be used in a device-specific context", plain)
    for decorator, error, text in (
        (devices.ops([]), ValueError, "An empty op_list was passed to @ops"),
        (devices.dtypesIfCPU(torch.float32), AssertionError, "@dtypes is mandatory when using @dtypesIf"),
    ):
        make(decorator, error, text, lambda test: devices.instantiate_device_type_tests(test, {"Test": test}))
    with pytest.raises(AssertionError, match="dtypes redefinition for all"):
        devices.dtypes(torch.float32)(devices.dtypes(torch.float64)(lambda: None))
    with pytest.raises(AssertionError):
        devices.dtypes(torch.float32, 1)


def test_further_checks(torch, utils):
    import logging
    import warnings

    class Test(utils.TestCase):
        def runTest(self):
            pass

    test = Test()
    test.assertExpectedInline("\x1b[31mred\x1b[0m", "red")
    test.assertExpectedInline("# a comment\na\n\nb", "a\nb", ignore_comments=True, ignore_empty_lines=True)
    with test.assertLogs(level="INFO") as seen:
        logging.getLogger("torch.something").info("hello")
    assert seen.output == ["INFO:torch.something:hello"]
    with test.assertNoLogs():
        logging.getLogger("elsewhere").error("unseen")
    x = torch.ones(2)
    test.assertObjectIn(x, [1, x])
    with pytest.raises(AssertionError, match="object not found in iterable"):
        test.assertObjectIn(torch.ones(2), [x])
    test.assertEqualBroadcasting(torch.ones(2, 3), [1, 1, 1])
    test.assertGreaterAlmostEqual(0.99999999, 1)
    with test.assertWarnsOnceRegex(UserWarning, "abc"):
        warnings.warn("abcd", stacklevel=1)
    with pytest.raises(AssertionError, match="no warning caught"), test.assertWarnsOnceRegex(UserWarning):
        pass
    with utils.set_warn_always_context(True):
        assert torch.is_warn_always_enabled()
    assert not torch.is_warn_always_enabled()
    test.assertNoUnraisable(lambda: None)
    test.assertEqual(torch.nn.ParameterList([torch.nn.Parameter(x)]), [x])
    test.assertEqual(x.storage(), x.clone().storage())
    test.assertEqual(torch.eye(2).to_sparse_csr(), torch.eye(2).to_sparse_csr())


def make_skips(utils):
    @utils.skipIfPythonVersionMismatch(lambda major, minor, micro: major == 2)
    def test_python2(self):
        self.fail()

    @utils.skipIfPythonVersionMismatch(lambda major, minor, micro: major == 3)
    def test_python3(self):
        pass

    @utils.skip_but_pass_in_sandcastle("why")
    def test_skipped(self):
        self.fail()

    @utils.skip_but_pass_in_sandcastle_if(False, "why")
    @utils.patch_test_members({"z": 5})
    def test_patched(self):
        self.assertEqual(self.z, 5)

    return type("Test", (utils.TestCase,), {"z": 3, **{f.__name__: f for f in (test_python2, test_python3, test_skipped, test_patched)}})


def test_reasons_to_skip(torch, utils):
    result = run(make_skips(utils))
    assert result.wasSuccessful() and (result.testsRun, len(result.skipped)) == (4, 2)


def test_an_exception_that_skips(torch, utils):
    class Test(utils.TestCase):
        _ignore_not_implemented_error = True

        def test_it(self):
            raise NotImplementedError("later")

    result = unittest.TestResult()
    Test(methodName="test_it").run(result)
    assert len(result.skipped) == 1 and not result.errors


def test_lazy_values(torch, utils):
    made = []
    value = utils.LazyVal(lambda: made.append(1) or 3)
    assert made == []
    assert value == 3 and value + 1 == 4 and bool(value) and int(value) == 3 and not value < 2
    assert made == [1]

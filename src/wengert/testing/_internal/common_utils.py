"""``TestCase`` and what else PyTorch's test files take from ``torch.testing._internal.common_utils``."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import os
import random
import subprocess
import sys
import unittest
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ... import _settings
from ...arrays.dtypes import get_default_dtype as _get_default_dtype
from ...arrays.dtypes import set_default_dtype as _set_default_dtype
from ...autograd.gradcheck import gradcheck as _gradcheck
from ...autograd.gradcheck import gradgradcheck as _gradgradcheck
from ...tensor import device, dtype
from ...tensor.creation import tensor
from ...tensor.random import fork_rng, manual_seed
from ...tensor.tensor import Tensor
from ..creation import make_tensor
from .checks import *  # noqa: F403
from .checks import wrapSwapTensorsTest
from .equality import assert_equal
from .families import resolve
from .families import unchanged as _unchanged
from .families import unchanged_with as _unchanged_with
from .helpers import *  # noqa: F403
from .matrices import *  # noqa: F403
from .sparse_inputs import SparseInputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["TestCase", "freeze_rng_state", "gradcheck", "gradgradcheck", "make_tensor", "parametrize", "run_tests"]

NO_MULTIPROCESSING_SPAWN = NOTEST_CPU = False
MACOS_VERSION = 0.0
IS_WINDOWS, IS_MACOS, IS_LINUX = (sys.platform == p for p in ("win32", "darwin", "linux"))
TEST_NUMPY = TEST_WITH_LAPACK = True
TEST_WITH_SLOW = os.environ.get("PYTORCH_TEST_WITH_SLOW") == "1"
TEST_WITH_SLOW_GRADCHECK = os.environ.get("PYTORCH_TEST_WITH_SLOW_GRADCHECK") == "1"
SEED = 1234
GRADCHECK_NONDET_TOL = 1e-12
ACCELERATOR_TYPE: str | None = None
NATIVE_DEVICES = ("cpu", "cuda", "xpu", "meta", "mps", "mtia", "privateuseone")


def set_rng_seed(seed: int | None = None) -> None:
    """Seed our generator, Python's and NumPy's."""
    seed = SEED if seed is None else seed
    manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


@contextlib.contextmanager
def freeze_rng_state(*args: Any) -> Iterator[None]:
    """Inside, random numbers are drawn as ever; afterwards the generator is where it was."""
    with fork_rng(enabled=True):
        yield


@contextlib.contextmanager
def disable_gc() -> Iterator[None]:
    """No collection of cycles inside."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextlib.contextmanager
def set_default_dtype(dtype: Any) -> Iterator[None]:
    """Another default dtype inside."""
    before = _get_default_dtype()
    _set_default_dtype(dtype)
    try:
        yield
    finally:
        _set_default_dtype(before)


@contextlib.contextmanager
def set_warn_always_context(new_val: bool) -> Iterator[None]:
    """``set_warn_always(new_val)`` inside."""
    before = _settings.is_warn_always_enabled()
    _settings.set_warn_always(new_val)
    try:
        yield
    finally:
        _settings.set_warn_always(before)


# -- which tests run --------------------------------------------------------------------------------------------------


def __getattr__(name: str) -> Any:
    if name == "TestGradients":
        from .gradients import TestGradients

        return TestGradients
    return resolve(__name__, name)


skipIfNoLapack = skipIfMPS = skipIfXpu = skipIfRocm = skipIfCrossRef = skipIfSlowGradcheckEnv = skipIfNoSciPy = xfailIfTorchDynamo = _unchanged
skipIfTorchDynamo = skipIfTorchInductor = skipIfRocmArch = markDynamoStrictTest = _unchanged_with
skipIfWindows = unittest.skipIf(IS_WINDOWS, "does not run on Windows")
slowTest = unittest.skipIf(not TEST_WITH_SLOW, "test is slow; run with PYTORCH_TEST_WITH_SLOW to enable test")


def slowTestIf(condition: Any) -> Any:
    """``slowTest`` if ``condition`` holds."""
    return slowTest if condition else _unchanged


class decorateIf:
    """Decorator: of the tests that ``parametrize`` makes, those for whose parameters ``predicate`` holds get ``decorator``."""

    def __init__(self, decorator: Any, predicate: Callable[[dict[str, Any]], Any]) -> None:
        self.decorator, self.predicate = decorator, predicate

    def __call__(self, test: Any) -> Any:
        test.__dict__.setdefault("decorate_if", []).append(self)
        return test


class subtest:
    """One value of ``parametrize``, with a name and decorators of its own."""

    def __init__(self, arg_values: Any, name: str | None = None, decorators: Sequence[Any] = ()) -> None:
        self.arg_values, self.name, self.decorators = arg_values, name, tuple(decorators)


class parametrize:
    """Decorator: one test for each value. ``arg_str``: the parameter, or several with commas between."""

    def __init__(self, arg_str: str, arg_values: Any, name_fn: Callable[..., str] | None = None) -> None:
        self.names, self.values, self.name_fn = [n.strip() for n in arg_str.split(",") if n.strip()], list(arg_values), name_fn

    def __call__(self, test: Any) -> Any:
        inner: Any = getattr(test, "parametrize_cases", lambda: [Case("", {}, ())])

        def cases() -> Iterator[Case]:
            for (i, value), (name, given, decorators) in itertools.product(enumerate(self.values), inner()):
                own, arguments = self._case(i, value)
                more = value.decorators if isinstance(value, subtest) else ()
                yield Case("_".join(n for n in (own, name) if n), {**given, **arguments}, (*decorators, *more))

        test.parametrize_cases = cases
        return test

    def _case(self, i: int, value: Any) -> tuple[str, dict[str, Any]]:
        name = value.name if isinstance(value, subtest) else None
        value = value.arg_values if isinstance(value, subtest) else value
        row = [value] if len(self.names) == 1 else list(value)
        if name is None:
            name = self.name_fn(*row) if self.name_fn is not None else "_".join(_named(n, v, i) for n, v in zip(self.names, row))
        return name, dict(zip(self.names, row))


class reparametrize:
    """Decorator: the tests that ``parametrizer`` makes, each as ``adapter_fn(name, parameters)`` wants it.

    The function gives pairs of names and parameters; a test for which it gives None is left out.
    """

    def __init__(self, parametrizer: parametrize, adapter_fn: Callable[..., Any]) -> None:
        self.parametrizer, self.adapter_fn = parametrizer, adapter_fn

    def __call__(self, test: Any) -> Any:
        inner: Any = getattr(test, "parametrize_cases", lambda: [Case("", {}, ())])
        test.__dict__.pop("parametrize_cases", None)
        own = self.parametrizer(test).parametrize_cases

        def cases() -> Iterator[Case]:
            for case in own():
                for adapted in self.adapter_fn(case.name, case.given) or ():
                    if adapted is not None:
                        for name, given, decorators in inner():
                            joined = "_".join(n for n in (adapted[0], name) if n)
                            yield Case(joined, {**given, **adapted[1]}, (*decorators, *case.decorators))

        test.parametrize_cases = cases
        return test


class swap(parametrize):
    """Decorator: one test for each of ``swap_values``, with modules converted by swapping tensors or not."""

    def __init__(self, swap_values: Any) -> None:
        super().__init__("", [subtest((), f"swap_{value}", [wrapSwapTensorsTest(value)]) for value in swap_values])


class Case(NamedTuple):
    """One of the tests that ``parametrize`` makes of one."""

    name: str
    given: dict[str, Any]
    decorators: tuple[Any, ...]


def _assertGradAndGradgradChecks(test_case: Any, apply_fn: Any, inputs: Any, **kwargs: Any) -> None:
    test_case.assertTrue(gradcheck(apply_fn, inputs, **kwargs))
    test_case.assertTrue(gradgradcheck(apply_fn, inputs, **kwargs))


def _named(name: str, value: Any, i: int) -> str:
    if isinstance(value, (dtype, device)):
        return dtype_name(value)
    return f"{name}_{str(value).replace('.', '_')}" if isinstance(value, (bool, int, float, str)) else f"{name}{i}"


def dtype_name(dtype: Any) -> str:
    """``float32`` for ``torch.float32``."""
    return str(dtype).rpartition(".")[2]


def instantiate_parametrized_tests(cls: Any) -> Any:
    """Make the tests that ``parametrize`` describes."""
    for name, test in list(vars(cls).items()):
        cases = getattr(test, "parametrize_cases", None)
        if cases is None:
            continue
        delattr(cls, name)
        for case in cases():
            made = with_arguments(test, case.given, case.decorators)
            made.__name__ = f"{name}_{case.name}"
            setattr(cls, made.__name__, made)
    return cls


def with_arguments(test: Any, given: dict[str, Any], decorators: Sequence[Any] = ()) -> Any:
    """A test method that passes ``given`` to ``test``."""
    closeness = getattr(test, "closeness", None)

    @functools.wraps(test)
    def run(self: Any) -> Any:
        if closeness is not None:
            self.precision, self.rel_tol = closeness(self, given.get("dtype"))
        return test(self, **given)

    del run.__wrapped__  # type: ignore[attr-defined]  # its parameters are not those of a test
    for decorator in decorators:
        run = decorator(run)
    for wish in getattr(test, "decorate_if", ()):
        if wish.predicate(given):
            run = wish.decorator(run)
    return run


def run_tests(argv: Any = None) -> None:
    """Run the tests of the main program, with the options of ``unittest`` and of PyTorch's runner.

    Of the latter, ``--seed N``, ``--repeat N`` and ``--discover-tests`` do something; the others are accepted.
    """
    import argparse

    global SEED
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--repeat", type=int, default=1)
    for flag in ("subprocess", "accept", "test-bailouts", "use-pytest", "discover-tests", "rerun-disabled-tests", "showlocals"):
        parser.add_argument(f"--{flag}", action="store_true")
    for option in ("save-xml", "log-suffix", "run-parallel", "jit-executor", "import-slow-tests", "import-disabled-tests"):
        parser.add_argument(f"--{option}", nargs="?")
    options, rest = parser.parse_known_args(sys.argv[1:] if argv is None else argv[1:])
    argv = [sys.argv[0] if argv is None else argv[0], *rest]
    SEED = options.seed
    if options.discover_tests:
        _show_tests(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
        return
    for _ in range(options.repeat - 1):
        if not unittest.main(argv=argv, exit=False).result.wasSuccessful():
            sys.exit(1)
    unittest.main(argv=argv)


def _show_tests(suite: Any) -> None:
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            _show_tests(part)
        else:
            print(part)


def scoped_load_inline(test: Any) -> Any:
    """Tests that compile C++ against PyTorch's own library have nothing to link with."""
    return unittest.skip("C++ extensions are written against another library")(test)


# -- gradients --------------------------------------------------------------------------------------------------------


def gradcheck(fn: Any, inputs: Any, **kwargs: Any) -> bool:
    """``torch.autograd.gradcheck``, fast and with batched gradients unless the test says otherwise."""
    return _gradcheck(fn, inputs, **{"check_batched_grad": True, "fast_mode": not TEST_WITH_SLOW_GRADCHECK, **kwargs})


def gradgradcheck(fn: Any, inputs: Any, grad_outputs: Any = None, **kwargs: Any) -> bool:
    """``torch.autograd.gradgradcheck``, fast and with batched gradients unless the test says otherwise."""
    return _gradgradcheck(
        fn, inputs, grad_outputs, **{"check_batched_grad": True, "fast_mode": not TEST_WITH_SLOW_GRADCHECK, **kwargs}
    )  # fmt: skip


# -- the test case ----------------------------------------------------------------------------------------------------


class TestCase(SparseInputs, unittest.TestCase):
    """``unittest.TestCase`` whose ``assertEqual`` knows tensors, and whose tests begin with the same random numbers."""

    longMessage = True
    precision: float = 0
    rel_tol: float = 0

    def setUp(self) -> None:
        set_rng_seed()

    def assertEqual(  # type: ignore[override]
        self, x: Any, y: Any, msg: Any = None, *, atol: float | None = None, rtol: float | None = None, equal_nan: bool = True,
        exact_dtype: bool = True, exact_device: bool = False, exact_layout: bool = False, exact_stride: bool = False,
        exact_is_coalesced: bool = False,
    ) -> None:  # fmt: skip
        """Tensors, arrays and numbers up to rounding, containers item by item, everything else by ``==``.

        The tolerances are those of the dtype, or ``atol`` and ``rtol``, and at least ``self.precision`` and ``self.rel_tol``.
        ``msg`` is added to the text of the error, or makes a text of it.
        """
        text = (lambda found: f"{found}\n{msg}") if isinstance(msg, str) and self.longMessage else msg
        options = {
            "atol": atol, "rtol": rtol, "equal_nan": equal_nan, "check_dtype": exact_dtype, "check_stride": exact_stride,
            "check_layout": exact_layout, "check_device": exact_device, "allow_subclasses": True, "at_least": (self.rel_tol, self.precision),
        }  # fmt: skip
        assert_equal(x, y, text, options)

    def assertNotEqual(  # type: ignore[override]
        self, x: Any, y: Any, msg: Any = None, *, atol: float | None = None, rtol: float | None = None, **kwargs: Any
    ) -> None:  # fmt: skip
        """The opposite of ``assertEqual``."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(x, y, msg, atol=atol, rtol=rtol, **kwargs)

    def compare_with_numpy(self, torch_fn: Any, np_fn: Any, tensor_like: Any, device: Any = None, dtype: Any = None, **kwargs: Any) -> None:
        """Check that ``torch_fn`` of a tensor (or of numbers to make one of ``dtype`` from) gives what ``np_fn`` gives of its array."""
        import wengert as torch

        t = tensor_like if isinstance(tensor_like, torch.Tensor) else torch.tensor(tensor_like, device=device, dtype=dtype)
        expected = np_fn((t.float() if t.dtype is torch.bfloat16 else t).detach().cpu().numpy())
        found = torch_fn(t).cpu()
        if isinstance(expected, np.ndarray):
            expected = torch.from_numpy(expected.copy())
            if found.dtype is torch.bfloat16:
                found = found.float()
        self.assertEqual(expected, found, **kwargs)

    def assertEqualIgnoreType(self, *args: Any, **kwargs: Any) -> None:
        """``assertEqual`` that does not mind the dtype."""
        self.assertEqual(*args, **{"exact_dtype": False, **kwargs})

    def assertEqualBroadcasting(self, x: Any, y: Any, *args: Any, **kwargs: Any) -> None:
        """``assertEqual`` of ``x`` with ``y`` expanded to its shape."""
        y = y if isinstance(y, Tensor) else tensor([y] if not isinstance(y, (list, tuple)) else list(y), dtype=x.dtype)
        self.assertEqual(x, y.broadcast_to(x.shape), *args, **kwargs)

    def assertExpectedInline(self, actual: Any, expect: str, skip: int = 0) -> None:
        """``str(actual)`` is the text that stands in the test."""
        self.assertMultiLineEqual(str(actual), expect)

    def assertWarnsOnceRegex(self, category: Any, regex: str = "") -> Any:
        """The block gives exactly such a warning."""
        return self.assertWarnsRegex(category, regex)

    def assertNotWarn(self, callable: Callable[[], Any], msg: str = "") -> Any:
        """The call gives no warning."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = callable()
        self.assertTrue(len(caught) == 0, msg)
        return result

    def maybeWarnsRegex(self, category: Any, regex: str = "") -> Any:
        """The block may warn."""
        return contextlib.nullcontext()

    def assertExpectedRaises(self, exc_type: Any, callable: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """The call raises."""
        self.assertRaises(exc_type, callable, *args, **kwargs)

    @staticmethod
    def runWithPytorchAPIUsageStderr(code: str) -> str:
        """What a program writes to stderr, run under the name torch."""
        prefix = f"from {__name__.partition('.')[0]}.cli.alias import install; install()\n"
        done = subprocess.run([sys.executable, "-c", prefix + code], capture_output=True, check=False, timeout=300)
        return done.stderr.decode("ascii", "replace")


class NestedTensorTestCase(TestCase):
    """A test case of nested tensors, which are not here."""

    def setUp(self) -> None:
        self.skipTest("there are no nested tensors")


class NoTest:
    """Takes the place of ``TestCase`` where a file has nothing to test."""

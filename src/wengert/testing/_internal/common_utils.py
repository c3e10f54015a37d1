"""``TestCase`` and what else PyTorch's test files take from ``torch.testing._internal.common_utils``."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import unittest
from typing import TYPE_CHECKING, Any

from ...arrays.dtypes import get_default_dtype as _get_default_dtype
from ...arrays.dtypes import set_default_dtype as _set_default_dtype
from ...autograd.gradcheck import gradcheck as _gradcheck
from ...autograd.gradcheck import gradgradcheck as _gradgradcheck
from ...tensor.random import fork_rng
from ..creation import make_tensor
from . import testcase
from .checks import *  # noqa: F403
from .families import resolve
from .families import unchanged as _unchanged
from .families import unchanged_with as _unchanged_with
from .helpers import *  # noqa: F403
from .matrices import *  # noqa: F403
from .parametrized import (  # noqa: F401
    _TestParametrizer,
    decorateIf,
    dtype_name,
    instantiate_parametrized_tests,
    parametrize,
    reparametrize,
    subtest,
    swap,
)
from .testcase import TestCase, set_rng_seed, set_warn_always_context  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TestCase", "freeze_rng_state", "gradcheck", "gradgradcheck", "make_tensor", "parametrize", "run_tests"]

NO_MULTIPROCESSING_SPAWN = NOTEST_CPU = False
MACOS_VERSION = 0.0
IS_WINDOWS, IS_MACOS, IS_LINUX = (sys.platform == p for p in ("win32", "darwin", "linux"))
TEST_NUMPY = TEST_WITH_LAPACK = True
TEST_WITH_SLOW = os.environ.get("PYTORCH_TEST_WITH_SLOW") == "1"
TEST_WITH_SLOW_GRADCHECK = os.environ.get("PYTORCH_TEST_WITH_SLOW_GRADCHECK") == "1"
GRADCHECK_NONDET_TOL = 1e-12
ACCELERATOR_TYPE: str | None = None
NATIVE_DEVICES = ("cpu", "cuda", "xpu", "meta", "mps", "mtia", "privateuseone")


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


# -- which tests run --------------------------------------------------------------------------------------------------


def __getattr__(name: str) -> Any:
    if name == "TestGradients":
        from .gradients import TestGradients

        return TestGradients
    if name == "SEED":
        return testcase.SEED
    return resolve(__name__, name)


skipIfNoLapack = skipIfMPS = skipIfXpu = skipIfRocm = skipIfCrossRef = skipIfSlowGradcheckEnv = skipIfNoSciPy = xfailIfTorchDynamo = _unchanged
xfailIfLinux, xfailIfWindows = (unittest.expectedFailure if there else _unchanged for there in (IS_LINUX, IS_WINDOWS))
xfailIfPy312Plus = unittest.expectedFailure if sys.version_info >= (3, 12) else _unchanged
skipIfTorchDynamo = skipIfTorchInductor = skipIfRocmArch = markDynamoStrictTest = _unchanged_with
skipIfWindows = unittest.skipIf(IS_WINDOWS, "does not run on Windows")
slowTest = unittest.skipIf(not TEST_WITH_SLOW, "test is slow; run with PYTORCH_TEST_WITH_SLOW to enable test")


def slowTestIf(condition: Any) -> Any:
    """``slowTest`` if ``condition`` holds."""
    return slowTest if condition else _unchanged


def _assertGradAndGradgradChecks(test_case: Any, apply_fn: Any, inputs: Any, **kwargs: Any) -> None:
    test_case.assertTrue(gradcheck(apply_fn, inputs, **kwargs))
    test_case.assertTrue(gradgradcheck(apply_fn, inputs, **kwargs))


def run_tests(argv: Any = None) -> None:
    """Run the tests of the main program, with the options of ``unittest`` and of PyTorch's runner.

    Of the latter, ``--seed N``, ``--repeat N`` and ``--discover-tests`` do something; the others are accepted.
    """
    import argparse

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--seed", type=int, default=testcase.SEED)
    parser.add_argument("--repeat", type=int, default=1)
    for flag in ("subprocess", "accept", "test-bailouts", "use-pytest", "discover-tests", "rerun-disabled-tests", "showlocals"):
        parser.add_argument(f"--{flag}", action="store_true")
    for option in ("save-xml", "log-suffix", "run-parallel", "jit-executor", "import-slow-tests", "import-disabled-tests"):
        parser.add_argument(f"--{option}", nargs="?")
    options, rest = parser.parse_known_args(sys.argv[1:] if argv is None else argv[1:])
    argv = [sys.argv[0] if argv is None else argv[0], *rest]
    testcase.SEED = options.seed
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


class NestedTensorTestCase(TestCase):
    """A test case of nested tensors, which are not here."""

    def setUp(self) -> None:
        self.skipTest("there are no nested tensors")


class NoTest:
    """Takes the place of ``TestCase`` where a file has nothing to test."""

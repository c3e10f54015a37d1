"""``TestCase``: ``unittest``'s, which knows tensors."""

from __future__ import annotations

import contextlib
import functools
import gc
import logging
import random
import re
import subprocess
import sys
import types
import unittest
import unittest.mock
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._settings import is_warn_always_enabled, set_warn_always
from ...tensor.creation import tensor
from ...tensor.random import manual_seed
from ...tensor.tensor import Tensor
from .equality import assert_equal
from .helpers import skip_exception_type
from .sparse_inputs import SparseInputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SEED = 1234
_ANSI = re.compile(r"\x1b(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])")


def set_rng_seed(seed: int | None = None) -> None:
    """Seed our generator, Python's and NumPy's."""
    seed = SEED if seed is None else seed
    manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


@contextlib.contextmanager
def set_warn_always_context(new_val: bool) -> Iterator[None]:
    """Inside, warnings that are given once are given always, or not."""
    before = is_warn_always_enabled()
    set_warn_always(new_val)
    try:
        yield
    finally:
        set_warn_always(before)


class TestCase(SparseInputs, unittest.TestCase):
    """``unittest.TestCase`` whose ``assertEqual`` knows tensors, and whose tests begin with the same random numbers."""

    longMessage = True
    maxDiff = None
    precision: float = 0
    rel_tol: float = 0
    _ignore_not_implemented_error = False

    def __init__(self, method_name: str = "runTest", methodName: str = "runTest") -> None:
        name = method_name if methodName == "runTest" else methodName
        super().__init__(name)
        if self._ignore_not_implemented_error and hasattr(self, name):
            self.wrap_with_policy(name, lambda: skip_exception_type(NotImplementedError))

    def setUp(self) -> None:
        set_rng_seed()

    def wrap_with_policy(self, method_name: str, policy: Callable[[], Any]) -> None:
        """Run a test inside of the context that ``policy()`` gives."""
        setattr(self, method_name, self.wrap_method_with_policy(getattr(self, method_name), policy))

    def wrap_method_with_policy(self, method: Callable[..., Any], policy: Callable[[], Any]) -> Any:
        """A method that runs ``method`` inside of the context that ``policy()`` gives."""

        @functools.wraps(method)
        def inside(self: Any, *args: Any, **kwargs: Any) -> None:
            with policy():
                method(*args, **kwargs)

        return types.MethodType(inside, self)

    # -- what is equal ------------------------------------------------------------------------------------------------

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
            "check_layout": exact_layout, "check_device": exact_device, "check_is_coalesced": exact_is_coalesced, "allow_subclasses": True,
            "at_least": (self.rel_tol, self.precision),
        }  # fmt: skip
        assert_equal(x, y, text, options)

    def assertNotEqual(  # type: ignore[override]
        self, x: Any, y: Any, msg: Any = None, *, atol: float | None = None, rtol: float | None = None, **kwargs: Any
    ) -> None:  # fmt: skip
        """The opposite of ``assertEqual``."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(x, y, msg, atol=atol, rtol=rtol, **kwargs)

    def assertEqualIgnoreType(self, *args: Any, **kwargs: Any) -> None:
        """``assertEqual`` that does not mind the dtype."""
        self.assertEqual(*args, **{"exact_dtype": False, **kwargs})

    def assertEqualBroadcasting(self, x: Any, y: Any, *args: Any, **kwargs: Any) -> None:
        """``assertEqual`` of ``x`` with ``y``, of which numbers and sequences of them are expanded to the shape of ``x``."""
        if not isinstance(y, Tensor):
            y = x.new_ones(x.shape) * (tensor(y) if isinstance(y, Iterable) else y)
        self.assertEqual(x, y, *args, **kwargs)

    def assertEqualTypeString(self, x: Any, y: Any) -> None:
        """Two tensors have the same device and dtype, and both are sparse or none."""
        self.assertEqual((x.device, x.dtype, x.is_sparse), (y.device, y.dtype, y.is_sparse))

    def assertObjectIn(self, obj: Any, iterable: Iterable[Any]) -> None:
        """The very object is among these."""
        if not any(obj is one for one in iterable):
            raise AssertionError("object not found in iterable")

    def assertGreaterAlmostEqual(self, first: Any, second: Any, places: Any = None, msg: Any = None, delta: Any = None) -> None:
        """``first`` is at least ``second``, or as close to it as ``assertAlmostEqual`` wants."""
        if delta is not None and places is not None:
            raise TypeError("specify delta or places not both")
        if not first >= second:
            self.assertAlmostEqual(first, second, places, msg, delta)

    # -- functions and references -------------------------------------------------------------------------------------

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

    def compare_with_reference(self, torch_fn: Any, ref_fn: Any, sample_input: Any, **kwargs: Any) -> None:
        """Check that ``torch_fn`` of a sample gives what ``ref_fn`` gives of its arrays."""
        arrays = sample_input.numpy()
        found = torch_fn(sample_input.input, *sample_input.args, **sample_input.kwargs)
        self.assertEqual(found, ref_fn(arrays.input, *arrays.args, **arrays.kwargs), exact_device=False, **kwargs)

    # -- texts --------------------------------------------------------------------------------------------------------

    def assertExpectedInline(
        self, actual: Any, expect: str, skip: int = 0, ignore_comments: bool = False, ignore_empty_lines: bool = False
    ) -> None:  # fmt: skip
        """``str(actual)`` is the text that stands in the test; colours do not count."""

        def lines(text: str) -> str:
            rows = _ANSI.sub("", text).split("\n")
            kept = [r for r in rows if not (ignore_comments and r.strip().startswith("#")) and not (ignore_empty_lines and not r.strip())]
            return "\n".join(kept)

        self.assertMultiLineEqual(lines(expect), lines(str(actual)))

    def assertExpectedInlineMunged(
        self, exc_type: Any, callable: Callable[[], Any], expect: str, *, skip: int = 0, suppress_suffix: bool = True, post_munge: Any = None
    ) -> None:  # fmt: skip
        """The call raises with this text, in which lines and places do not count."""
        from .checks import munge_exc

        try:
            callable()
        except exc_type as error:
            text = munge_exc(error, suppress_suffix=suppress_suffix, skip=skip + 1)
            self.assertExpectedInline(post_munge(text) if post_munge else text, expect, skip + 1)
            return
        self.fail(msg="Did not raise when expected to")

    def assertExpected(self, s: str, subname: str | None = None) -> None:
        """Files of expected texts are not here: any text will do."""
        if not isinstance(s, str):
            raise TypeError("assertExpected is strings only")

    assertExpectedStripMangled = assertExpected

    def assertExpectedRaises(self, exc_type: Any, callable: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """The call raises."""
        kwargs.pop("subname", None)
        self.assertRaises(exc_type, callable, *args, **kwargs)

    # -- warnings and logs --------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def assertWarnsOnceRegex(self, category: Any, regex: str = "") -> Iterator[None]:
        """The block gives such a warning, also if it is one that is given once."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with set_warn_always_context(True):
                yield
        if not caught:
            self.fail("no warning caught")
        self.assertTrue(any(type(w.message) is category for w in caught))
        self.assertTrue(any(re.match(regex, str(w.message)) for w in caught), f"{regex!r}, {[str(w.message) for w in caught]}")

    def assertNotWarn(self, callable: Callable[[], Any], msg: str = "") -> None:
        """The call gives no warning."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with set_warn_always_context(True):
                callable()
        self.assertTrue(len(caught) == 0, msg)

    def maybeWarnsRegex(self, category: Any, regex: str = "") -> Any:
        """The block may warn."""
        return contextlib.nullcontext()

    def assertLogs(self, logger: Any = None, level: Any = None) -> Any:  # type: ignore[override]
        """``unittest``'s; without a logger, those of the library."""
        return super().assertLogs(logging.getLogger("torch") if logger is None else logger, level)

    def assertNoLogs(self, logger: Any = None, level: Any = None) -> Any:  # type: ignore[override]
        """``unittest``'s; without a logger, those of the library."""
        return super().assertNoLogs(logging.getLogger("torch") if logger is None else logger, level)

    def assertNoUnraisable(self, callable: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Nothing that the call frees raises while it dies."""
        seen: list[Any] = []
        collecting = gc.isenabled()
        gc.disable()
        try:
            with unittest.mock.patch("sys.unraisablehook", seen.append):
                callable(*args, **kwargs)
        finally:
            if collecting:
                gc.enable()
        self.assertEqual(len(seen), 0)

    # -- programs -----------------------------------------------------------------------------------------------------

    @staticmethod
    def run_process_no_exception(code: str, env: Any = None) -> tuple[bytes, bytes]:
        """What a program, run under the name torch, writes to stdout and to stderr."""
        prefix = f"from {__name__.partition('.')[0]}.cli.alias import install; install()\n"
        done = subprocess.run([sys.executable, "-c", prefix + code], capture_output=True, check=False, timeout=300, env=env)
        return done.stdout, done.stderr

    @staticmethod
    def runWithPytorchAPIUsageStderr(code: str) -> str:
        """What a program, run under the name torch, writes to stderr."""
        return TestCase.run_process_no_exception(code)[1].decode("ascii", "replace")

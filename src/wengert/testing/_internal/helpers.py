"""Files, threads and settings for tests; ``common_utils`` has them all."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import tempfile
import threading
import time
import types
import unittest
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..._settings import are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled, use_deterministic_algorithms
from ...tensor.tensor import Tensor

__all__ = [
    "BytesIOContext", "DeterministicGuard", "TemporaryDirectoryName", "TemporaryFileName", "clone_input_helper", "copy_func", "device_sleep",
    "first_sample", "get_cycles_per_ms", "is_iterable", "is_iterable_of_tensors", "load_tests", "noncontiguous_like",
    "raise_on_run_directly", "run_concurrently", "set_cwd", "skip_exception_type", "suppress_warnings", "wrapDeterministicFlagAPITest",
    "xfailIf", "xfail_inherited_tests",
]  # fmt: skip


# -- files ------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def TemporaryFileName(*args: Any, **kwargs: Any) -> Iterator[str]:
    """The name of a file that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:  # an open file could not be opened again everywhere
        handle, name = tempfile.mkstemp(kwargs.get("suffix"), dir=folder)
        os.close(handle)
        yield name


@contextlib.contextmanager
def TemporaryDirectoryName(suffix: str | None = None) -> Iterator[str]:
    """The name of a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(suffix=suffix) as folder:
        yield folder


class BytesIOContext(io.BytesIO):
    """Bytes in memory that stay readable after a ``with`` block."""

    def __exit__(self, *args: Any) -> None:
        pass


@contextlib.contextmanager
def set_cwd(path: str) -> Iterator[None]:
    """Another current folder inside."""
    before = os.getcwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


# -- tests ------------------------------------------------------------------------------------------------------------


def load_tests(loader: Any, tests: Any, pattern: Any) -> unittest.TestSuite:
    """What ``unittest`` calls to collect a file's tests: all of them."""
    suite = unittest.TestSuite()
    suite.addTests(tests)
    return suite


def raise_on_run_directly(file_to_call: str) -> None:
    """For files whose tests another file collects.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(f"This test file is not meant to be run directly, use:\n\n\tpython {file_to_call} TESTNAME\n\ninstead.")


def xfailIf(condition: Any) -> Callable[[Any], Any]:
    """The test is expected to fail if ``condition`` holds."""
    return unittest.expectedFailure if condition else lambda test: test


def copy_func(f: Any) -> Any:
    """A function like ``f`` that can be marked without marking ``f``."""
    made = types.FunctionType(f.__code__, f.__globals__, name=f.__name__, argdefs=f.__defaults__, closure=f.__closure__)
    made.__kwdefaults__ = f.__kwdefaults__
    return functools.update_wrapper(made, f)


def xfail_inherited_tests(tests: Iterable[str]) -> Callable[[Any], Any]:
    """Of the tests that a class inherits, these are expected to fail."""

    def mark(cls: Any) -> Any:
        for name in tests:
            setattr(cls, name, unittest.expectedFailure(copy_func(getattr(cls, name))))
        return cls

    return mark


def suppress_warnings(fn: Callable[..., Any]) -> Callable[..., None]:
    """Decorator: no warnings from this test."""

    @functools.wraps(fn)
    def quiet(*args: Any, **kwargs: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fn(*args, **kwargs)

    return quiet


@contextlib.contextmanager
def skip_exception_type(exc_type: Any) -> Iterator[None]:
    """An exception of this type skips the test."""
    try:
        yield
    except exc_type as error:
        raise unittest.SkipTest(f"not implemented: {error}") from error


# -- settings ---------------------------------------------------------------------------------------------------------


class DeterministicGuard:
    """Inside, ``torch.use_deterministic_algorithms`` as given."""

    def __init__(self, deterministic: bool, *, warn_only: bool = False, fill_uninitialized_memory: bool = True) -> None:
        self.wanted = (deterministic, warn_only)

    def __enter__(self) -> None:
        self.before = (are_deterministic_algorithms_enabled(), is_deterministic_algorithms_warn_only_enabled())
        use_deterministic_algorithms(self.wanted[0], warn_only=self.wanted[1])

    def __exit__(self, *error: Any) -> None:
        use_deterministic_algorithms(self.before[0], warn_only=self.before[1])


def wrapDeterministicFlagAPITest(fn: Callable[..., Any]) -> Callable[..., None]:
    """Decorator: the test may change the flag."""

    @functools.wraps(fn)
    def guarded(*args: Any, **kwargs: Any) -> None:
        with DeterministicGuard(are_deterministic_algorithms_enabled(), warn_only=is_deterministic_algorithms_warn_only_enabled()):
            fn(*args, **kwargs)

    return guarded


# -- time and threads -------------------------------------------------------------------------------------------------

_CYCLES_PER_MS = 1_000_000.0


def get_cycles_per_ms(device: str = "cpu") -> float:
    """How many of ``device_sleep``'s cycles make a millisecond."""
    return _CYCLES_PER_MS


def device_sleep(device: str, cycles: float) -> None:
    """Do nothing for so many cycles."""
    time.sleep(cycles / _CYCLES_PER_MS / 1e3)


def run_concurrently(worker_func: Any, num_threads: int | None = None, args: Any = (), kwargs: Any = None) -> list[Any]:
    """Call a function in several threads at once, or several functions in one thread each; their results.

    Raises:
        BaseException: the first that one of them raised.
    """
    workers = list(worker_func) if isinstance(worker_func, Iterable) else [worker_func] * (num_threads or 1)
    barrier, results, errors = threading.Barrier(len(workers)), [None] * len(workers), []

    def work(i: int) -> None:
        barrier.wait()
        try:
            results[i] = workers[i](*args, **(kwargs or {}))
        except BaseException as error:  # raised again below, in the caller's thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(workers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


# -- tensors ----------------------------------------------------------------------------------------------------------


def is_iterable(obj: Any) -> bool:
    """Whether one can go through ``obj``."""
    return isinstance(obj, Iterable)


def is_iterable_of_tensors(iterable: Any, include_empty: bool = False) -> bool:
    """Whether this is a collection (no tensor itself) that holds tensors only."""
    if isinstance(iterable, Tensor) or not hasattr(iterable, "__len__"):
        return False
    return include_empty if len(iterable) == 0 else all(isinstance(t, Tensor) for t in iterable)


def clone_input_helper(input: Any) -> Any:
    """Tensors cloned, in sequences too; anything else as it is."""
    if isinstance(input, Tensor):
        return input.clone()
    return tuple(map(clone_input_helper, input)) if isinstance(input, Sequence) else input


def first_sample(test: Any, samples: Iterable[Any]) -> Any:
    """The first of the samples; the test is skipped if there are none."""
    for sample in samples:
        return sample
    raise unittest.SkipTest("Skipped! Need at least 1 sample input for test.")


def noncontiguous_like(t: Any) -> Any:
    """A tensor with the values of ``t`` and gaps between them, in which there is something that nobody should read."""
    if not t.is_contiguous():
        return t
    filler: Any = float("nan") if t.dtype.is_floating_point or t.dtype.is_complex else str(t.dtype).endswith("bool") or 12
    result = t.new_empty((*t.shape, 2))
    result[..., 0] = filler
    result[..., 1] = t.detach()
    return result[..., 1].requires_grad_(t.requires_grad)

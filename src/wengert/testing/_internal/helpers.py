"""Files, threads and settings for tests; ``common_utils`` has them all."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import itertools
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..._settings import (
    are_deterministic_algorithms_enabled,
    get_float32_matmul_precision,
    is_deterministic_algorithms_warn_only_enabled,
    set_float32_matmul_precision,
    use_deterministic_algorithms,
)
from ..._settings import set_default_tensor_type as _set_default_tensor_type
from ...arrays.dtypes import NAMES, get_default_dtype, set_default_dtype
from ...tensor.creation import tensor
from ...tensor.tensor import Tensor

__all__ = [
    "BytesIOContext", "bytes_to_scalar", "chunk_list", "find_free_port", "gcIfJetson", "get_function_arglist", "get_tensors_from",
    "iter_indices", "lazy_skip_if", "numpy_to_torch_dtype", "numpy_to_torch_dtype_dict", "recover_orig_fp32_precision", "retry",
    "set_default_tensor_type", "shell", "skip_if_pytest", "torch_to_numpy_dtype_dict",
    "DeterministicGuard", "TemporaryDirectoryName", "TemporaryFileName", "clone_input_helper", "copy_func", "device_sleep",
    "first_sample", "get_cycles_per_ms", "is_iterable", "is_iterable_of_tensors", "load_tests", "noncontiguous_like",
    "raise_on_run_directly", "run_concurrently", "set_cwd", "skip_exception_type", "suppress_warnings", "wrapDeterministicFlagAPITest",
    "TrackedInputIter", "has_corresponding_torch_dtype", "patch_test_members", "skipIfNotRegistered", "skipIfPythonVersionMismatch",
    "skip_but_pass_in_sandcastle", "skip_but_pass_in_sandcastle_if", "split_if_not_empty", "xfailIf", "xfail_inherited_tests",
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


def skip_but_pass_in_sandcastle(reason: str) -> Callable[[Any], Any]:
    """The test is skipped."""
    return unittest.skip(reason)


def skip_but_pass_in_sandcastle_if(condition: Any, reason: str) -> Callable[[Any], Any]:
    """The test is skipped if ``condition`` holds."""
    return unittest.skipIf(condition, reason)


def skipIfNotRegistered(op_name: str, message: str) -> Callable[[Any], Any]:
    """For tests of Caffe2: they are skipped."""
    return unittest.skip("there is no Caffe2")


def skipIfPythonVersionMismatch(predicate: Callable[[int, int, int], Any]) -> Callable[[Any], Any]:
    """The test is skipped unless ``predicate(major, minor, micro)`` holds of Python's version."""
    return lazy_skip_if(lambda: not predicate(*sys.version_info[:3]), "Python version mismatch")


def patch_test_members(updates: dict[str, Any]) -> Callable[[Any], Any]:
    """While the test runs, its case has these attributes."""

    def mark(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def patched(self: Any, *args: Any, **kwargs: Any) -> Any:
            before = {name: getattr(self, name) for name in updates}
            try:
                self.__dict__.update(updates)
                return test(self, *args, **kwargs)
            finally:
                for name, value in before.items():
                    setattr(self, name, value)

        return patched

    return mark


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


class TrackedInputIter:
    """Goes through samples, each with the same random numbers, and gives them as ``item_callback(sample, index)`` wants them."""

    def __init__(
        self, child_iter: Iterable[Any], input_type_desc: str, item_callback: Any = None, track_callback: Any = None, set_seed: bool = True,
        restrict_to_index: int | None = None,
    ) -> None:  # fmt: skip
        self.child_iter, self.input_type_desc, self.item_callback = enumerate(child_iter), input_type_desc, item_callback
        self.set_seed, self.restrict_to_index = set_seed, restrict_to_index

    def __iter__(self) -> TrackedInputIter:
        return self

    def __next__(self) -> Any:
        from .testcase import set_rng_seed

        while True:
            if self.set_seed:
                set_rng_seed()
            index, item = next(self.child_iter)
            if self.restrict_to_index in (None, index):
                return item if self.item_callback is None else self.item_callback(item, index)


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


def iter_indices(tensor: Any) -> Iterable[Any]:
    """The index of each element: numbers if there is one dimension, else tuples."""
    if tensor.dim() == 0:
        return range(0)
    return range(tensor.size(0)) if tensor.dim() == 1 else itertools.product(*map(range, tensor.size()))


def get_tensors_from(args: Any, kwargs: Any) -> set[Any]:
    """The tensors among these arguments."""
    return {x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)}


# -- numbers ----------------------------------------------------------------------------------------------------------

numpy_to_torch_dtype_dict: dict[Any, Any] = {
    np.dtype(name).type: NAMES[name]
    for name in (
        "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64",
        "complex128",
    )
}  # fmt: skip
torch_to_numpy_dtype_dict: dict[Any, Any] = {
    **{ours: theirs for theirs, ours in numpy_to_torch_dtype_dict.items()},
    NAMES["bfloat16"]: np.float32,
}


def numpy_to_torch_dtype(np_dtype: Any) -> Any:
    """The dtype of tensors for one of NumPy's, given as a type or as a dtype."""
    return numpy_to_torch_dtype_dict[np_dtype if isinstance(np_dtype, type) else np.dtype(np_dtype).type]


def has_corresponding_torch_dtype(np_dtype: Any) -> bool:
    """Whether tensors have a dtype like this one of NumPy's."""
    return (np_dtype if isinstance(np_dtype, type) else np.dtype(np_dtype).type) in numpy_to_torch_dtype_dict


def bytes_to_scalar(byte_list: list[int], dtype: Any, device: Any) -> Any:
    """The number that has these bytes, as a 0-d tensor."""
    value = np.frombuffer(bytes(byte_list), torch_to_numpy_dtype_dict[dtype])[0]
    return tensor(value.item(), dtype=dtype, device=device)


# -- programs and tests -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def set_default_tensor_type(tensor_type: Any) -> Iterator[None]:
    """Another default type of tensors inside."""
    before = get_default_dtype()
    _set_default_tensor_type(tensor_type)
    try:
        yield
    finally:
        set_default_dtype(before)


def recover_orig_fp32_precision(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the test may change how exactly products of float32 are computed."""

    @functools.wraps(fn)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        before = get_float32_matmul_precision()
        try:
            return fn(*args, **kwargs)
        finally:
            set_float32_matmul_precision(before)

    return guarded


def retry(ExceptionToCheck: Any, tries: int = 3, delay: float = 3, skip_after_retries: bool = False) -> Callable[[Any], Any]:
    """Decorator: a test that raises this exception is tried again after ``delay`` seconds, ``tries`` times in all."""

    def mark(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def again(*args: Any, **kwargs: Any) -> Any:
            for _ in range(tries - 1):
                try:
                    return f(*args, **kwargs)
                except ExceptionToCheck as error:
                    print(f"{error}, Retrying in {delay} seconds...")
                    time.sleep(delay)
            try:
                return f(*args, **kwargs)
            except ExceptionToCheck as error:
                if skip_after_retries:
                    raise unittest.SkipTest(f"Skipping after {tries} consecutive {error}") from error
                raise

        return again

    return mark


def lazy_skip_if(condition_fn: Callable[[], bool], reason: str) -> Callable[[Any], Any]:
    """Decorator: the test is skipped if ``condition_fn()``, which is called when it runs."""

    def mark(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def asked(*args: Any, **kwargs: Any) -> Any:
            if condition_fn():
                raise unittest.SkipTest(reason)
            return f(*args, **kwargs)

        return asked

    return mark


def skip_if_pytest(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the test is skipped where pytest runs it."""
    return lazy_skip_if(lambda: "PYTEST_CURRENT_TEST" in os.environ, "does not work under pytest")(fn)


def gcIfJetson(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for small cards: leaves the test as it is."""
    return fn


def get_function_arglist(func: Any) -> list[str]:
    """The names of a function's positional parameters."""
    return inspect.getfullargspec(func).args


def split_if_not_empty(x: str) -> list[str]:
    """What stands between the commas."""
    return x.split(",") if x else []


def chunk_list(lst: Sequence[Any], nchunks: int) -> list[Any]:
    """Every ``nchunks``-th element from the first on, from the second on, and so forth."""
    return [lst[i::nchunks] for i in range(nchunks)]


def shell(command: Sequence[str], cwd: Any = None, env: Any = None, stdout: Any = None, stderr: Any = None, timeout: float | None = None) -> int:
    """Run a command; its exit code."""
    return subprocess.run(command, cwd=cwd, env=env, stdout=stdout, stderr=stderr, timeout=timeout, check=False).returncode


def find_free_port() -> int:
    """A port of this machine that nobody listens to."""
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return int(s.getsockname()[1])

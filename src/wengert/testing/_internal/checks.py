"""Checks that several test files share, and decorators that run a test in several ways; ``common_utils`` has them all."""

from __future__ import annotations

import functools
import operator
import os
import unittest
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

from ... import __future__ as conversion
from ...arrays.dtypes import NAMES, get_default_dtype
from ...tensor import Size
from ...tensor.creation import tensor
from ...tensor.surface import PLACES
from ...tensor.types import strided

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "AlwaysWarnTypedStorageRemoval", "CudaSyncGuard", "LazyVal", "ProfilingMode", "SwapTensorsGuard", "check_leaked_tensors", "coalescedonoff",
    "compare_equal_outs_and_grads", "do_test_dtypes", "do_test_empty_full", "download_file", "dtype2prec_DONTUSE", "find_library_location",
    "is_coalesced_indices", "is_navi3_arch", "make_lazy_class", "mock_wrapper", "munge_exc", "outs_and_grads", "wrapSwapTensorsTest",
]  # fmt: skip

dtype2prec_DONTUSE = {
    NAMES["float32"]: 1e-5, NAMES["float64"]: 1e-5, NAMES["float16"]: 1e-2, NAMES["bfloat16"]: 1e-1, NAMES["complex64"]: 1e-5,
    NAMES["complex128"]: 1e-5,
}  # fmt: skip


class ProfilingMode(Enum):
    """How PyTorch's compiler of TorchScript, which is not here, would run."""

    LEGACY = 1
    SIMPLE = 2
    PROFILING = 3


# -- dtypes and layouts -----------------------------------------------------------------------------------------------


def do_test_dtypes(self: Any, dtypes: Any, layout: Any, device: Any) -> None:
    """``zeros`` has the dtype, layout and device that it is asked for."""
    for dtype in dtypes:
        if dtype is not NAMES["float16"]:
            out = PLACES["torch"]["zeros"]((2, 3), dtype=dtype, layout=layout, device=device)
            self.assertIs(dtype, out.dtype)
            self.assertIs(layout, out.layout)
            self.assertEqual(device, out.device)


def do_test_empty_full(self: Any, dtypes: Any, layout: Any, device: Any) -> None:
    """``empty``, ``full`` and their relatives have what they are asked for, and what is ``full`` has its value."""
    torch, shape, int64 = PLACES["torch"], Size((2, 3)), NAMES["int64"]
    empty, full = torch["empty"], torch["full"]

    def check(t: Any, dtype: Any, layout: Any, value: Any = None, requires_grad: bool = False) -> None:
        self.assertEqual(shape, t.shape)
        self.assertIs(dtype, t.dtype)
        self.assertIs(layout, t.layout)
        self.assertEqual(t.requires_grad, requires_grad)
        if value is not None:
            self.assertEqual(t, t.new(shape).fill_(value))

    check(empty(shape), get_default_dtype(), strided)
    check(full(shape, -5.0), get_default_dtype(), strided, -5.0)
    options = {"device": device, "layout": layout}
    for dtype in dtypes:
        for grad in {dtype.is_floating_point, False}:
            v = empty(shape, dtype=dtype, requires_grad=grad, **options)
            check(v, dtype, layout, None, grad)
            check(empty(shape, out=v.new(), requires_grad=grad, **options), dtype, layout, None, grad)
            check(v.new_empty(shape), dtype, layout)
            check(v.new_empty(shape, dtype=int64, device=device), int64, layout)
            check(torch["empty_like"](v), dtype, layout)
            check(torch["empty_like"](v, dtype=int64, **options), int64, layout)
            if dtype is NAMES["float16"] or layout is not strided:
                continue
            v = full(shape, 3, dtype=dtype, requires_grad=grad, **options)
            check(v, dtype, layout, 3, grad)
            check(v.new_full(shape, 4), dtype, layout, 4)
            check(full(shape, 5, out=v.new(), requires_grad=grad, **options), dtype, layout, 5, grad)
            check(v.new_full(shape, 6, dtype=int64, device=device), int64, layout, 6)
            check(torch["full_like"](v, 7), dtype, layout, 7)
            check(torch["full_like"](v, 8, dtype=int64, **options), int64, layout, 8)


def coalescedonoff(f: Callable[..., Any]) -> Callable[..., None]:
    """Decorator: the test runs with ``coalesced=True``, and then with ``coalesced=False``."""

    @functools.wraps(f)
    def both(self: Any, *args: Any, **kwargs: Any) -> None:
        for coalesced in (True, False):
            f(self, *args, **kwargs, coalesced=coalesced)

    return both


def is_coalesced_indices(s: Any) -> bool:
    """Whether the indices of a sparse tensor are in order, and none is there twice."""
    columns = [tuple(column) for column in s._indices().t().tolist()]
    return columns == sorted(set(columns))


# -- swapping ---------------------------------------------------------------------------------------------------------


class SwapTensorsGuard:
    """Inside, modules are converted by swapping tensors, or not; None leaves it as it is."""

    def __init__(self, use_swap_tensors: bool | None) -> None:
        self.wanted = use_swap_tensors

    def __enter__(self) -> None:
        self.before = conversion.get_swap_module_params_on_conversion()
        if self.wanted is not None:
            conversion.set_swap_module_params_on_conversion(self.wanted)

    def __exit__(self, *error: object) -> None:
        conversion.set_swap_module_params_on_conversion(self.before)


def wrapSwapTensorsTest(swap: bool | None = None) -> Callable[[Any], Any]:
    """Decorator: the test runs in a ``SwapTensorsGuard``."""

    def mark(test: Callable[..., Any]) -> Callable[..., None]:
        @functools.wraps(test)
        def guarded(*args: Any, **kwargs: Any) -> None:
            with SwapTensorsGuard(swap):
                test(*args, **kwargs)

        return guarded

    return mark


# -- files and the process ----------------------------------------------------------------------------------------------


def find_library_location(lib_name: str) -> Path:
    """Where a library of PyTorch's own build would be: nothing is there."""
    return Path(__file__).resolve().parents[2] / "lib" / lib_name


def download_file(url: str, binary: bool = True) -> str:
    """The name of a local copy of a file for tests, fetched if it has not been before; without a network the test is skipped."""
    import tempfile
    from urllib.error import URLError
    from urllib.parse import urlsplit
    from urllib.request import urlopen

    path = Path(tempfile.gettempdir()) / "wengert_test_data" / os.path.basename(urlsplit(url)[2])
    if path.exists():
        return str(path)
    try:
        data = urlopen(url, timeout=15).read()
    except (URLError, OSError) as error:
        raise unittest.SkipTest(f"could not download test file '{url}'") from error
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return str(path)


class CudaSyncGuard:
    """A setting of CUDA's inside; there is no CUDA device."""

    def __init__(self, sync_debug_mode: Any) -> None:
        self.mode = sync_debug_mode

    def __enter__(self) -> CudaSyncGuard:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class AlwaysWarnTypedStorageRemoval:
    """Inside, a use of a typed storage warns every time. Here it never warns."""

    def __init__(self, always_warn: bool) -> None:
        if not isinstance(always_warn, bool):
            raise AssertionError(f"always_warn must be a bool, got {type(always_warn)}")

    def __enter__(self) -> AlwaysWarnTypedStorageRemoval:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def is_navi3_arch() -> bool:
    """``False``: there is no such card."""
    return False


# -- objects ----------------------------------------------------------------------------------------------------------


def mock_wrapper(method: Callable[..., Any]) -> Any:
    """A method that does what ``method`` does, and tells its arguments to the mock object ``.mock``."""
    mock = MagicMock()

    @functools.wraps(method)
    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        mock(*args, **kwargs)
        return method(self, *args, **kwargs)

    watched.mock = mock  # type: ignore[attr-defined]
    return watched


def make_lazy_class(cls: Any) -> Any:
    """Make of ``cls`` a class of values that a function, given to the constructor, makes when they are first needed."""

    def value(self: Any) -> Any:
        if self._cb is not None:
            self._value, self._cb = self._cb(), None
        return self._value

    def forward(f: Callable[..., Any]) -> Any:
        return lambda self, *others: f(value(self), *others)

    def init(self: Any, cb: Callable[[], Any]) -> None:
        self._cb, self._value = cb, None

    cls.__init__ = init
    for name in _LAZY.split():
        builtin: Any = {"bool": bool, "int": int, "divmod": divmod}.get(name)
        setattr(cls, f"__{name}__", forward(builtin or getattr(operator, f"__{name}__")))
    return cls


# The operators of a lazy value.
_LAZY = "add sub mul truediv floordiv mod divmod pow lshift rshift and or xor neg pos abs invert eq ne lt le gt ge bool int index"


@make_lazy_class
class LazyVal:
    """A value that is made when it is first needed."""


def munge_exc(e: Any, *, suppress_suffix: bool = True, suppress_prefix: bool = True, file: str | None = None, skip: int = 0) -> str:
    """The text of an exception without the lines that differ from machine to machine."""
    import re

    text = re.sub(r'  File "[^"]+([/\\][^"/\\]+)", line \d+', r'  File "\1", line N', str(e))
    return re.sub(r"\n*Set TORCH\w+=[^\n]*", "", text) if suppress_suffix else text


def outs_and_grads(fn: Callable[..., Any], graph_inps: Any, inps: Any) -> tuple[Any, Any]:
    """The outputs of ``fn``, and the gradients of the sum of them for ``inps``, which are then forgotten."""
    from ...utils._pytree import tree_leaves

    outs = fn(*graph_inps)
    for out in tree_leaves(outs):
        if getattr(out, "requires_grad", False):
            out.sum().backward(retain_graph=True)
    leaves = tree_leaves(inps)
    grads = [inp.grad for inp in leaves]
    for inp in leaves:
        inp.grad = None
    return outs, grads


def compare_equal_outs_and_grads(test: Any, m1: Any, m2: Any, inps: Any) -> None:
    """Both functions have the same outputs and gradients."""
    for one, other in zip(outs_and_grads(m1, inps, inps), outs_and_grads(m2, inps, inps)):
        test.assertEqual(one, other)


class check_leaked_tensors:
    """A block after which every tensor that it made is gone, without the collector of cycles."""

    def __init__(self, limit: int = 1, matched_type: Any = None) -> None:
        self.limit, self.kind = limit, matched_type

    def __enter__(self) -> Any:
        import gc

        gc.collect()
        gc.disable()
        self.before = {id(t) for t in self._alive()}
        self.leaked: list[Any] = []
        return self.leaked

    def __exit__(self, *error: object) -> None:
        import gc

        gc.enable()
        self.leaked += [t for t in self._alive() if id(t) not in self.before][: self.limit]

    def _alive(self) -> Iterator[Any]:
        import gc

        return (t for t in gc.get_objects() if isinstance(t, self.kind or type(tensor(0))))

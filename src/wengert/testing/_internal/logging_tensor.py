"""Tensors and a mode that log the operators they meet, as lines such as ``$1: f32[2] = torch._ops.aten.mul.Tensor($0, 2)``."""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import weakref
from typing import TYPE_CHECKING, Any

from ...tensor import Tensor
from ...tensor.dispatch import enable_reentrant_dispatch
from ...utils._python_dispatch import TorchDispatchMode
from ...utils._pytree import tree_map

if TYPE_CHECKING:
    from collections.abc import Iterator

_logger = logging.getLogger("LoggingTensor")

_ABBREVIATIONS = {
    "bfloat16": "bf16", "float64": "f64", "float32": "f32", "float16": "f16", "complex64": "c64", "complex128": "c128", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "bool": "b8", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}  # fmt: skip


class LoggingTensor(Tensor):
    """A tensor around another, ``elem``; every operator on it is logged and runs on what it holds."""

    __slots__ = ["elem"]
    elem: Tensor
    context: Any = contextlib.nullcontext

    @staticmethod
    def __new__(cls: Any, elem: Tensor, *args: Any, **kwargs: Any) -> Any:
        made = Tensor._make_wrapper_subclass(
            cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(), dtype=elem.dtype, layout=elem.layout,
            device=elem.device, requires_grad=kwargs.get("requires_grad", False),
        )  # fmt: skip
        made.elem = elem.detach() if made.requires_grad else elem
        return made

    def __repr__(self) -> str:  # type: ignore[override]
        return super().__repr__(tensor_contents=f"{self.elem}")  # type: ignore[call-arg]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}

        def unwrap(e: Any) -> Any:
            return e.elem if isinstance(e, cls) else e

        def wrap(e: Any) -> Any:
            return cls(e) if isinstance(e, Tensor) else e

        with cls.context():
            answer = tree_map(wrap, func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs)))
        _logger.info(f"{func.__module__}.{func.__name__}", args, kwargs, answer)
        return answer


class LoggingTensorMode(TorchDispatchMode):
    """A mode that logs every operator below the tape."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        answer = func(*args, **kwargs)
        _logger.info(f"{func.__module__}.{func.__name__}", args, kwargs, answer)
        return answer


class LoggingTensorReentrant(LoggingTensor):
    """A logging tensor whose operators on what it holds are recorded, and may dispatch again."""

    context: Any = enable_reentrant_dispatch


class LoggingTensorHandler(logging.Handler):
    """Writes the records as lines in which tensors are numbered in the order of their first mention."""

    def __init__(self, log_list: list[str], use_shortid_for_all_tensors: bool = False, with_type: bool = False, tracebacks_list: Any = None) -> None:
        super().__init__()
        self.log_list, self.with_type, self.tracebacks_list = log_list, with_type, tracebacks_list
        self.use_shortid_for_all_tensors = use_shortid_for_all_tensors
        self._numbers: dict[int, tuple[Any, int]] = {}  # by identity: comparing tensors is an operator
        self._next = 0

    def _shortid(self, t: Any) -> int:
        known = self._numbers.get(id(t))
        if known is None or known[0]() is not t:
            known = self._numbers[id(t)] = (weakref.ref(t), self._next)
            self._next += 1
        return known[1]

    def _format(self, a: Any, with_type: bool = False) -> Any:
        if not isinstance(a, Tensor if self.use_shortid_for_all_tensors else LoggingTensor):
            return repr(a)
        told = ""
        if with_type and self.with_type:
            name = str(a.dtype).removeprefix("torch.")
            told = f": {_ABBREVIATIONS.get(name, name)}[{', '.join(map(str, a.shape))}]"
        return f"${self._shortid(a)}{told}"

    def _text(self, row: Any) -> str:
        return str(tree_map(self._format, row))

    def emit(self, record: logging.LogRecord) -> None:
        args, kwargs, answer = record.args  # type: ignore[misc]
        told = ", ".join(itertools.chain((self._text(a) for a in args), (f"{k}={self._text(v)}" for k, v in kwargs.items())))  # type: ignore[union-attr]
        made = tree_map(functools.partial(self._format, with_type=True), answer)
        self.log_list.append(f"{made} = {record.msg}({told})")
        if self.tracebacks_list is not None:
            self.tracebacks_list.append(getattr(record, "traceback", None))


def log_input(name: str, var: object) -> None:
    """Log that ``var`` is an input of that name."""
    _logger.info("input", (name,), {}, var)


@contextlib.contextmanager
def capture_logs(is_mode: bool = False, python_tb: bool = False, script_tb: bool = False, cpp_tb: bool = False) -> Iterator[Any]:
    """Collect, in the list that it gives, what such tensors (or, with ``is_mode``, a mode) log."""
    lines: list[str] = []
    traces: list[Any] | None = [] if python_tb or script_tb or cpp_tb else None
    handler = LoggingTensorHandler(lines, with_type=True, use_shortid_for_all_tensors=is_mode, tracebacks_list=traces)
    before = _logger.level, _logger.propagate
    _logger.addHandler(handler)
    _logger.setLevel(logging.INFO)
    _logger.propagate = False
    try:
        yield lines if traces is None else (lines, traces)
    finally:
        _logger.removeHandler(handler)
        _logger.setLevel(before[0])
        _logger.propagate = before[1]


@contextlib.contextmanager
def capture_logs_with_logging_tensor_mode(python_tb: bool = False, script_tb: bool = False, cpp_tb: bool = False) -> Iterator[Any]:
    """``capture_logs`` with a mode."""
    with LoggingTensorMode(), capture_logs(True, python_tb, script_tb, cpp_tb) as logs:
        yield logs

"""Tensors and a mode that log the operators they meet."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

from ...tensor import Tensor
from ...utils._python_dispatch import TorchDispatchMode

if TYPE_CHECKING:
    from collections.abc import Iterator

_logger = logging.getLogger("LoggingTensor")


class LoggingTensor(Tensor):
    """A tensor that logs what is called with it. ``requires_grad``: as ``elem`` unless given."""

    def __new__(cls, elem: Tensor, *args: Any, **kwargs: Any) -> Any:
        made = elem.detach().as_subclass(cls)
        made.elem = elem
        return made.requires_grad_(kwargs.get("requires_grad", elem.requires_grad))

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        _logger.info(getattr(func, "__name__", str(func)), args, kwargs or {})
        return super().__torch_function__(func, types, args, kwargs)


class LoggingTensorMode(TorchDispatchMode):
    """A mode that logs every operator below the tape."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        _logger.info(str(func), args, kwargs or {}, result)
        return result


class _Lines(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self.lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.msg)


@contextlib.contextmanager
def capture_logs(is_mode: bool = False) -> Iterator[list[str]]:
    """Collect, in the list that it gives, what such tensors (or, with ``is_mode``, a mode entered here) log."""
    lines: list[str] = []
    handler, before = _Lines(lines), (_logger.level, _logger.propagate)
    _logger.addHandler(handler)
    _logger.setLevel(logging.INFO)
    _logger.propagate = False
    try:
        with LoggingTensorMode() if is_mode else contextlib.nullcontext():
            yield lines
    finally:
        _logger.removeHandler(handler)
        _logger.level, _logger.propagate = before


def capture_logs_with_logging_tensor_mode() -> Any:
    """``capture_logs`` with a mode."""
    return capture_logs(True)

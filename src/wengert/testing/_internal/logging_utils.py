"""Tests of what the package logs."""

from __future__ import annotations

import contextlib
import functools
import logging
from typing import TYPE_CHECKING, Any

from .common_utils import TestCase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextlib.contextmanager
def log_settings(**levels: int | None) -> Iterator[list[logging.LogRecord]]:
    """Inside, ``torch.NAME`` (or, for ``all``, everything) logs from the given level on; the records are in the list."""
    handler = _Records()
    loggers = [(logging.getLogger("torch" if name == "all" else f"torch.{name}"), level) for name, level in levels.items() if level is not None]
    before = [(logger.level, logger.propagate) for logger, _ in loggers]
    for logger, level in loggers:
        logger.addHandler(handler)
        logger.setLevel(level)
        logger.propagate = False
    try:
        yield handler.records
    finally:
        for (logger, _), (level, propagate) in zip(loggers, before):
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate


def make_logging_test(**levels: int | None) -> Callable[[Any], Any]:
    """Decorator: the test runs under ``log_settings`` and gets the list of records as its last argument."""

    def wrap(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            with log_settings(**levels) as records:
                test(self, *args, records, **kwargs)

        return run

    return wrap


class LoggingTestCase(TestCase):
    """A ``TestCase`` with a few questions about records."""

    def hasRecord(self, records: list[logging.LogRecord], text: str) -> bool:
        """Whether a record has this text."""
        return any(text in r.getMessage() for r in records)

    def getRecord(self, records: list[logging.LogRecord], text: str) -> logging.LogRecord:
        """The one record with this text."""
        found = [r for r in records if text in r.getMessage()]
        self.assertEqual(len(found), 1)
        return found[0]

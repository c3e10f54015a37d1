"""Tests of what is logged: each runs once with the settings in the environment, and once with them given in a call."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import unittest.mock
from typing import TYPE_CHECKING, Any

from ... import _logging
from .common_utils import TestCase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SIGNS = {logging.DEBUG: "+", logging.INFO: "", logging.ERROR: "-"}


@contextlib.contextmanager
def preserve_log_state() -> Iterator[None]:
    """Inside, nothing is logged until somebody asks for it; afterwards what was logged before."""
    before = dict(_logging._levels)
    _logging._apply({})
    try:
        yield
    finally:
        _logging._apply(before)


@contextlib.contextmanager
def log_settings(settings: str) -> Iterator[None]:
    """Inside, logging follows ``settings``, as if they were in ``TORCH_LOGS``."""
    with preserve_log_state(), unittest.mock.patch.dict(os.environ, {"TORCH_LOGS": settings}):
        _logging._init_logs()
        yield


@contextlib.contextmanager
def log_api(**kwargs: Any) -> Iterator[None]:
    """Inside, logging is as ``set_logs(**kwargs)`` says."""
    with preserve_log_state():
        _logging.set_logs(**kwargs)
        yield


def kwargs_to_settings(**kwargs: Any) -> str:
    """The text for ``TORCH_LOGS`` that says the same as ``set_logs(**kwargs)``."""
    words = []
    for name, level in kwargs.items():
        for key, value in level.items() if isinstance(level, dict) else ((name, level),):
            if not isinstance(value, bool) and value not in _SIGNS:
                raise ValueError("Invalid value for setting")
            words.append(key if isinstance(value, bool) else _SIGNS[value] + key)
    return ",".join(words)


def make_logging_test(**kwargs: Any) -> Callable[[Any], Any]:
    """Decorator of a test that takes the list of records: it runs with these logs on, either way."""

    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def run(self: Any) -> None:
            for context in (log_settings(kwargs_to_settings(**kwargs)) if kwargs else contextlib.nullcontext(), log_api(**kwargs)):
                records: list[logging.LogRecord] = []
                with context, self._handler_watcher(records):
                    test(self, records)

        del run.__wrapped__  # type: ignore[attr-defined]  # it takes no records
        return run

    return decorate


def make_settings_test(settings: str) -> Callable[[Any], Any]:
    """Decorator of a test that takes the list of records: it runs with this text in ``TORCH_LOGS``."""

    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def run(self: Any) -> None:
            records: list[logging.LogRecord] = []
            with log_settings(settings), self._handler_watcher(records):
                test(self, records)

        del run.__wrapped__  # type: ignore[attr-defined]
        return run

    return decorate


class LoggingTestCase(TestCase):
    """A test case that watches the handlers of the loggers."""

    def hasRecord(self, records: Any, m: str) -> bool:
        """Whether some record contains the text."""
        return any(m in r.getMessage() for r in records)

    def getRecord(self, records: Any, m: str) -> Any:
        """The one record that contains the text."""
        found = [r for r in records if m in r.getMessage()]
        if len(found) != 1:
            self.fail(f"multiple matching records: {found}" if found else f"did not find record with {m} among {records}")
        return found[0]

    @contextlib.contextmanager
    def _handler_watcher(self, record_list: list[logging.LogRecord]) -> Iterator[None]:
        watcher = logging.Handler()
        watcher.emit = record_list.append  # type: ignore[assignment]
        loggers = [logging.getLogger(name) for name in _logging._levels]
        for logger in loggers:
            logger.addHandler(watcher)
        try:
            yield
        finally:
            for logger in loggers:
                logger.removeHandler(watcher)

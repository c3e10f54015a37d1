"""The pytest plugin of wengert: ``--wengert-explain`` and the fixture ``wengert_explain``.

pytest loads this file wherever wengert is installed. Nothing of wengert is imported before one of the two is used: see
``wengert.diagnose.pytest_plugin``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

FIXTURE = "wengert_explain"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("wengert", "diagnosis by wengert")
    group.addoption("--wengert-explain", action="store_true",
        help="diagnose what each test trains with wengert, and show the findings at the end")
    group.addoption("--wengert-explain-json", metavar="FILE",
        help="write the findings of each test as JSON (implies --wengert-explain)")


def pytest_configure(config: pytest.Config) -> None:
    """With the option, every test is diagnosed."""
    if config.getoption("--wengert-explain") or config.getoption("--wengert-explain-json"):
        from wengert.diagnose.pytest_plugin import Summary

        config.pluginmanager.register(Summary(config), "wengert-explain")


def _wanted(item: Any) -> bool:
    return FIXTURE in getattr(item, "fixturenames", ()) or item.config.pluginmanager.has_plugin("wengert-explain")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The diagnosis begins before the fixtures, which make models."""
    if _wanted(item):
        from wengert.diagnose.pytest_plugin import begin

        begin(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """A test with the fixture fails on findings."""
    found = yield
    if FIXTURE in getattr(item, "fixturenames", ()):
        from wengert.diagnose.pytest_plugin import check

        check(item)
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """The diagnosis ends with the test, before its exception is shown; the report takes the findings along."""
    if not _wanted(item):
        return (yield)
    from wengert.diagnose.pytest_plugin import found_in

    findings = found_in(item, call)
    report = yield
    if findings is not None:
        report.wengert_explain = findings
    return report


@pytest.fixture
def wengert_explain(request: pytest.FixtureRequest) -> Any:
    """The test is diagnosed, and fails on findings of severity warning and above; gives the ``Report``."""
    from wengert.diagnose.pytest_plugin import report_of

    return report_of(request.node)

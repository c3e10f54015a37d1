"""What the pytest plugin does when it is used; pytest loads ``pytest_wengert``, which imports this file then."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from . import sessions
from .findings import SEVERITIES
from .outputs.terminal import rows_of
from .outputs.wording import counted

if TYPE_CHECKING:
    from .findings import Report
    from .watching import Watching

WATCHING: pytest.StashKey[Watching | None] = pytest.StashKey()
ENDED: pytest.StashKey[bool] = pytest.StashKey()


def begin(item: pytest.Item) -> None:
    """Begin the diagnosis of a test; not inside of another, as under ``wengert run --explain -m pytest``."""
    item.stash[ENDED] = False
    if sessions.current is not None and not sessions.current.gives_way:
        item.stash[WATCHING] = None
        return
    item.stash[WATCHING] = sessions.begin(gives_way=True)


def report_of(item: pytest.Item) -> Report:
    """The report of a test, which fills as it runs."""
    watching = item.stash[WATCHING]
    if watching is None:
        pytest.fail("the fixture wengert_explain cannot be used inside of another diagnosis", pytrace=False)
    return watching.report


def end(item: pytest.Item, error: BaseException | None = None) -> Report | None:
    """End the diagnosis of a test, if that has not been done; its report."""
    watching = item.stash.get(WATCHING, None)
    if watching is None:
        return None
    if not item.stash[ENDED]:
        item.stash[ENDED] = True
        return sessions.end(error, watching)
    return watching.report


def check(item: pytest.Item) -> None:
    """Fail the test if there are findings."""
    report = end(item)
    if report is not None and report.at_least("warning"):
        pytest.fail(f"wengert has found what to fix:\n\n{text_of(report)}", pytrace=False)


def found_in(item: pytest.Item, call: pytest.CallInfo[None]) -> dict[str, Any] | None:
    """What was found in a test, once: after its call, or after a setup without one."""
    error = call.excinfo.value if call.excinfo is not None else None
    if call.when == "teardown" or (call.when == "setup" and error is None):
        return None
    report = end(item, error)
    if report is None:
        return None
    return {"json": report.as_json(), "text": text_of(report)}


def text_of(report: Report) -> str:
    """The findings of severity warning and above; empty without."""
    return "\n\n".join("\n".join(rows_of(finding)) for finding in report.at_least("warning"))


class Summary:
    """Collects the findings of all tests, those of pytest-xdist's workers too, and shows them at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self.path = config.getoption("--wengert-explain-json")
        self.worker = hasattr(config, "workerinput")
        self.tests: dict[str, Any] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Take in what a test's report brings."""
        found = getattr(report, "wengert_explain", None)
        if found is not None:
            self.tests[report.nodeid] = found

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show the findings, but for hints, which are counted."""
        if self.worker:
            return
        terminalreporter.section("wengert: what to fix")
        shown = {test: found["text"] for test, found in self.tests.items() if found["text"]}
        for test, text in shown.items():
            terminalreporter.line(test, bold=True)
            for row in text.strip("\n").splitlines():
                terminalreporter.line(f"  {row}".rstrip())
            terminalreporter.line("")
        summaries = [found["json"]["summary"] for found in self.tests.values()]
        counts = [(sum(summary[s] for summary in summaries), s) for s in reversed(SEVERITIES)]
        trained = sum(bool(summary["backwards"]) for summary in summaries)
        terminalreporter.line(f"{', '.join(counted(n, s, s if s == 'info' else '') for n, s in counts)}; "
            f"{trained} of {counted(len(summaries), 'test')} computed gradients with wengert")

    def pytest_sessionfinish(self) -> None:
        """Write them."""
        if self.path is None or self.worker:
            return
        tests = [{"test": test, **{k: v for k, v in found["json"].items() if k != "schema"}}
            for test, found in self.tests.items()]
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump({"schema": 1, "tests": tests}, file, indent=1)
            file.write("\n")

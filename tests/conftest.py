"""What all tests share: hypothesis profiles, the libraries that a test runs on, and the rule for
tests that need torch.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from wengert.arrays import kernels
from wengert.graph.modes import RECORD, modes, set_modes

if TYPE_CHECKING:
    from collections.abc import Generator

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)
settings.register_profile("thorough", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

if not kernels.available:  # which has been said now, and need not be said by each process that a test starts
    os.environ["WENGERT_NATIVE"] = "0"

PARITY = Path(__file__).parent / "parity"
HAS_TORCH = importlib.util.find_spec("torch") is not None
REQUIRED = os.environ.get("WENGERT_REQUIRE_PARITY") == "1"


@pytest.fixture(autouse=True)
def modes_as_before() -> Generator[None]:
    """No test leaves a mode on: those after it would fail in its place."""
    yield
    if modes() is not RECORD:
        set_modes(RECORD)
        pytest.fail("the test has left a mode on")


@pytest.fixture(autouse=True, scope="module")
def out_of_sight() -> None:
    """What other modules have left is kept out of the cycle collector's sight, as the tests are: it grows with them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(params=["wengert", pytest.param("torch", marks=pytest.mark.parity)])
def torch(request: pytest.FixtureRequest) -> Any:
    """Run a test on wengert and, where it is installed, on PyTorch: what PyTorch does is what is asserted."""
    return importlib.import_module(request.param)


@pytest.fixture
def forward_ad(torch: Any) -> Any:
    """``torch.autograd.forward_ad``, of the library that the test runs on."""
    return importlib.import_module(f"{torch.__name__}.autograd.forward_ad")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the stress tests too (marked slow: minutes each)")


def pytest_configure(config: pytest.Config) -> None:
    # as in a job in the background: tests that press Ctrl-C would hang
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if REQUIRED and not HAS_TORCH:
        raise pytest.UsageError("WENGERT_REQUIRE_PARITY=1, but torch is not installed: pip install torch==2.13.0")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave the parity tests out where there is no torch to compare with."""
    return True if not HAS_TORCH and collection_path.is_relative_to(PARITY) else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the parity tests, before ``-m`` chooses by marks."""
    if item.path.is_relative_to(PARITY):
        item.add_marker(pytest.mark.parity)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slow") and not config.getoption("--slow"):
            item.add_marker(pytest.mark.skip(reason="a stress test: run it with --slow"))
        if item.get_closest_marker("parity") and not HAS_TORCH:
            item.add_marker(pytest.mark.skip(reason="torch is not installed"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the tests themselves out of the cycle collector's sight, which would walk a million objects in each run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def refuse(report: Any, skipped: bool) -> Any:
    """Fail what a test skips by itself for want of torch: the mark says that a test needs it, and chooses where it
    runs.
    """
    if skipped and "could not import 'torch" in str(report.longrepr):
        report.outcome, report.longrepr = ("failed",
            f"mark it with pytest.mark.parity in place of a skip: {report.longrepr}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    return refuse(report, report.skipped)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    return refuse(report, report.skipped)

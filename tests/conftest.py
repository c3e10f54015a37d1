"""What all tests share: hypothesis profiles, and the rule for tests that compare with torch."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50)
settings.register_profile("thorough", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

PARITY = Path(__file__).parent / "parity"
HAS_TORCH = importlib.util.find_spec("torch") is not None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the stress tests too (marked slow: minutes each)")


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("WENGERT_REQUIRE_PARITY") == "1" and not HAS_TORCH:
        raise pytest.UsageError("WENGERT_REQUIRE_PARITY=1, but torch is not installed: pip install torch==2.13.0")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave the parity tests out where there is no torch to compare with."""
    return True if not HAS_TORCH and collection_path.is_relative_to(PARITY) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("slow") and not config.getoption("--slow"):
            item.add_marker(pytest.mark.skip(reason="a stress test: run it with --slow"))
        if item.path.is_relative_to(PARITY):
            item.add_marker(pytest.mark.parity)

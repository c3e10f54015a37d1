"""Every test here runs on wengert and, where it is installed, on PyTorch: what PyTorch does is what is asserted."""

from __future__ import annotations

import importlib
import os

import pytest


@pytest.fixture(params=["wengert", "torch"])
def torch(request):
    if request.param == "torch" and os.environ.get("WENGERT_REQUIRE_PARITY") != "1":
        return pytest.importorskip("torch")
    return importlib.import_module(request.param)

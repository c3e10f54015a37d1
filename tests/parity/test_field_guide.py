"""What the field guide says that PyTorch shows is what PyTorch shows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.parity

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))


def test_the_page_says_what_pytorch_shows() -> None:
    pytest.importorskip("torch")
    import field_guide

    assert field_guide.torch_parts(field_guide.PAGE.read_text(encoding="utf-8")) == field_guide.results("torch")

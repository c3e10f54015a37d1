"""What PyTorch's own test files import: enough of ``torch.testing._internal`` to run those about autograd on a CPU."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from ..._absent import absent_name

    return absent_name(__name__, name)

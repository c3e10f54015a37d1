"""``torch.linalg``, from the table of operators."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .arrays.errors import LinAlgError  # noqa: F401
from .functions.places import PLACES

if TYPE_CHECKING:
    from .names.linalg import *  # noqa: F403

globals().update(PLACES["linalg"])


def __getattr__(name: str) -> Any:
    from .names.missing import missing

    raise missing(sys.modules[__name__], name)

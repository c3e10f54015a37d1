"""``torch.linalg``, from the table of operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .arrays.errors import LinAlgError  # noqa: F401
from .functions.places import PLACES
from .names.missing import missing_from

if TYPE_CHECKING:
    from .names.linalg import *  # noqa: F403

globals().update(PLACES["linalg"])

__getattr__ = missing_from(__name__)

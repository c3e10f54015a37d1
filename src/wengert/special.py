"""``torch.special``, from the table of operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .functions.places import PLACES
from .names.missing import missing_from

if TYPE_CHECKING:
    from .names.special import *  # noqa: F403

globals().update(PLACES["special"])

__getattr__ = missing_from(__name__)

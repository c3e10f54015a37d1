"""The surface that is no operator of the table: creation, conversion, indexing, storages, overloads."""

from __future__ import annotations

from .. import transforms as _transforms  # noqa: F401  the fields that it adds to modes
from . import members as _members  # noqa: F401  what is put on the class Tensor
from .surface import assemble

assemble()

from ..dispatch import aten, overriding  # noqa: E402, F401  they register themselves

"""The surface that is no operator of the table: creation, conversion, indexing, storages, and functions with several
forms.
"""

from __future__ import annotations

from .. import transforms as _transforms  # noqa: F401  the fields that it adds to modes
from .surface import assemble

assemble()

from ..dispatch import implementations, overriding  # noqa: E402, F401  they register themselves

"""The alphabet that sample arguments are written in, which the package has."""

from __future__ import annotations

from wengert.testing._internal.opinfo.sampling import *  # noqa: F403

"""A pytest plugin that installs the alias: pytest-xdist's workers are processes of their own, and
load plugins first.
"""

from __future__ import annotations

import os

from .alias import install

VARIABLE = "PYTEST_PLUGINS"


def follow() -> None:
    """Let pytest, and the workers that it starts, load this plugin."""
    given = os.environ.get(VARIABLE)
    if __name__ not in (given or "").split(","):
        os.environ[VARIABLE] = __name__ if not given else f"{__name__},{given}"


install()

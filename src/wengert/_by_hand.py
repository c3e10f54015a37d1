"""``sys.modules["torch"] = wengert``, by hand: what lies below ``torch`` is then found as ``wengert run`` finds it.

Python would look for ``torch.nn`` in our folder and load every file a second time, with classes and tables of its own.
"""

from __future__ import annotations

import sys
from typing import Any


class Finder:
    """First on ``sys.meta_path``; installs the alias when something below a ``torch`` that is wengert is asked for."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> Any:
        """The specification of a module below ``torch``; None for any other name."""
        if not fullname.startswith("torch.") or sys.modules.get("torch") is not sys.modules[__package__]:
            return None
        from .cli.alias import TorchFinder, install

        install()
        return TorchFinder.find_spec(fullname, path, target)


sys.meta_path.insert(0, Finder)

"""The import system's way to what is not where its name says. Installed when the package is imported.

``wengert._C`` is ``wengert.compat._C``: PyTorch's private modules are where ``names.homes.MOVED`` says. And with
``sys.modules["torch"] = wengert``, by hand, what lies below ``torch`` is found as ``wengert run`` finds it; Python
would look for ``torch.nn`` in our folder and load every file a second time, with classes and tables of its own.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import Any

OURS = __name__.partition(".")[0]


class Finder:
    """First on ``sys.meta_path``."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> Any:
        """The specification of one of these modules; None for any other name."""
        top, _, rest = fullname.partition(".")
        if top == OURS and rest.startswith("_"):
            return _moved(fullname, rest)
        if top == "torch" and rest and sys.modules.get("torch") is sys.modules[OURS]:
            from ..cli.alias import TorchFinder, install

            install()
            return TorchFinder.find_spec(fullname, path, target)
        return None


def _moved(fullname: str, name: str) -> ModuleSpec | None:
    from ..names.homes import Loader, moved

    place = moved(name)
    if place is None:
        return None
    try:
        module = import_module(f"{OURS}.{place}")
    except ModuleNotFoundError as error:
        if error.name != f"{OURS}.{place}":
            raise
        return None
    return ModuleSpec(fullname, Loader(module), is_package=hasattr(module, "__path__"))  # type: ignore[arg-type]


sys.meta_path.insert(0, Finder)

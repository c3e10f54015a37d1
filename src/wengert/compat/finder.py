"""The import system's way to what is not where its name says. Installed when the package is imported.

``wengert._C`` is ``wengert.compat._C``: PyTorch's private modules are where ``names.homes.MOVED`` says. And with
``sys.modules["torch"] = wengert``, by hand, what lies below ``torch`` is found as ``wengert run`` finds it; Python
would look for ``torch.nn`` in our folder and load every file a second time, with classes and tables of its own.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

OURS = __name__.partition(".")[0]


class Loader:
    """Hands out a module that is loaded already, as it is, under another name."""

    def __init__(self, module: ModuleType):
        self.module = module
        self.spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module."""
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run."""
        other = module.__spec__.name if module.__spec__ else module.__name__  # the import system has put it there
        module.__spec__ = self.spec
        self._keep_shadowed(module, other)

    def _keep_shadowed(self, package: ModuleType, other: str) -> None:
        # A package's own attribute wins over its module of the same name, as ``autograd.gradcheck``, the function,
        # does. Importing a module for the first time would put it in the package's namespace; one in ``sys.modules`` is
        # left.
        home = self.spec.name if self.spec else package.__name__
        for name, value in list(vars(package).items()):
            module = sys.modules.get(f"{home}.{name}")
            if module is not None and value is not module:
                sys.modules[f"{other}.{name}"] = module


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
    from ..names.homes import moved

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

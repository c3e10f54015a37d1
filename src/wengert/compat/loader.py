"""The loader of a module that is already loaded under another name."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType


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

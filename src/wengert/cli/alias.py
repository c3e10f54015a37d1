"""``import torch`` gives wengert: a finder that answers for ``torch`` and everything below it.

``torch.nn.functional`` *is* the module object ``wengert.nn.functional``: nothing is copied or wrapped, so classes,
``isinstance`` and module state are the same under both names.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import TYPE_CHECKING, Any

from ..names.homes import (
    HOMES,
    OURS,
    PRIVATE,
    THEIRS,
    Loader,
    moved,
    our_modules,
    present_as_ours,
    present_as_theirs,
)
from .spawn import Followed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import ModuleType

__all__ = ["install", "installed", "uninstall"]


def install() -> None:
    """Make ``import torch`` give wengert in this process, and in processes that ``multiprocessing`` spawns from it.

    Calling it again does nothing. Raises ``ImportError`` if PyTorch's ``torch`` has been imported already.
    """
    if installed():
        return
    if sys.modules.get(THEIRS, ours := import_module(OURS)) is not ours:
        raise ImportError(f"{THEIRS} is imported already; the alias has to be installed before that", name=THEIRS)
    _present_as(THEIRS, "version")
    for module in _loaded():
        present_as_theirs(module)
    TorchFinder.spawned = Followed(install, installed)
    sys.meta_path.insert(0, TorchFinder())


def uninstall() -> None:
    """Undo ``install``: drop the ``torch`` modules, so that the next ``import torch`` looks for PyTorch."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, TorchFinder)]
    for name in [n for n in sys.modules if n.partition(".")[0] in (THEIRS, "functorch")]:
        del sys.modules[name]
    for module in _loaded():
        present_as_ours(module)
    _present_as(OURS, "_version")


def installed() -> bool:
    """Whether ``import torch`` gives wengert."""
    return any(isinstance(finder, TorchFinder) for finder in sys.meta_path)


def _loaded() -> list[ModuleType]:
    return [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == OURS]


def _present_as(name: str, source: str) -> None:
    # Scripts look at torch.__version__ to learn what they may call, so it tells which PyTorch's surface this is;
    # libraries that patch PyTorch make sure of the module's name.
    vars(import_module(OURS)).update(__name__=name, __version__=vars(import_module(f"{OURS}.{source}"))["__version__"])


class TorchFinder:
    """Finds ``torch`` modules; first on ``sys.meta_path``."""

    spawned: Followed

    @staticmethod
    def find_spec(fullname: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """A spec that loads our module of the same name; ``ModuleNotFoundError``, which says what there is, if none."""
        top, _, rest = fullname.partition(".")
        if top == OURS:
            if moved(rest) is not None:  # for the finder that is always there
                return None
            spec = PathFinder.find_spec(fullname, path, target) or _absent(rest)
            if spec is not None and type(spec.loader) is SourceFileLoader:
                spec.loader = _OwnLoader(spec.loader.name, spec.loader.path)
            return spec
        if top == "functorch":  # which comes with PyTorch
            rest = f"func.functorch.{rest}" if rest else "func.deprecated"
        elif fullname in TorchFinder.spawned.changes:
            return TorchFinder.spawned.find_spec(fullname, path, target)
        elif top != THEIRS:
            return None
        from ..names.absent import absent_module
        from ..names.missing import AREAS

        module = _resolve(rest) or absent_module(rest)
        if module is None:
            raise _not_found(rest)
        if target is None:  # no reload: the import system would load a module again that is there by now
            sys.modules.pop(fullname, None)
        above = any(home.startswith(rest + ".") for home in (*HOMES, *AREAS))
        is_package = fullname == "functorch" or hasattr(module, "__path__") or rest in AREAS or above
        return ModuleSpec(fullname, Loader(module), is_package=is_package)  # type: ignore[arg-type]

    @staticmethod
    def find_distributions(context: Any = None) -> Iterable[Any]:
        """``importlib.metadata.version("torch")`` is our ``torch.__version__``."""
        name = getattr(context, "name", None)
        if name is None or name.lower() != THEIRS:
            return []
        from .metadata import TorchDistribution

        return [TorchDistribution()]


def _absent(rest: str) -> ModuleSpec | None:
    """For ``from torch.utils import cpp_extension``, which asks for a module below ours, that of PyTorch's with nothing
    behind it.
    """
    from ..names.absent import absent_module
    from ..names.missing import AREAS

    module = absent_module(rest) if rest in AREAS else None
    if module is None:
        return None
    return ModuleSpec(f"{OURS}.{rest}", Loader(module), is_package=True)  # type: ignore[arg-type]


class _OwnLoader(SourceFileLoader):
    """Loads a module of ours, whose classes and functions then say that they are PyTorch's."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        present_as_theirs(module)


def _resolve(name: str) -> ModuleType | None:
    """Our module for ``torch.name``; ``name`` is empty for ``torch`` itself."""
    if name.partition(".")[0] in PRIVATE:
        return None
    for candidate in our_modules(name):
        full = f"{OURS}.{candidate}".rstrip(".")
        try:
            return import_module(full)
        except ModuleNotFoundError as error:
            if error.name is None or not (full + ".").startswith(error.name + "."):
                raise  # the module is there, and something that it imports is not
    return None


def _not_found(name: str) -> ModuleNotFoundError:
    from ..names.missing import hint, submodules

    parent, _, last = name.rpartition(".")
    parent = f"{OURS}.{parent}".rstrip(".")
    known = submodules(parent)
    full = f"{THEIRS}.{name}"
    return ModuleNotFoundError(f"No module named {full!r}{hint(last, known, name.rpartition('.')[0])}", name=full)


def explain(error: BaseException) -> None:
    """Add a note to an ``ImportError`` about a name that is not in one of our modules: what is there instead.

    ``from torch.nn import Nothing`` ends in an error that Python itself makes; nothing in a module can change it.
    """
    module = getattr(error, "name", None)
    if (not (isinstance(error, ImportError) and module in sys.modules
            and f"{module}.".startswith((f"{OURS}.", f"{THEIRS}.")))):
        return
    if "._" in module:  # not a module that the program imports: an error in our own code
        return
    import re

    from ..names.missing import hint, submodules

    found = re.match(r"cannot import name '(\w+)'", str(error))
    if found:
        name = found[1]
        below = module.partition(".")[2]
        advice = hint(name, {*dir(sys.modules[module]), *submodules(module)}, below)
        module = f"{THEIRS}.{below}".rstrip(".")
        error.add_note(f"wengert has no {module}.{name}{advice}")

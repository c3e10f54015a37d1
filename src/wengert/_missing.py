"""What to say about a name that is not there: the name, and what exists instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

# Names that PyTorch has and that have a good answer here which no similarity of spelling would find.
INSTEAD: dict[str, str] = {
    "export": "save the state_dict of the module: there is no other form of a program than its Python",
    "onnx": "save the state_dict of the module: there is no other form of a program than its Python",
}


def nearest(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """The names among ``known`` that look most like ``name``, the best first.

    >>> nearest("rleu", ["relu", "gelu", "conv2d"])
    ['relu']
    """
    from difflib import get_close_matches

    by_lower: dict[str, list[str]] = {}
    for candidate in sorted(known):  # DataLoader before dataloader
        if not candidate.startswith("_"):
            by_lower.setdefault(candidate.lower(), []).append(candidate)
    matches = get_close_matches(name.lower(), by_lower, limit, 0.65)
    return [candidate for match in matches for candidate in by_lower[match]][:limit]


def hint(name: str, known: Iterable[str]) -> str:
    """A clause to put after "there is no such name": what to use instead, or an empty string.

    >>> hint("rleu", ["relu", "conv2d"])
    "; there is 'relu'"
    """
    if name in INSTEAD:
        return f"; instead, {INSTEAD[name]}"
    names = nearest(name, known)
    return f"; there is {' and '.join(map(repr, names))}" if names else ""


def missing(module: ModuleType, name: str, known: Iterable[str] | None = None) -> AttributeError:
    """The error that a module's ``__getattr__`` raises for a name it does not know.

    Args:
        module: the module that was asked.
        name: what it was asked for.
        known: the names to suggest from; those in ``dir(module)`` where it is left out.

    >>> import wengert.nn.init
    >>> missing(wengert.nn.init, "zeroes_", ["zeros_", "eye_"])
    AttributeError("module 'wengert.nn.init' has no attribute 'zeroes_'; there is 'zeros_'")
    """
    import sys

    full = module.__name__
    ours, _, rest = full.partition(".")
    if sys.modules.get("torch") is sys.modules.get(ours):  # the program knows us by that name
        full = f"torch.{rest}".rstrip(".")
    text = f"module {full!r} has no attribute {name!r}"
    # A dunder is asked for by Python's own machinery, which wants a quick answer and shows it to nobody.
    if not name.startswith("__"):
        text += hint(name, dir(module) if known is None else known)
    return AttributeError(text)


def submodules(package: str) -> list[str]:
    """The names of a package's submodules, whether they are imported or not."""
    import sys
    from pkgutil import iter_modules

    path = getattr(sys.modules.get(package), "__path__", ())
    return [module.name for module in iter_modules(path)]

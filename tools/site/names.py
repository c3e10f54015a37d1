"""The public names of PyTorch 2.13, by module: ``names.txt``, which ``python tools/site/names.py`` writes with torch.

A module is public if no part of its path begins with an underscore, a name if it is in the module's ``__all__``, or,
where there is none, if it was defined there (or below, for a package). Members of ``torch.Tensor`` are listed as those
of a module.
"""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType

STORED = Path(__file__).with_name("names.txt")
#: Modules that need a library which PyTorch does not bring; their public names are read from their sources.
NEED_MORE = {"torch.distributed.elastic.rendezvous.etcd_rendezvous_backend": "EtcdRendezvousBackend create_backend",
    "torch.utils.tensorboard": "FileWriter RecordWriter SummaryWriter"}


@cache
def stored() -> dict[str, list[str]]:
    """The names by module."""
    rows = (line.split() for line in STORED.read_text(encoding="utf-8").splitlines())
    return {module: found for module, *found in rows}


def collected() -> dict[str, list[str]]:
    """The same, from the torch that is installed."""
    import torch

    warnings.simplefilter("ignore")
    found = {name: words.split() for name, words in NEED_MORE.items()}
    walked = pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None)
    for name in ["torch", *(row.name for row in walked)]:
        if any(part.startswith("_") for part in name.split(".")[1:]) or name in found or ".examples" in name:
            continue
        try:
            module = importlib.import_module(name)
        except Exception as error:
            raise SystemExit(f"{name} cannot be imported ({error}): what does it have?") from error
        if isinstance(reached(torch, name), (ModuleType, type(None))):  # else its path leads to a function
            found[name] = public(module)
    found["torch.Tensor"] = sorted(name for name in dir(torch.Tensor) if not name.startswith("_"))
    return dict(sorted(found.items()))


def reached(here: object, name: str) -> object:
    """What a program that writes ``name`` has; None if it has to import it."""
    for part in name.split(".")[1:]:
        here = getattr(here, part, None)
    return here


def public(module: ModuleType) -> list[str]:
    if hasattr(module, "__all__"):
        return sorted({name for name in module.__all__ if not name.startswith("_")})
    homes = [f"{module.__name__}."] if hasattr(module, "__path__") else []  # a package: or in a module below
    return sorted(name for name, value in vars(module).items() if not name.startswith("_")
        and not isinstance(value, ModuleType) and (home := str(getattr(value, "__module__", "")))
        and (home == module.__name__ or home.startswith(tuple(homes))))


if __name__ == "__main__":
    STORED.write_text("".join(f"{' '.join([name, *rows])}\n" for name, rows in collected().items()), encoding="utf-8")

"""Tensor subclasses for tests, written once and run on either library: ``load(torch, "two_tensor").TwoTensor``.

The files of this folder use a global ``torch`` that they do not import: ``load`` sets it before it runs the file. Each
library gets a module of its own, under a name in ``sys.modules``, so that instances can be pickled.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any


def load(torch: Any, name: str) -> Any:
    """The module ``name`` of this folder, run on that library."""
    full = f"subclasses_on_{torch.__name__}_{name}"
    if full not in sys.modules:
        for needed in ("overrides", "utils._python_dispatch", "utils._pytree"):
            import_module(f"{torch.__name__}.{needed}")
        spec: Any = spec_from_file_location(full, Path(__file__).with_name(f"{name}.py"))
        module: Any = module_from_spec(spec)
        module.torch = torch
        sys.modules[full] = module
        spec.loader.exec_module(module)
    return sys.modules[full]

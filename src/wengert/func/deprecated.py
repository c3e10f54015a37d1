"""What ``import functorch`` gives: the functions of ``torch.func`` by their names of old. Each says where it has gone,
and does as before.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

from . import functorch as _now
from .functorch import FunctionalModule, FunctionalModuleWithBuffers

# The name, and what to use instead.
_MOVED = {
    "vmap": "torch.vmap",
    "make_functional": "torch.func.functional_call",
    "make_functional_with_buffers": "torch.func.functional_call",
    "combine_state_for_ensemble": "torch.func.stack_module_state",
    **{name: f"torch.func.{name}"
        for name in ("functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp")},
}

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functionalize", "grad",
    "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers", "vjp",
    "vmap",
]


def _moved(name: str) -> Any:
    now = getattr(_now, name)
    text = (f"We've integrated functorch into PyTorch. As the final step of the integration, `functorch.{name}` is "
        "deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. Please use "
        f"`{_MOVED[name]}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration guide for more "
        "details https://pytorch.org/docs/main/func.migrating.html")

    @functools.wraps(now)
    def old(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(text, FutureWarning, stacklevel=2)
        return now(*args, **kwargs)

    old.__module__ = __name__
    old.__doc__ = f"{(now.__doc__ or '').partition('>>>')[0].rstrip()}\n\n    .. warning::\n\n        {text}\n    "
    return old


vmap, make_functional, make_functional_with_buffers, combine_state_for_ensemble = map(_moved, list(_MOVED)[:4])
functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp = map(_moved, list(_MOVED)[4:])


def __getattr__(name: str) -> Any:
    return getattr(_now, name)

"""What takes calls into other hands: ``__torch_function__``, ``__torch_dispatch__``, modes, names of ``torch.ops.aten``, the device ``meta``."""

from __future__ import annotations

from typing import Any

from .. import ops


def _namespace(name: str) -> Any:
    """The namespace ``torch.ops.NAME``, or None."""
    from . import torch_dispatch

    return getattr(torch_dispatch, name) if name in ("aten", "prim") else torch_dispatch.NAMESPACES.get(name)


ops.resolvers.append(_namespace)

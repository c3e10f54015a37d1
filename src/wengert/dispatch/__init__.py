"""What takes calls into other hands: ``__torch_function__``, ``__torch_dispatch__``, modes, names of
``torch.ops.aten``, the device ``meta``.
"""

from __future__ import annotations

from typing import Any

from .. import ops


def _namespace(name: str) -> Any:
    from . import torch_dispatch

    return getattr(torch_dispatch, name)


ops.LATER.update(aten=_namespace, prim=_namespace)

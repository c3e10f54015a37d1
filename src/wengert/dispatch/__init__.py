"""Interception of calls: ``__torch_function__``, ``__torch_dispatch__``, modes, ``torch.ops.aten``, device ``meta``."""

from __future__ import annotations

from typing import Any

from .. import ops


def _namespace(name: str) -> Any:
    from . import torch_dispatch

    return getattr(torch_dispatch, name)


ops.LATER.update(aten=_namespace, prim=_namespace)

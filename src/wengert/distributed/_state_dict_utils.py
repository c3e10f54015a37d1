"""PyTorch's ``torch.distributed._state_dict_utils``: nested state dicts, whole and on the CPU."""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import no_grad
from .tensor import DTensor
from .utils import _apply_to_tensors


def _gather_state_dict(state_dict: dict[str, Any], *, pg: Any = None, device: Any = None, cpu_offload: bool = False,
        ranks_only: tuple[int, ...] = (), type_check: bool = True) -> dict[str, Any]:
    """Whole tensors in place of DTensors; on other ranks than ``ranks_only`` nothing, if some are named."""
    from . import get_rank

    with no_grad():
        found: dict[str, Any] = _apply_to_tensors(lambda t: t.full_tensor() if isinstance(t, DTensor) else t,
            state_dict)
    return found if not ranks_only or get_rank(pg) in ranks_only else {}


def _offload_state_dict_to_cpu(state_dict: dict[str, Any], *, ranks_only: tuple[int, ...] = (),
        type_check: bool = True) -> dict[str, Any]:
    """The same tensors, which are on the CPU; on other ranks than ``ranks_only`` nothing, if some are named."""
    from . import get_rank

    return _apply_to_tensors(lambda t: t.cpu(), state_dict) if not ranks_only or get_rank() in ranks_only else {}

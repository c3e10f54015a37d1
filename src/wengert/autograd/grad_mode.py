"""``torch.autograd.grad_mode``: the grad modes under their PyTorch address."""

from __future__ import annotations

from ..graph.modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]

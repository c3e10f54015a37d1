"""``torch.overrides``: for classes that define ``__torch_function__``."""

from __future__ import annotations

from .tensor.overrides import DisableTorchFunctionSubclass, handle_torch_function, has_torch_function, is_tensor_like

__all__ = ["DisableTorchFunctionSubclass", "handle_torch_function", "has_torch_function", "is_tensor_like"]

"""The few names of PyTorch's compiled core that programs use for ``__torch_function__``."""

from __future__ import annotations

from .tensor.overrides import DisableTorchFunctionSubclass
from .tensor.overrides import disabled as _disabled_torch_function_impl

DisableTorchFunction = DisableTorchFunctionSubclass

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "_disabled_torch_function_impl"]

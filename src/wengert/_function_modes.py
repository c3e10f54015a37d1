"""``TorchFunctionMode``: code of the user's that takes every call of an operator, above the tape."""

from __future__ import annotations

from .dispatch.function_modes import (  # noqa: F401  the private names are used by libraries
    BaseTorchFunctionMode,
    TorchFunctionMode,
    _get_current_function_mode,
    _get_current_function_mode_stack,
    _get_function_stack_at,
    _is_torch_function_mode_enabled,
    _len_torch_function_stack,
)

__all__ = ["BaseTorchFunctionMode", "TorchFunctionMode"]

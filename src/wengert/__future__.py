"""``torch.__future__``: how modules are converted and loaded, where that may become another way.

>>> module = torch.nn.Linear(1, 1)
>>> weight = module.weight
>>> torch.__future__.set_overwrite_module_params_on_conversion(True)
>>> module.double().weight is weight
False
>>> torch.__future__.set_overwrite_module_params_on_conversion(False)
"""

from __future__ import annotations

__all__ = [
    "get_overwrite_module_params_on_conversion", "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion", "set_swap_module_params_on_conversion",
]

_overwrite = _swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether ``module.to(...)`` and its kin give a module new parameters instead of new values for the old ones."""
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """What was last set; False at first."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether modules are converted, and loaded, by ``torch.utils.swap_tensors``: also to tensors of other classes.

    What is loaded into a parameter is what its ``module_load`` makes of it.
    """
    global _swap
    _swap = value


def get_swap_module_params_on_conversion() -> bool:
    """What was last set; False at first."""
    return _swap

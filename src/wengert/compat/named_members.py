"""``torch.nn.utils._named_member_accessor``: a module's tensors by their paths; tensordict uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..names.missing import missing_from
from ..nn.utils.stateless import _ABSENT, _swap

if TYPE_CHECKING:
    from ..nn.modules.module import Module
    from ..tensor import Tensor


def swap_tensor(module: Module, name: str, tensor: Tensor, allow_missing: bool = False) -> Any:
    """Put ``tensor`` in the place of a parameter, buffer or attribute; what was there."""
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if not allow_missing and not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    before = _swap(module, name, tensor)
    return None if before is _ABSENT else before


def set_tensor(module: Module, name: str, tensor: Tensor) -> None:
    """Put ``tensor`` in the place of a parameter, buffer or attribute."""
    _swap(module, name, tensor)


__getattr__ = missing_from(__name__)

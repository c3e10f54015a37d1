"""What may not be assigned to a tensor, nor be made one, in PyTorch's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..arrays import dtypes as dt
from ..graph.modes import modes
from . import classes

if TYPE_CHECKING:
    from collections.abc import Callable

    from .tensor import Tensor


def check_gradient(t: Tensor, value: Any) -> None:
    """Refuse a ``value`` that does not fit as the gradient of ``t``: of another type, layout, device or size."""
    if not isinstance(value, classes.Tensor_):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is t:
        raise RuntimeError("can't assign Variable as its own grad")
    wanted = t._wg_data.dtype if t._wg_meta is None or t._wg_meta.grad_dtype is False else t._wg_meta.grad_dtype
    if wanted is not None and value._wg_data.dtype != wanted:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{dt.c_name(value._wg_data.dtype)}' to a tensor with "
            f"grad_dtype '{dt.scalar_name(wanted)}'. The gradient must match the tensor's grad_dtype (defaults to the "
            "tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow "
            "any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
            "downstream systems that assume they match."
        )
    if type(value._wg_data) is not type(t._wg_data):
        if value.device.type != t.device.type:
            raise RuntimeError(
                f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with device type "
                f"'{t.device.type}'. Please ensure that the gradient and the tensor are on the same device"
            )
        if value.layout is not t.layout and not value.is_sparse:
            raise RuntimeError(
                "attempting to assign a gradient to a tensor that has data of a different type: its layout is "
                f"{value.layout}, that of the tensor {t.layout}"
            )
    if value._wg_data.shape != t._wg_data.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(t.shape)}'. "
            "Please ensure that the gradient and the tensor are the same size"
        )


def refuse_gradient(function: str, **arguments: Any) -> None:
    """Refuse arguments that ask for a gradient which ``function`` (PyTorch's name) has none for."""
    for name, t in arguments.items():
        if isinstance(t, classes.Tensor_) and t.requires_grad and modes().grad:
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument '{name}'. This input cannot "
                "have requires_grad True."
            )


def sealed(t: Any) -> bool:
    """Whether the numbers of ``t`` are out of reach: a function that ``torch.func`` differentiates made it, or was
    given it.
    """
    scope = modes().inside
    return scope is not None and scope.seals(t)


def refuse_pointer(t: Any, captured: bool = False) -> None:
    """Refuse to show the memory of a tensor of a function that is differentiated; ``captured``: of any tensor,
    meanwhile.
    """
    if sealed(t) or (captured and modes().inside is not None):
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


def refuse_storage(t: Any) -> None:
    """Refuse to hand out, copy or store the memory of a tensor of a function that is differentiated."""
    if sealed(t):
        raise NotImplementedError("Cannot access storage of TensorWrapper")


def check_class(cls: Any) -> None:
    """Refuse to make a tensor of what is no class of tensors."""
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, classes.Tensor_):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
            f"class inherits from Tensor: {cls.__name__} does not."
        )


def read_only(cls: type) -> None:
    """Let the properties of a class, and of its bases, that cannot be set say so in PyTorch's words."""
    for part in cls.__mro__[:-1]:
        for name, found in tuple(vars(part).items()):
            if type(found) is property and found.fset is None:
                refuse = _refuser(name)
                setattr(part, name, property(found.fget, refuse, found.fdel or refuse, found.__doc__))


def _refuser(name: str) -> Callable[..., None]:
    def refuse(self: Any, value: Any = None) -> None:
        raise AttributeError(f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")

    return refuse


__all__ = ["check_class", "check_gradient", "read_only", "refuse_gradient"]

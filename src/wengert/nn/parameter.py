"""Parameters and buffers: the tensors that a module registers, and those whose shape is not known yet."""

from __future__ import annotations

from typing import Any, Self

from wengert.dispatch.torch_function import disabled
from wengert.functions.parameter import Parameter, _ParameterMeta  # noqa: F401  torchrl asks for the latter
from wengert.nn._tensors import empty
from wengert.tensor import Tensor
from wengert.utils._become import become

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin",
    "is_lazy"]


_ALLOWED = frozenset(("__get__", "__set__", "__delete__", "copy_", "is_complex", "is_floating_point", "half", "float",
    "double", "char", "short", "int", "long", "bfloat16", "cuda", "cpu", "to", "get_device", "requires_grad_", "detach",
    "detach_", "type"))


class _BufferMeta(type(Tensor)):  # type: ignore[misc]
    """A buffer is a plain tensor that carries a mark, so operations on it give plain tensors."""

    def __instancecheck__(cls, instance: object) -> bool:
        is_marked = cls is Buffer and isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)
        return is_marked or super().__instancecheck__(instance)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a module registers as a buffer when it becomes its attribute.

    ``persistent=False`` keeps it out of the state dict.

    >>> m = torch.nn.Module()
    >>> m.steps = torch.nn.Buffer(torch.zeros(1))
    >>> list(m.state_dict())
    ['steps']
    """

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Self:
        tensor = empty(0) if data is None else data.detach()._wg_require(data.requires_grad)
        tensor.persistent, tensor._is_buffer = persistent, True
        return tensor


class UninitializedTensorMixin:
    """A tensor without a shape: ``materialize`` gives it one."""

    cls_to_become: type

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary parameter (or buffer) of ``shape``, its values not yet set."""
        this: Any = self
        this.data = empty(shape, device=device or this.data.device, dtype=dtype or this.data.dtype)
        become(this, self.cls_to_become)

    @property
    def shape(self) -> Any:
        raise RuntimeError("Can't access the shape of an uninitialized parameter or buffer. This error usually happens "
            "in `load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call "
            "`forward` to initialize the parameters before accessing their attributes.")

    def share_memory_(self) -> Any:
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize "
            "the parameters before calling `module.share_memory()`.")

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Only attributes, and conversions to another type or place, can be requested."""
        name = getattr(func, "__name__", str(func))
        if name in _ALLOWED:
            return disabled(func, types, args, kwargs)
        raise ValueError(f"Attempted to use an uninitialized parameter in {name}. This error happens when you are "
            f"using a `LazyModule` or explicitly manipulating `torch.nn.parameter.{cls.__name__}` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, proto: Any) -> Any:
        return (type(self), (self.requires_grad,))  # type: ignore[attr-defined]


def is_lazy(param: Any) -> bool:
    """Whether ``param`` has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape the first ``forward`` of a lazy module will set.

    >>> torch.nn.LazyLinear(3).weight
    <UninitializedParameter>
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Self:
        return Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc]
    """A buffer whose shape the first ``forward`` of a lazy module will set."""

    cls_to_become = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None,
            persistent: bool = True) -> Any:
        tensor: Any = Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)
        tensor.persistent, tensor._is_buffer = persistent, True
        return tensor

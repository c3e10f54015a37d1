"""Tensor subclasses of several kinds, under the names of PyTorch's tests, and ``subclass_db``: how an instance of each is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wengert as torch

from ...utils._pytree import tree_map
from .logging_tensor import LoggingTensor

if TYPE_CHECKING:
    from collections.abc import Callable

Tensor: Any = torch.Tensor


class WrapperTensor(Tensor):
    """Base of tensors without memory of their own: ``get_wrapper_properties`` gives the tensor whose geometry an instance has, and options."""

    @staticmethod
    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        model, options = cls.get_wrapper_properties(*args, **kwargs)
        geometry = {name: options.pop(name, None) for name in ("size", "strides", "storage_offset", "dtype", "layout", "device", "requires_grad")}
        if model is not None:
            usual = {
                "size": model.size(), "strides": model.stride(), "storage_offset": model.storage_offset(), "dtype": model.dtype,
                "layout": model.layout, "device": model.device, "requires_grad": model.requires_grad,
            }  # fmt: skip
            geometry = {name: usual[name] if value is None else value for name, value in geometry.items()}
        geometry = {name: value for name, value in geometry.items() if value is not None}
        return Tensor._make_wrapper_subclass(cls, geometry.pop("size"), **geometry, **options)

    @classmethod
    def get_wrapper_properties(cls, *args: Any, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """A tensor with the geometry of the new one, and what is to be otherwise."""
        raise NotImplementedError(f"{cls.__name__} needs get_wrapper_properties")


class _Holding(WrapperTensor):
    """A wrapper that holds one tensor, and asks its class about the geometry."""

    policy = "sizes"

    @classmethod
    def get_wrapper_properties(cls, t: Any, requires_grad: bool = False) -> tuple[Any, dict[str, Any]]:
        return t, {"requires_grad": requires_grad, "dispatch_sizes_strides_policy": cls.policy}

    def __init__(self, t: Any, requires_grad: bool = False) -> None:
        self.t = t

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not all(issubclass(cls, t) for t in types):
            return NotImplemented
        answer = func(*tree_map(_held, args), **tree_map(_held, kwargs or {}))
        return tree_map(lambda v: cls(v) if isinstance(v, torch.Tensor) else v, answer)

    def __repr__(self) -> str:  # type: ignore[override]
        return Tensor.__repr__(self, tensor_contents=f"t={self.t!r}")


def _held(value: Any) -> Any:
    return value.t if isinstance(value, _Holding) else value


class WrapperTensorWithCustomSizes(_Holding):
    """A wrapper that is asked about its sizes."""


class WrapperTensorWithCustomStrides(_Holding):
    """A wrapper that is asked about its strides."""

    policy = "strides"


class DiagTensorBelow(WrapperTensor):
    """A diagonal matrix that holds its diagonal; what it has no rule for works on the whole matrix."""

    _OWN: dict[Any, Callable[..., Any]] = {}

    @classmethod
    def get_wrapper_properties(cls, diag: Any, requires_grad: bool = False) -> tuple[Any, dict[str, Any]]:
        assert diag.ndim == 1
        return diag, {"size": diag.size() + diag.size(), "strides": (diag.shape[0], 1), "requires_grad": requires_grad}

    def __init__(self, diag: Any, requires_grad: bool = False) -> None:
        self.diag = diag

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not all(issubclass(cls, t) for t in types):
            return NotImplemented
        own = cls._OWN.get(func.overloadpacket)
        if own is not None:
            return own(*args, **(kwargs or {}))
        answer = func(*tree_map(_whole, args), **tree_map(_whole, kwargs or {}))
        return tree_map(lambda v: cls(v.diagonal().clone()) if isinstance(v, torch.Tensor) and _is_diagonal(v) else v, answer)

    def __repr__(self) -> str:  # type: ignore[override]
        return Tensor.__repr__(self, tensor_contents=f"diag={self.diag!r}")


def _whole(value: Any) -> Any:
    return value.diag.diag() if isinstance(value, DiagTensorBelow) else value


def _is_diagonal(value: Any) -> bool:
    return value.ndim == 2 and value.shape[0] == value.shape[1] and bool(torch.equal(value.diagonal().diag(), value))


class SparseTensor(WrapperTensor):
    """A tensor that holds the places where it is not zero, one row each, and what is there."""

    @classmethod
    def get_wrapper_properties(cls, size: Any, values: Any, indices: Any, requires_grad: bool = False) -> tuple[Any, dict[str, Any]]:
        assert values.device == indices.device
        return values, {"size": size, "requires_grad": requires_grad}

    def __init__(self, size: Any, values: Any, indices: Any, requires_grad: bool = False) -> None:
        self.values, self.indices = values, indices

    def __repr__(self) -> str:  # type: ignore[override]
        return Tensor.__repr__(self, tensor_contents=f"values={self.values!r}, indices={self.indices!r}")

    def sparse_to_dense(self) -> Any:
        """The same numbers, all of them."""
        dense = torch.zeros(self.size(), dtype=self.values.dtype)
        if not self.indices.numel():
            return dense
        return dense.index_put(tuple(self.indices.unbind(1)), self.values)

    @staticmethod
    def from_dense(t: Any) -> SparseTensor:
        """The sparse form of a tensor."""
        places = t.nonzero()
        return SparseTensor(t.shape, t[tuple(places.unbind(1))], places)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = f"_{func.overloadpacket.__name__}"
        if hasattr(cls, name) and name in ("_detach", "_clone"):
            return getattr(cls, name)(*args)
        answer = func(*tree_map(_dense, args), **tree_map(_dense, kwargs or {}))
        return tree_map(lambda v: cls.from_dense(v) if isinstance(v, torch.Tensor) else v, answer)

    def _detach(self) -> Any:
        return SparseTensor(self.shape, self.values.detach(), self.indices.detach())

    def _clone(self) -> Any:
        return SparseTensor(self.shape, self.values.clone(), self.indices.clone())


def _dense(value: Any) -> Any:
    return value.sparse_to_dense() if isinstance(value, SparseTensor) else value


class NonWrapperTensor(Tensor):
    """A subclass with numbers of its own, and an attribute that its results share."""

    def __new__(cls, data: Any) -> Any:
        made = Tensor._make_subclass(cls, data)
        made.extra_state = {"last_func_called": None}
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        answer = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(answer, cls):
            first = next((a for a in args if isinstance(a, cls)), None)
            if first is not None and hasattr(first, "extra_state"):
                answer.extra_state = first.extra_state.copy()
            else:
                answer.extra_state = {}
            answer.extra_state["last_func_called"] = func.__name__
        return answer

    def new_empty(self, shape: Any) -> Any:
        return type(self)(torch.empty(shape))


class RedispatchTensor(Tensor):
    """A subclass that calls functions again from its handler, and notes which."""

    @staticmethod
    def __new__(cls, data: Any, call_log: Any = None) -> Any:
        return Tensor._make_subclass(cls, data)

    def __init__(self, data: Any, call_log: Any = None) -> None:
        self.data_, self.call_log = data, [] if call_log is None else call_log

    def __repr__(self) -> str:  # type: ignore[override]
        with torch._C.DisableTorchFunctionSubclass():
            return Tensor.__repr__(self, tensor_contents=f"data={self.as_subclass(torch.Tensor)!r}")

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        answer = torch.overrides.redispatch_function(func, types, args, kwargs or {})
        logs = [a.call_log for a in args if isinstance(a, cls) and hasattr(a, "call_log")]
        for log in logs[:1]:
            log.append(getattr(func, "__name__", ""))

        def wrapped(value: Any) -> Any:
            if not isinstance(value, torch.Tensor) or isinstance(value, cls):
                return value
            with torch._C.DisableTorchFunctionSubclass():
                made = value.as_subclass(cls)
            made.call_log = logs[0] if logs else []
            return made

        return answer if getattr(func, "__name__", "") in ("__get__", "__set__") else tree_map(wrapped, answer)


class SubclassInfo:
    """How an instance of a subclass is made, and whether sums of instances are instances."""

    __slots__ = ("closed_under_ops", "create_fn", "name")

    def __init__(self, name: str, create_fn: Callable[..., Any], closed_under_ops: bool = True) -> None:
        self.name, self.create_fn, self.closed_under_ops = name, create_fn, closed_under_ops


def _asked_for_shape(cls: Any, shape: Any) -> Any:
    made = cls(torch.randn(shape))
    made.shape  # noqa: B018  what is asked first may be kept
    return made


subclass_db: dict[Any, SubclassInfo] = {
    torch.Tensor: SubclassInfo("base_tensor", create_fn=torch.randn),
    NonWrapperTensor: SubclassInfo("non_wrapper_tensor", create_fn=lambda shape: NonWrapperTensor(torch.randn(shape))),
    LoggingTensor: SubclassInfo("logging_tensor", create_fn=lambda shape: LoggingTensor(torch.randn(shape))),
    SparseTensor: SubclassInfo("sparse_tensor", create_fn=lambda shape: SparseTensor.from_dense(torch.randn(shape).relu())),
    DiagTensorBelow: SubclassInfo(
        "diag_tensor_below", create_fn=lambda shape: DiagTensorBelow(torch.randn(shape)), closed_under_ops=False,
    ),
    WrapperTensorWithCustomSizes: SubclassInfo(
        "wrapper_with_custom_sizes", create_fn=lambda shape: _asked_for_shape(WrapperTensorWithCustomSizes, shape), closed_under_ops=False,
    ),
    WrapperTensorWithCustomStrides: SubclassInfo(
        "wrapper_with_custom_strides", create_fn=lambda shape: _asked_for_shape(WrapperTensorWithCustomStrides, shape), closed_under_ops=False,
    ),
    RedispatchTensor: SubclassInfo(
        "redispatch_tensor", create_fn=lambda shape: RedispatchTensor(torch.randn(shape)), closed_under_ops=False,
    ),
}  # fmt: skip

"""A tensor that is two: every operator runs on both."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from ...utils import _pytree as pytree
from ...utils._python_dispatch import return_and_correct_aliasing


class TwoTensor(Tensor):
    """``a`` and ``b``, of one shape and type, behind one tensor."""

    a: Tensor
    b: Tensor

    @staticmethod
    def __new__(cls: Any, a: Tensor, b: Tensor, outer_size: Any = None, outer_stride: Any = None, *, requires_grad: bool | None = None) -> Any:
        assert a.device == b.device and a.layout == b.layout and a.requires_grad == b.requires_grad and a.dtype == b.dtype
        size = a.size() if outer_size is None else outer_size
        stride = a.stride() if outer_stride is None else outer_stride
        assert a.shape == b.shape and a.stride() == b.stride() and a.storage_offset() == b.storage_offset()
        return Tensor._make_wrapper_subclass(
            cls, size, strides=stride, storage_offset=a.storage_offset(), dtype=a.dtype, layout=a.layout, device=a.device,
            requires_grad=a.requires_grad if requires_grad is None else requires_grad,
        )  # fmt: skip

    def __init__(self, a: Tensor, b: Tensor, outer_size: Any = None, outer_stride: Any = None, *, requires_grad: bool | None = None) -> None:
        self.a, self.b = a, b

    def __repr__(self) -> str:  # type: ignore[override]
        return f"TwoTensor({self.a!r}, {self.b!r})"

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner_tensors: dict[str, Tensor], meta: Any, outer_size: Any, outer_stride: Any) -> TwoTensor:
        assert meta is None
        a, b = inner_tensors["a"], inner_tensors["b"]
        if type(a) is Tensor:
            assert outer_size is not None and outer_stride is not None
        return TwoTensor(a, b, outer_size, outer_stride)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}

        def half(name: str) -> Any:
            only = {"args": args, "kwargs": kwargs}
            part = pytree.tree_map_only(TwoTensor, lambda x: getattr(x, name), only)
            return pytree.tree_flatten(func(*part["args"], **part["kwargs"]))

        (firsts, spec), (seconds, _) = half("a"), half("b")
        rows = [cls(x, y) if isinstance(x, Tensor) else x for x, y in zip(firsts, seconds)]
        return return_and_correct_aliasing(func, args, kwargs, pytree.tree_unflatten(rows, spec))

    def get_elem_a(self) -> Tensor:
        """The first of the two."""
        return self.a


class TwoTensorMode:
    """A dispatch mode that makes two tensors of every one that is created."""

    def __new__(cls) -> Any:
        from ...utils._python_dispatch import TorchDispatchMode

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                out = func(*args, **(kwargs or {}))
                made = not any(isinstance(v, Tensor) for v in pytree.tree_leaves((args, kwargs)))
                return TwoTensor(out, out.clone()) if made and isinstance(out, Tensor) else out

        return Mode()

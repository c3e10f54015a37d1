"""How Functions over nested inputs, of the time before static methods, take rows of tensors apart and put them together
again: see ``function.NestedIOFunction``.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from ..graph.handles import RemovableHandle
from ..tensor.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _refused(obj: Any, accepted: str | None) -> ValueError:
    cls = type(obj)
    name = cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"
    more = "" if accepted is None else f". Accepted types: {accepted}, or lists/tuples of them"
    return ValueError(f"Auto nesting doesn't know how to process an input object of type {name}{more}")


def _nested_map(condition: Callable[[Any], bool], fn: Callable[[Any], Any],
        condition_msg: str | None = None) -> Callable[[Any], Any]:
    """A function that applies ``fn`` within tuples, lists and dictionaries to what meets ``condition``; None stays."""

    def mapped(obj: Any) -> Any:
        if condition(obj):
            return fn(obj)
        if obj is None:
            return None
        if isinstance(obj, (list, tuple)):
            row = [mapped(x) for x in obj]
            return type(obj)(*row) if hasattr(obj, "_fields") else type(obj)(row)
        if isinstance(obj, dict):
            return {key: mapped(x) for key, x in obj.items()}
        raise _refused(obj, condition_msg)

    return mapped


def _iter_filter(condition: Callable[[Any], bool], allow_unknown: bool = False, condition_msg: str | None = None,
        conversion: Callable[[Any], Any] | None = None) -> Callable[[Any], Iterator[Any]]:
    """A function that gives what meets ``condition`` within tuples, lists and dictionaries, in order."""

    def each(obj: Any) -> Iterator[Any]:
        if conversion is not None:
            obj = conversion(obj)
        if condition(obj):
            yield obj
        elif isinstance(obj, (list, tuple, dict)):
            for x in obj.values() if isinstance(obj, dict) else obj:
                yield from each(x)
        elif obj is not None:
            if not allow_unknown:
                raise _refused(obj, condition_msg)
            yield obj

    return each


def _jit_unwrap_structured(obj: Any) -> Any:
    """What an object that wraps a structure of tensors consists of."""
    return obj._jit_unwrap() if hasattr(obj, "_jit_unwrap") else obj


def _unflatten(input: Any, proto: Any) -> Any:
    """The elements of the row ``input`` in the nested lists and tuples of ``proto``, where None stays None."""

    def filled(left: Any, proto: Any) -> tuple[Any, Any]:
        if hasattr(proto, "_jit_wrap"):
            wrapped: tuple[Any, Any] = proto._jit_wrap(left)
            return wrapped
        if not isinstance(proto, (list, tuple)):
            return left[0], left[1:]
        row: list[Any] = []
        for part in proto:
            x = None
            if part is not None:
                x, left = filled(left, part)
            row.append(x)
        return type(proto)(row), left

    return filled(input, proto)[0]


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


_iter_tensors = _iter_filter(_is_tensor, condition_msg="Tensors", conversion=_jit_unwrap_structured)
_iter_tensors_permissive = _iter_filter(_is_tensor, allow_unknown=True, condition_msg="Tensors (permissive)")
_iter_None_tensors = _iter_filter(  # noqa: N816 -- their name
    lambda x: x is None or _is_tensor(x), condition_msg="Tensors or None")
_map_tensor_data = _nested_map(_is_tensor, lambda t: t.data, condition_msg="Tensors")


class _HookMixin:
    """How an object that keeps hooks in a dictionary, or None at first, takes one more."""

    @staticmethod
    def _register_hook(backward_hooks: Any, hook: Callable[..., Any]) -> tuple[Any, RemovableHandle]:
        hooks = OrderedDict() if backward_hooks is None else backward_hooks
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        return hooks, handle

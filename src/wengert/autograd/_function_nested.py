"""What ``torch.autograd.function`` still has from the time before static methods: Functions over nested inputs, and
their helpers.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from ..graph.handles import RemovableHandle
from ..tensor.tensor import Tensor
from .function import Function

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


def _iter_filter(
    condition: Callable[[Any], bool], allow_unknown: bool = False, condition_msg: str | None = None,
    conversion: Callable[[Any], Any] | None = None
) -> Callable[[Any], Iterator[Any]]:
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


class NestedIOFunction(Function):
    """A Function over nested inputs; of the time before static methods, so that it can be neither called nor applied
    any more.

    Its methods that take rows of tensors apart and put them together again still work:

    >>> import warnings, wengert as torch
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     old = torch.autograd.function.NestedIOFunction()
    >>> old.mark_dirty(torch.ones(1), [torch.ones(1), None])
    >>> len(old.dirty_tensors)
    2
    """

    _nested_input: Any
    _nested_output: Any
    _to_save_nested: Any

    def _do_forward(self, *input: Any) -> Any:
        self._nested_input = input
        output = super()._do_forward(*_iter_tensors(input))  # type: ignore[misc]
        return _unflatten(output, self._nested_output)

    def _do_backward(self, gradients: Any, retain_variables: bool) -> Any:
        self.retain_variables = retain_variables
        result = super()._do_backward(gradients, retain_variables)  # type: ignore[misc]
        if not retain_variables:
            del self._nested_output, self._to_save_nested
        return result

    __call__ = _do_forward

    def backward(self, *gradients: Any) -> Any:  # type: ignore[override]
        """The gradients that ``backward_extended`` gives, as one row."""
        return tuple(_iter_None_tensors(self.backward_extended(*_unflatten(gradients, self._nested_output))))

    def forward(self, *args: Any) -> Any:  # type: ignore[override]
        """The results of ``forward_extended``, as one row."""
        result = self.forward_extended(*_map_tensor_data(self._nested_input))
        del self._nested_input
        self._nested_output = result
        return tuple(_iter_tensors(result))

    def save_for_backward(self, *args: Any) -> None:
        """Keep tensors for ``backward``, nested as they are."""
        self.to_save, self._to_save_nested = tuple(_iter_tensors(args)), args

    @property
    def saved_tensors(self) -> Any:
        """The tensors that were kept, nested as they were."""
        return _unflatten(self._node.saved_tensors, self._to_save_nested)

    def mark_dirty(self, *args: Any, **kwargs: Any) -> None:
        """Say which inputs were changed in place."""
        self.dirty_tensors = tuple(_iter_tensors((args, kwargs)))

    def mark_non_differentiable(self, *args: Any, **kwargs: Any) -> None:
        """Say which outputs have no gradient."""
        self.non_differentiable = tuple(_iter_tensors((args, kwargs)))

    def forward_extended(self, *input: Any) -> Any:
        """Compute the results, from nested inputs: for subclasses to define."""
        raise NotImplementedError

    def backward_extended(self, *grad_output: Any) -> Any:
        """The gradients, from nested gradients of the results: for subclasses to define."""
        raise NotImplementedError


NestedIOFunction.__module__ = Function.__module__

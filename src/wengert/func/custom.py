"""What ``torch._functorch.autograd_function`` and ``.utils`` have for those who take custom Functions through transforms by hand."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from ..autograd._function_mapped import VmapInfo, check_returns, refuse_out_dims
from ..autograd.function import Function
from ..tensor.functions import function
from . import trees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..tensor import Tensor

__all__ = [
    "NO_OUT_DIMS", "CtxCustomSave", "CtxWithSavedTensors", "VmapInfo", "WrappedCtx", "custom_function_call",
    "enable_single_level_autograd_function", "exposed_in", "get_tangents_in_dims", "has_overridden_vmap_rule", "reductify", "reductify_leaf",
    "validate_vmap_returns_tuple_of_two_elements", "wrap_outputs_maintaining_identity",
]  # fmt: skip

argnums_t = int | tuple[int, ...]
NO_OUT_DIMS = "not specified"
validate_vmap_returns_tuple_of_two_elements = check_returns
single_level_allowed = [False]


class WrappedCtx:
    """The context of a custom Function with another face: attributes that this class does not reserve are read and set on the one below.

    Raises:
        RuntimeError: the context has an attribute of a reserved name.
    """

    _pt_reserved_attrs: ClassVar[tuple[str, ...]] = ("_pt_reserved_attrs", "_pt_inner_ctx")
    _pt_inner_ctx: Any

    def __init__(self, ctx: Any) -> None:
        reserved = type(self)._pt_reserved_attrs
        if not isinstance(ctx, WrappedCtx) and any(hasattr(ctx, name) for name in reserved):
            raise RuntimeError(
                f"PyTorch reserves the {reserved} field on ctx. Please name your fields on ctx something else to avoid name collision."
            )
        self._pt_inner_ctx = ctx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pt_inner_ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self)._pt_reserved_attrs:
            self.__dict__[name] = value
        else:
            setattr(self._pt_inner_ctx, name, value)


class CtxWithSavedTensors(WrappedCtx):
    """A context that shows other saved tensors than it has.

    >>> from types import SimpleNamespace
    >>> ctx = SimpleNamespace(saved_tensors=(1,))
    >>> CtxWithSavedTensors(ctx, (2, 3)).saved_tensors, ctx.saved_tensors
    ((2, 3), (1,))
    """

    _pt_reserved_attrs = ("_pt_new_saved_tensors", *WrappedCtx._pt_reserved_attrs)
    _pt_new_saved_tensors: Any

    def __init__(self, ctx: Any, new_saved_tensors: Any) -> None:
        super().__init__(ctx)
        self._pt_new_saved_tensors = new_saved_tensors

    @property
    def saved_tensors(self) -> Any:
        """The tensors that were given to this context."""
        return self._pt_new_saved_tensors


class CtxCustomSave(WrappedCtx):
    """A context below a map at ``current_level``: it keeps the tensors below the batched ones, and where their batch was."""

    _pt_reserved_attrs = ("_pt_saved_tensors_bdims", "_pt_current_level", *WrappedCtx._pt_reserved_attrs)

    def __init__(self, ctx: Any, current_level: int) -> None:
        super().__init__(ctx)
        self._pt_saved_tensors_bdims: Any = ()
        self._pt_current_level = current_level

    def _keep(self, tensors: Any, save: str) -> None:
        from .wrapping import _unwrap_batched

        below = [_unwrap_batched(t, self._pt_current_level) for t in tensors]
        getattr(self._pt_inner_ctx, save)(*[t for t, _ in below])
        self._pt_saved_tensors_bdims = tuple(d for _, d in below)

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for ``backward``."""
        self._keep(tensors, "save_for_backward")

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``."""
        self._keep(tensors, "save_for_forward")


def custom_function_call(autograd_function: Any, *args: Any, **kwargs: Any) -> Any:
    """``autograd_function.apply(*args)``."""
    return autograd_function.apply(*args, **kwargs)


def has_overridden_vmap_rule(autograd_function: Any) -> bool:
    """Whether a custom Function has a ``vmap`` of its own."""
    return autograd_function.vmap is not Function.vmap


def get_tangents_in_dims(input_dims: Any, tangents: Any) -> Any:
    """The dimensions of the batches of tangents: where those of the inputs are, None where there is no tangent."""
    row = [None if t is None else d for d, t in zip(trees.spread(input_dims, tangents) or (), trees.leaves(tangents))]
    return trees.filled(tangents, row)


def reductify(grad_input: Any, grad_input_bdim: Any, input_bdim: Any, batch_size: int, target_shape_without_bdim_to_reduce_to: Any = None) -> Any:
    """``reductify_leaf`` of each of several gradients."""
    grads = grad_input if isinstance(grad_input, tuple) else (grad_input,)
    bdims = grad_input_bdim if isinstance(grad_input_bdim, tuple) else (grad_input_bdim,)
    shapes = target_shape_without_bdim_to_reduce_to or (None,) * len(grads)
    return tuple(reductify_leaf(g, gd, d, batch_size, s) for g, gd, d, s in zip(grads, bdims, input_bdim, shapes))


def reductify_leaf(
    grad_input: Tensor | None, grad_input_bdim: int | None, input_bdim: int | None, batch_size: int,
    target_shape_without_bdim_to_reduce_to: Sequence[int] | None = None,
) -> Tensor | None:  # fmt: skip
    """A gradient as the input has its batch: summed over it where that has none, repeated where the gradient has none.

    ``target_shape_without_bdim_to_reduce_to``: the shape of one example of the input, to which broadcast dimensions are summed.

    >>> import wengert as torch
    >>> reductify_leaf(torch.ones(2, 3), 0, None, 2), reductify_leaf(torch.ones(3), None, 1, 2).shape
    (tensor([2., 2., 2.]), torch.Size([3, 2]))
    """
    if grad_input is None or (grad_input_bdim is None and input_bdim is None):
        return grad_input
    if grad_input_bdim is not None and input_bdim is None:
        return function("sum")(grad_input, grad_input_bdim)
    assert input_bdim is not None
    if grad_input_bdim is None:
        shape = grad_input.shape
        return grad_input.unsqueeze(input_bdim).expand(*shape[:input_bdim], batch_size, *shape[input_bdim:])
    front = function("movedim")(grad_input, grad_input_bdim, 0)
    if target_shape_without_bdim_to_reduce_to is not None:
        target = tuple(target_shape_without_bdim_to_reduce_to)
        ones = (1,) * (front.ndim - 1 - len(target))
        front = front.sum_to_size((batch_size, *ones, *target)).reshape(batch_size, *target)
    return function("movedim")(front, 0, input_bdim)


def wrap_outputs_maintaining_identity(
    outputs: Any, unwrapped_inputs: Any, orig_inputs: Any, wrap_fn: Callable[..., Any], out_dims: Any = NO_OUT_DIMS
) -> Any:
    """``wrap_fn`` of every output; but an output that is one of ``unwrapped_inputs`` is the one of ``orig_inputs`` in its place.

    ``out_dims``: the second argument of ``wrap_fn``, nested like the outputs.

    >>> wrap_outputs_maintaining_identity((1, 2), (), (), lambda x: x * 10)
    (10, 20)
    """
    same = {id(u): o for u, o in zip(trees.leaves(unwrapped_inputs), trees.leaves(orig_inputs))}
    row = trees.leaves(outputs)
    if out_dims == NO_OUT_DIMS:
        found = [same[id(x)] if id(x) in same else wrap_fn(x) for x in row]
        return trees.filled(outputs, found)
    dims = trees.spread(out_dims, outputs)
    if dims is None:
        refuse_out_dims(out_dims, outputs)
    return trees.filled(outputs, [same[id(x)] if id(x) in same else wrap_fn(x, d) for x, d in zip(row, dims or ())])


@contextmanager
def enable_single_level_autograd_function() -> Iterator[None]:
    """Inside, ``torch._C._functorch.get_single_level_autograd_function_allowed()`` is True."""
    before = single_level_allowed[0]
    single_level_allowed[0] = True
    try:
        yield
    finally:
        single_level_allowed[0] = before


def exposed_in(module: str) -> Callable[[Any], Any]:
    """Makes a function say that it is of ``module``."""

    def put(f: Any) -> Any:
        f.__module__ = module
        return f

    return put

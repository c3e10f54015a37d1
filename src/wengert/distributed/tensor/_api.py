"""``distribute_tensor``, ``distribute_module``, and new DTensors."""

from __future__ import annotations

import inspect
import warnings
from typing import TYPE_CHECKING, Any

from ...functions.parameter import Parameter
from ...functions.places import PLACES
from ...tensor import Tensor
from ...tensor.types import Size
from . import _collectives as C
from ._dtensor import DTensor, _mesh
from ._spec import checked, compute_local_shape, contiguous_strides, whole
from .placement_types import Partial, Placement, Replicate, Shard, _StridedShard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = PLACES["torch"]


def distribute_tensor(tensor: Any, device_mesh: Any = None, placements: Sequence[Placement] | None = None, *,
        src_data_rank: int | None = 0) -> DTensor:
    """``tensor``, a leaf, spread over a mesh; without ``placements`` every process has it whole.

    The values are those of the first process of each dimension (``src_data_rank``), or with ``src_data_rank=None`` each
    takes its piece of its own.

    >>> from wengert.distributed.tensor import Shard, distribute_tensor
    >>> callable(distribute_tensor)
    True
    """
    mesh = _mesh(device_mesh)
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    if placements is not None and len(placements) != mesh.ndim:
        raise ValueError("`placements` must have the same length as `device_mesh.ndim`! "
            f"Found placements length: {len(placements)}, and device_mesh.ndim: {mesh.ndim}.")
    found = checked(placements, mesh, tensor.ndim)
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ValueError(f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different device "
                f"mesh {mesh}.")
        if tensor.placements != found:
            raise ValueError(f"Cannot distribute a DTensor with placements {tensor.placements} to a different "
                f"placements {placements}. do you want to call `redistribute` instead?")
        return tensor
    local = tensor.detach()
    if mesh.get_coordinate() is not None:
        for i, p in sorted(enumerate(found), key=lambda pair: isinstance(pair[1], _StridedShard)):
            local = _dealt(local, p, mesh, i, src_data_rank)
    if local is tensor or local.data_ptr() == tensor.data_ptr():
        local = local.detach().view_as(local)
    made = DTensor._around(local, mesh, found, tensor.size(), tensor.stride())
    return made.requires_grad_(tensor.requires_grad)  # type: ignore[no-any-return]


def spread_as(value: Any, like: Any) -> Any:
    """A whole tensor that every process has, spread as the DTensor ``like`` is; anything else as it is."""
    if not isinstance(like, DTensor) or not isinstance(value, Tensor) or isinstance(value, DTensor):
        return value
    if value.shape != like.shape:
        return value
    return distribute_tensor(value.detach(), like.device_mesh, like.placements, src_data_rank=None)


def _dealt(local: Any, p: Placement, mesh: Any, i: int, source: int | None) -> Any:
    """What a process gets of ``local`` on dimension ``i`` of the mesh."""
    nobody = source is None or local.is_meta or mesh.size(i) == 1
    if isinstance(p, Shard):
        if nobody:
            length, start = Shard.local_shard_size_and_offset(local.shape[p.dim], mesh.size(i), mesh.get_local_rank(i))
            return local.narrow(p.dim, start, length).clone()
        return C.scatter(local, p.dim, mesh, i, source or 0).clone()
    if not nobody:
        local = C.broadcast(local.clone(), mesh, i, source or 0)
    return p.parts(local, mesh.size(i)) if isinstance(p, Partial) else local


def distribute_module(module: Any, device_mesh: Any = None, partition_fn: Callable[..., Any] | None = None,
        input_fn: Callable[..., Any] | None = None, output_fn: Callable[..., Any] | None = None) -> Any:
    """``module`` with DTensors as parameters and buffers, in place.

    ``partition_fn(name, module, mesh)`` is called for every submodule to spread its parameters; what it leaves is
    replicated. ``input_fn(module, inputs, mesh)`` and ``output_fn(module, outputs, mesh)`` arrange what comes and goes.
    """
    mesh = _mesh(device_mesh)
    if module.__dict__.get("_distribute_module_applied", False):
        raise RuntimeError("distribute_module should only be called once on a module, but it has already been called "
            "on this module!")
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        _replicate(part, mesh)
    if input_fn is not None:
        _hook_input(module, input_fn, mesh)
    if output_fn is not None:
        _hook_output(module, output_fn, mesh)
    module.__dict__["_distribute_module_applied"] = True
    return module


def _replicate(module: Any, mesh: Any) -> None:
    everywhere = whole(mesh.ndim)
    for name, p in list(module._parameters.items()):
        if p is not None and not isinstance(p, DTensor):
            module.register_parameter(name,
                Parameter(distribute_tensor(p.data, mesh, everywhere), requires_grad=p.requires_grad))
    for name, b in list(module._buffers.items()):
        if b is not None and not isinstance(b, DTensor):
            module._buffers[name] = distribute_tensor(b, mesh, everywhere)


def _taken(f: Callable[..., Any], name: str) -> int:
    n = len(inspect.signature(f).parameters)
    if n == 2:
        warnings.warn(f"Deprecating {name} that takes two arguments (inputs, device_mesh), please use {name} that "
            "takes in (module, inputs, device_mesh) instead!", FutureWarning, stacklevel=3)
    elif n != 3:
        raise ValueError(f"{name} should take in 3 arguments, but got {n} arguments!")
    return n


def _hook_input(module: Any, f: Callable[..., Any], mesh: Any) -> None:
    if _taken(f, "input_fn") == 2:
        module.register_forward_pre_hook(lambda _, inputs: f(inputs, mesh))
    else:
        module.register_forward_pre_hook(lambda mod, inputs: f(mod, inputs, mesh))


def _hook_output(module: Any, f: Callable[..., Any], mesh: Any) -> None:
    if _taken(f, "output_fn") == 2:
        module.register_forward_hook(lambda _, inputs, outputs: f(outputs, mesh))
    else:
        module.register_forward_hook(lambda mod, inputs, outputs: f(mod, outputs, mesh))


# -- new tensors ------------------------------------------------------------------------------------------------------


def _new(make: str, size: Any, mesh: Any, placements: Any, dtype: Any, layout: Any, requires_grad: bool,
        *first: Any) -> Any:
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)
    mesh = _mesh(mesh)
    found = checked(placements, mesh, len(shape))
    if len(found) != mesh.ndim:
        raise AssertionError("mesh dimension does not match the length of placements")
    local = T[make](compute_local_shape(shape, mesh, found), *first, dtype=dtype)
    return DTensor._around(local, mesh, found, Size(shape), contiguous_strides(shape)).requires_grad_(requires_grad)


def _maker(make: str, what: str) -> Any:
    def new(*size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = None, device_mesh: Any = None,
            placements: Sequence[Placement] | None = None) -> DTensor:
        return _new(make, size, device_mesh, placements, dtype, layout, requires_grad)  # type: ignore[no-any-return]

    new.__name__ = new.__qualname__ = make
    new.__doc__ = f"A DTensor of {what}; ``size`` is that of the whole, each process makes its piece."
    return new


zeros, ones = _maker("zeros", "zeros"), _maker("ones", "ones")
empty, rand = _maker("empty", "anything"), _maker("rand", "uniform random numbers")
randn = _maker("randn", "normal random numbers")


def full(size: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None, requires_grad: bool = False,
        device_mesh: Any = None, placements: Sequence[Placement] | None = None) -> DTensor:
    """A DTensor of one number; ``size`` is that of the whole."""
    return _new("full", (size,), device_mesh, placements, dtype, layout, requires_grad,  # type: ignore[no-any-return]
        fill_value)


__all__ = ["DTensor", "Replicate", "distribute_module", "distribute_tensor", "empty", "full", "ones", "rand", "randn",
    "zeros"]

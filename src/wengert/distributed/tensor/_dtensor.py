"""The class ``DTensor``: this process's piece of a tensor, its place on a mesh, and the whole geometry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...autograd import Function
from ...dispatch.subclass_dispatch import _data
from ...graph.modes import modes
from ...tensor import Tensor
from ._dispatch import dispatch, register
from ._redistribute import Redistribute, without_partial
from ._spec import DTensorSpec, TensorMeta, checked, compute_local_shape_and_global_offset, whole, whole_geometry
from .placement_types import Partial, Placement

if TYPE_CHECKING:
    from collections.abc import Sequence


class _FromTorchTensor(Function):
    @staticmethod
    def forward(ctx: Any, local: Any, mesh: Any, placements: Any, shape: Any,  # type: ignore[override]
            stride: Any, back: Any) -> Any:
        ctx.mesh, ctx.back = mesh, without_partial(placements) if back is None else back
        if shape is None:
            shape, stride = whole_geometry(local, mesh, placements)
        return DTensor._around(local.view_as(local), mesh, placements, shape, stride)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override]
        if grad.placements != ctx.back:
            grad = grad.redistribute(ctx.mesh, ctx.back)
        return grad.to_local(), None, None, None, None, None


class _ToTorchTensor(Function):
    @staticmethod
    def forward(ctx: Any, dtensor: Any, grad_placements: Any) -> Any:  # type: ignore[override]
        ctx.spec = dtensor._spec
        ctx.back = without_partial(dtensor.placements) if grad_placements is None else grad_placements
        return dtensor._local_tensor.view_as(dtensor._local_tensor)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override]
        spec = ctx.spec
        return DTensor.from_local(grad, spec.mesh, ctx.back, shape=spec.shape, stride=spec.stride), None


@register
class DTensor(Tensor):
    """A tensor spread over a mesh of processes, with the interface of one tensor.

    Each process has a piece. How the pieces make the whole, a placement for each dimension of the mesh says: ``Shard``,
    ``Replicate``, ``Partial``. Operators compute with pieces and communicate where they must. Made by
    ``distribute_tensor`` from the whole, by ``DTensor.from_local`` from pieces, or by ``zeros``, ``randn`` and others
    of this module; ``to_local()`` gives the piece, ``full_tensor()`` the whole, ``redistribute`` other placements.

    >>> from wengert.distributed.tensor import DTensor
    >>> isinstance(torch.ones(2), DTensor)
    False
    """

    __slots__ = ("_local_tensor", "_spec")
    _local_tensor: Any
    _spec: DTensorSpec
    # these are operators here, not what they are made of
    _wg_whole = frozenset(("matmul", "linear", "attention_grad"))

    @staticmethod
    def __new__(cls: Any, local_tensor: Any, spec: DTensorSpec, *, requires_grad: bool = False) -> Any:
        made = Tensor._make_wrapper_subclass(cls, spec.shape, strides=spec.stride, dtype=local_tensor.dtype,
            device=local_tensor.device, requires_grad=requires_grad)
        made._local_tensor, made._spec = local_tensor, spec
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    @staticmethod
    def _around(local: Any, mesh: Any, placements: Any, shape: Any, stride: Any) -> Any:
        """A DTensor of a piece, without checks."""
        meta = TensorMeta(shape, tuple(stride), local.dtype)
        return DTensor(local, DTensorSpec(mesh, placements, tensor_meta=meta))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return dispatch(func, tuple(args), kwargs or {})

    @staticmethod
    def from_local(local_tensor: Tensor, device_mesh: Any = None, placements: Sequence[Placement] | None = None,
            run_check: bool = False, shape: Any = None, stride: Any = None,
            grad_placements: Sequence[Placement] | None = None) -> DTensor:
        """A DTensor of the pieces that the processes give. Gradients come back to them.

        ``run_check``: replicated dimensions take the tensor of the first process. ``shape``, ``stride``: of the whole,
        where the pieces differ. ``grad_placements``: how the gradient shall lie, if not as the tensor.
        """
        if isinstance(local_tensor, DTensor):
            raise RuntimeError(f"the local_tensor argument only accepts torch.Tensor but got {type(local_tensor)} "
                "value.")
        mesh = _mesh(device_mesh)
        found = checked(placements, mesh, local_tensor.ndim)
        if (shape is None) != (stride is None):
            raise RuntimeError(f"Found shape:{shape}, stride:{stride}.", "Please pass both shape and stride at the "
                "same time.")
        if run_check:
            from ._collectives import broadcast

            for i, p in enumerate(found):
                if p.is_replicate():
                    broadcast(local_tensor.detach(), mesh, i)
        back = None if grad_placements is None else tuple(grad_placements)
        return _FromTorchTensor.apply(local_tensor, mesh, found, shape, stride, back)  # type: ignore[no-any-return]

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Any:
        """This process's piece. ``grad_placements``: how its gradient will lie, if not as this tensor."""
        if not modes().grad:
            return self._local_tensor
        return _ToTorchTensor.apply(self, None if grad_placements is None else tuple(grad_placements))

    def redistribute(self, device_mesh: Any = None, placements: Sequence[Placement] | None = None,
            async_op: bool = False, forward_dtype: Any = None, backward_dtype: Any = None) -> Any:
        """The same tensor with other placements. ``forward_dtype``, ``backward_dtype``: the types that travel."""
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        for i, p in enumerate(placements):
            if isinstance(p, Partial) and self.placements[i] != p:
                raise RuntimeError(f"Can not redistribute from {self.placements[i]} to {p}, redistributing to Partial "
                    "is for internal use only!")
        mesh = device_mesh or self.device_mesh
        return Redistribute.apply(self, mesh, checked(placements, mesh, self.ndim), forward_dtype, backward_dtype)

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Any:
        """The whole tensor, on every process."""
        everywhere = self.redistribute(placements=whole(self.device_mesh.ndim))
        return _ToTorchTensor.apply(everywhere, None if grad_placements is None else tuple(grad_placements))

    def _set_data(self, new: Any) -> None:
        if not isinstance(new, DTensor):
            raise RuntimeError("Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
                "incompatible tensor type.")
        self._wg_data, self._local_tensor, self._spec = new._wg_data, new._local_tensor, new._spec

    data = property(_data, _set_data)

    @property
    def device_mesh(self) -> Any:
        """The mesh of processes that this tensor is spread over."""
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Any, ...]:
        """How it lies on each dimension of the mesh."""
        return self._spec.placements

    def __repr__(self) -> str:  # type: ignore[override]
        return (f"DTensor(local_tensor={self._local_tensor}, device_mesh={self._spec.mesh}, "
            f"placements={self._spec.placements})")

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuilt, (self._local_tensor, self._spec.mesh, self._spec.placements, tuple(self._spec.shape),
            self._spec.stride, self.requires_grad)

    def __tensor_flatten__(self) -> Any:
        return ["_local_tensor"], (self._spec, self.requires_grad)

    @staticmethod
    def __tensor_unflatten__(inner: Any, spec: Any, size: Any, stride: Any) -> Any:
        return DTensor(inner["_local_tensor"], spec[0], requires_grad=spec[1])

    def __create_chunk_list__(self) -> Any:
        from ..checkpoint.metadata import ChunkStorageMetadata

        if any(isinstance(p, Partial) for p in self.placements):
            raise ValueError("Any checkpointing related operations are not supported for DTensor with partial "
                "placements!")
        sizes, offsets = compute_local_shape_and_global_offset(self.shape, self.device_mesh, self.placements)
        return [ChunkStorageMetadata(offsets=offsets, sizes=sizes)]


def _rebuilt(local: Any, mesh: Any, placements: Any, shape: Any, stride: Any, requires_grad: bool) -> Any:
    return DTensor._around(local, mesh, placements, shape, stride).requires_grad_(requires_grad)


def _mesh(given: Any) -> Any:
    """The mesh that was given, or that whose context this is."""
    if given is not None:
        return given
    from ..device_mesh import _mesh_resources

    return _mesh_resources.get_current_mesh()


DTensor.__module__ = "torch.distributed.tensor"

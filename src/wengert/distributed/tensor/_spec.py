"""What a process knows about a distributed tensor besides its own piece: mesh, placements, the whole geometry."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...tensor.types import Size
from .placement_types import Partial, Replicate, Shard, _StridedShard


class TensorMeta(NamedTuple):
    """Shape, strides and type of the whole tensor."""

    shape: Any
    stride: tuple[int, ...]
    dtype: Any


class DTensorSpec:
    """Mesh, placements and whole geometry of a DTensor."""

    __slots__ = ("mesh", "placements", "tensor_meta")

    def __init__(self, mesh: Any, placements: tuple[Any, ...], *, tensor_meta: TensorMeta) -> None:
        self.mesh, self.placements, self.tensor_meta = mesh, tuple(placements), tensor_meta

    device_mesh = property(lambda self: self.mesh)
    shape = property(lambda self: self.tensor_meta.shape)
    stride = property(lambda self: self.tensor_meta.stride)
    dtype = property(lambda self: self.tensor_meta.dtype)
    ndim = property(lambda self: len(self.tensor_meta.shape))

    def with_placements(self, placements: Any) -> DTensorSpec:
        """The same tensor, lying otherwise."""
        return DTensorSpec(self.mesh, tuple(placements), tensor_meta=self.tensor_meta)

    def is_replicated(self) -> bool:
        """Whether every process has the whole."""
        return all(isinstance(p, Replicate) for p in self.placements)

    def key(self) -> tuple[Any, ...]:
        """What tells this from other specifications, to be hashed."""
        return (id(self.mesh), self.placements, tuple(self.shape), self.stride, self.dtype)

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, DTensorSpec) and self.mesh == other.mesh and self.placements == other.placements
            and self.tensor_meta == other.tensor_meta)

    def __hash__(self) -> int:
        return hash((self.placements, tuple(self.shape)))

    def __deepcopy__(self, memo: Any) -> DTensorSpec:
        return self

    def __repr__(self) -> str:
        return f"Spec({''.join(str(p) for p in self.placements)} on {tuple(self.shape)})"


def whole(placements: int) -> tuple[Any, ...]:
    """``Replicate`` on each dimension of a mesh."""
    return (Replicate(),) * placements


def checked(placements: Any, mesh: Any, ndim: int) -> tuple[Any, ...]:
    """The placements with dimensions counted from the front; ``Replicate`` if there are none."""
    if placements is None:
        return whole(mesh.ndim)
    found = []
    for p in placements:
        if isinstance(p, Shard) and p.dim < 0:
            dim = p.dim + ndim
            p = _StridedShard(dim, split_factor=p.split_factor) if isinstance(p, _StridedShard) else Shard(dim)
        found.append(p)
    kinds = {p.reduce_op for p in found if isinstance(p, Partial)}
    if len(kinds) > 1:
        raise ValueError(f"Mixed Partial reduce types are not supported: {sorted(kinds)}. All Partial placements must "
            "use the same reduce operation.")
    return tuple(found)


def order_of_cuts(placements: Any) -> list[int]:
    """The dimensions of the mesh that cut, in the order in which they did."""
    cuts = [i for i, p in enumerate(placements) if isinstance(p, Shard)]
    return sorted(cuts, key=lambda i: (isinstance(placements[i], _StridedShard), i))


def piece(size: int, dim: int, mesh: Any, placements: Any, until: int | None = None) -> tuple[int, int]:
    """Length and start, on tensor dimension ``dim``, of what this process has; before mesh dimension ``until`` cut."""
    start, coordinate = 0, mesh.get_coordinate()
    for i in order_of_cuts(placements):
        if i == until:
            break
        if placements[i].dim == dim:
            size, at = Shard.local_shard_size_and_offset(size, mesh.size(i), coordinate[i])
            start += at
    return size, start


def compute_local_shape_and_global_offset(global_shape: Any, mesh: Any, placements: Any) -> tuple[Any, Any]:
    """The shape of this process's piece, and where in the whole it begins."""
    if mesh.get_coordinate() is None:
        return (0,), ()
    found = [piece(n, d, mesh, placements) for d, n in enumerate(global_shape)]
    return tuple(n for n, _ in found), tuple(at for _, at in found)


def compute_local_shape(global_shape: Any, mesh: Any, placements: Any) -> tuple[int, ...]:
    """The shape of this process's piece."""
    found: tuple[int, ...] = compute_local_shape_and_global_offset(global_shape, mesh, placements)[0]
    return found


def contiguous_strides(shape: Any) -> tuple[int, ...]:
    """The strides of a new tensor."""
    row: list[int] = []
    step = 1
    for n in reversed(tuple(shape)):
        row.insert(0, step)
        step *= max(n, 1)
    return tuple(row)


def whole_geometry(local: Any, mesh: Any, placements: Any) -> tuple[Any, tuple[int, ...]]:
    """Shape and strides of the whole, if all processes have pieces such as ``local``."""
    shape, stride = list(local.shape), list(local.stride())
    for i, p in enumerate(placements):
        if isinstance(p, Shard):
            if p.dim >= len(shape):
                raise AssertionError(f"Sharding dim {p.dim} greater than tensor ndim {len(shape)} for placement "
                    f"number {i}.")
            shape[p.dim] *= mesh.size(i)
            stride = [s * mesh.size(i) if j != p.dim and s >= stride[p.dim] and s > 0 else s
                for j, s in enumerate(stride)]
    return Size(shape), tuple(stride)

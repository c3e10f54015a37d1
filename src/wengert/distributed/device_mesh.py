"""Meshes: the ranks of the world in rows, columns and so on, with a group for each row of each dimension."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .groups import default_group, get_process_group_ranks, init_process_group, is_initialized, new_group, outside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..tensor.tensor import Tensor
    from .group import ProcessGroup

__all__ = ["DeviceMesh", "init_device_mesh"]

_entered: list[DeviceMesh] = []


class DeviceMesh:
    """An array of ranks. All ranks of the world make it together, also those that are not in it.

    ``mesh["tp"]`` is the part of one dimension that this rank is in, ``get_group("tp")`` its group.
    """

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: Sequence[str] | None = None,
            backend_override: Any = None, _init_backend: bool = True, _rank: int | None = None,
            _strides: Sequence[int] | None = None, _groups: Sequence[Any] | None = None,
            _root: DeviceMesh | None = None):
        self.device_type = str(device_type).partition(":")[0]
        self._ranks = np.array(mesh.tolist() if hasattr(mesh, "tolist") else mesh, dtype=np.int64)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        self._root = _root
        if not is_initialized():
            init_process_group()
        self._rank = default_group().rank() if _rank is None else _rank
        self._strides = tuple(_strides) if _strides is not None else tuple(
            math.prod(self._ranks.shape[i + 1 :]) for i in range(self._ranks.ndim))
        self._flattened: dict[str, DeviceMesh] = {}
        self._check()
        place = np.argwhere(self._ranks == self._rank)
        self._coordinate = tuple(int(i) for i in place[0]) if len(place) else None
        self._groups: list[Any] = list(_groups) if _groups is not None else (
            [self._made(dim) for dim in range(self._ranks.ndim)] if _init_backend else [])

    def _check(self) -> None:
        world = default_group().size()
        if self._ranks.size > world:
            raise RuntimeError(f"Mesh should not be bigger than default world size {world}, but found "
                f"{self._ranks.size} ranks!")
        if len(np.unique(self._ranks)) != self._ranks.size:
            raise RuntimeError(f"The mesh cannot contain duplicate values, but found {self._ranks.tolist()}")

    def _made(self, dim: int) -> Any:
        """The group of this rank along a dimension; those of the other rows are made too, as all ranks must."""
        whole = default_group()
        rows = np.moveaxis(self._ranks, dim, -1).reshape(-1, self._ranks.shape[dim])
        if len(rows) == 1 and rows[0].tolist() == list(range(whole.size())):
            return whole
        name = f"mesh_{self.mesh_dim_names[dim] if self.mesh_dim_names else dim}"
        mine = None
        for row in rows.tolist():
            made = new_group(row, group_desc=name, sort_ranks=False)
            if not outside(made):
                mine = made
        return mine

    # -- what it is -----------------------------------------------------------------------------------------------

    @property
    def mesh(self) -> Tensor:
        """The ranks, as a tensor."""
        from ..tensor.tensor import wrap

        return wrap(self._ranks.astype(np.int32))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._ranks.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return self._ranks.shape

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of ranks, or the size of one dimension."""
        return int(self._ranks.size if mesh_dim is None else self._ranks.shape[mesh_dim])

    def get_rank(self) -> int:
        """The rank of this process in the world."""
        return self._rank

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Where this rank is in the mesh; None if it is not."""
        return self._coordinate

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The place of this rank along a dimension."""
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(f"Found the DeviceMesh have {self.ndim} dimensions",
                "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.")
        dim = self._dim(mesh_dim)
        return -1 if self._coordinate is None else self._coordinate[dim]

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of this rank along a dimension."""
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(f"Found the DeviceMesh have {self.ndim} dimensions",
                "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                "If you want to get the list of all the ProcessGroups in the DeviceMesh,"
                "please use `get_all_groups()` instead.")
        if not self._groups:
            raise RuntimeError("DeviceMesh process groups not initialized!")
        return self._groups[self._dim(mesh_dim)]  # type: ignore[no-any-return]

    def get_all_groups(self) -> list[ProcessGroup]:
        """The groups of this rank along all dimensions."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    def _dim(self, mesh_dim: int | str | None) -> int:
        if isinstance(mesh_dim, str):
            return self._get_mesh_dim_by_name(mesh_dim)
        return 0 if mesh_dim is None else mesh_dim

    def _get_mesh_dim_by_name(self, mesh_dim_name: str) -> int:
        names = self._names()
        if mesh_dim_name not in names:
            raise KeyError(f"Mesh dimension '{mesh_dim_name}' does not exist.",
                f"Available mesh dimensions are: mesh_dim_names={list(names)}")
        return names.index(mesh_dim_name)

    def _names(self) -> tuple[str, ...]:
        if self.mesh_dim_names is None:
            raise KeyError("No `mesh_dim_names` found.")
        return self.mesh_dim_names

    def _get_root_mesh(self) -> DeviceMesh:
        return self._root or self

    def _is_current_rank_part_of_mesh(self) -> bool:
        return self._coordinate is not None

    def _get_root_mesh_dim(self) -> int | None:
        root = self._get_root_mesh()
        if root is self or self.mesh_dim_names is None or len(self.mesh_dim_names) != 1:
            return None
        return root._names().index(self.mesh_dim_names[0])

    # -- parts ----------------------------------------------------------------------------------------------------

    def __getitem__(self, mesh_dim_names: str | Sequence[str]) -> DeviceMesh:
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if names == self.mesh_dim_names:
            return self
        root = self._get_root_mesh()
        if len(names) == 1 and names[0] in root._flattened:
            return root._flattened[names[0]]
        if any(name not in self.mesh_dim_names for name in names):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are "
                f"{[*self.mesh_dim_names, *root._flattened]}.")
        dims = [self.mesh_dim_names.index(name) for name in names]
        if dims != sorted(dims):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Mesh dim indices should be in ascending order.")
        return self._part(dims, names, self._coordinate or (0,) * self.ndim, [self._groups[d] for d in dims])

    def _part(self, dims: Sequence[int], names: Sequence[str], at: Sequence[int], groups: Sequence[Any]) -> DeviceMesh:
        index = tuple(slice(None) if d in dims else at[d] for d in range(self.ndim))
        return DeviceMesh(self.device_type, self._ranks[index], mesh_dim_names=names, _rank=self._rank,
            _strides=[self._strides[d] for d in dims], _groups=groups, _root=self._get_root_mesh())

    def _get_all_submeshes(self, mesh_dim_name: str) -> list[DeviceMesh]:
        dim = self._get_mesh_dim_by_name(mesh_dim_name)
        others = [range(n) if d != dim else range(1) for d, n in enumerate(self.shape)]
        places = np.stack(np.meshgrid(*others, indexing="ij"), -1).reshape(-1, self.ndim)
        return [self._part([dim], (mesh_dim_name,), place, [self._groups[dim]]) for place in places.tolist()]

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> DeviceMesh:
        """This mesh in one dimension, also to be had as ``mesh[mesh_dim_name]`` from now on. All ranks call it."""
        name = mesh_dim_name or "_".join(self._names())
        root = self._get_root_mesh()
        if name in root._flattened:
            return root._flattened[name]
        if self.ndim == 1 and mesh_dim_name in (None, *(self.mesh_dim_names or ())):
            return self
        rows = self._rows_of(root)
        mine = None
        for row in rows:
            made = default_group() if row == list(range(default_group().size())) else new_group(row,
                group_desc=f"mesh_{name}", sort_ranks=False)
            if not outside(made):
                mine = made
        flat = DeviceMesh(self.device_type, self._ranks.reshape(-1), mesh_dim_names=(name,), _rank=self._rank,
            _strides=self._strides[-1:], _groups=[mine], _root=root)
        root._flattened[name] = flat
        return flat

    def _rows_of(self, root: DeviceMesh) -> list[list[int]]:
        """This part of the mesh, and those beside it that make up the whole, each as a list of ranks."""
        if root is self or self.mesh_dim_names is None:
            return [self._ranks.reshape(-1).tolist()]
        dims = [root._names().index(name) for name in self.mesh_dim_names]
        rest = [d for d in range(root.ndim) if d not in dims]
        rows: list[list[int]] = root._ranks.transpose(*rest, *dims).reshape(-1, self._ranks.size).tolist()
        return rows

    def _unflatten(self, dim: int | str, mesh_sizes: Sequence[int], mesh_dim_names: Sequence[str],
            backend_override: Any = None) -> DeviceMesh:
        """The mesh with one dimension split into several."""
        where = self._dim(dim)
        shape = (*self.shape[:where], *mesh_sizes, *self.shape[where + 1 :])
        names = None if self.mesh_dim_names is None else (*self.mesh_dim_names[:where], *mesh_dim_names,
            *self.mesh_dim_names[where + 1 :])
        return DeviceMesh(self.device_type, self._ranks.reshape(shape), mesh_dim_names=names)

    @staticmethod
    def from_group(group: Any, device_type: str, mesh: Any = None, *,
            mesh_dim_names: Sequence[str] | None = None) -> DeviceMesh:
        """The mesh of a group, or of a list of groups, one for each dimension of ``mesh``."""
        if not isinstance(group, list):
            ranks = get_process_group_ranks(group)
            return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, _groups=[group])
        if not group:
            raise ValueError("Expect at least one ProcessGroup to be specified")
        if mesh is None:
            if len(group) > 1:
                raise ValueError("Must pass mesh if passing multiple ProcessGroups")
            mesh = get_process_group_ranks(group[0])
        return DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=group)

    # -- as a value -----------------------------------------------------------------------------------------------

    def _key(self) -> tuple[Any, ...]:
        root = self._get_root_mesh()
        return (self._ranks.tobytes(), self.shape, self.device_type, self.mesh_dim_names, id(root) if root is not self
            else None)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DeviceMesh) and self._key()[:4] == other._key()[:4])

    def __hash__(self) -> int:
        return hash(self._key()[:4])

    def __enter__(self) -> DeviceMesh:
        _entered.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _entered.pop()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_groups": [], "_root": None, "_flattened": {}}

    def __repr__(self) -> str:
        sizes = (f"({', '.join(f'{n}={s}' for n, s in zip(self.mesh_dim_names, self.shape, strict=True))})"
            if self.mesh_dim_names else str(self.shape))
        return f"DeviceMesh({sizes}, '{self.device_type}', stride={self._strides})"


def init_device_mesh(device_type: str, mesh_shape: Sequence[int], *, mesh_dim_names: Sequence[str] | None = None,
        backend_override: Any = None) -> DeviceMesh:
    """A mesh of the first ranks of the world, in the order of their numbers."""
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError("Each mesh_dim_name must be unique. "
                f"Found repeated mesh_dim_name in mesh_dim_names {tuple(mesh_dim_names)}")
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError("mesh_shape and mesh_dim_names should have same length!",
                f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}.")
    if device_type and not device_type.isalpha():
        raise RuntimeError(f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.")
    mesh = np.arange(math.prod(mesh_shape)).reshape(tuple(mesh_shape))
    return DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names)


class _MeshResources:
    """The meshes that ``with mesh:`` has made current, and what a part knows of its whole."""

    def get_current_mesh(self) -> DeviceMesh:
        """The innermost ``with mesh:``."""
        if not _entered:
            raise RuntimeError("No device mesh is currently active!")
        return _entered[-1]

    def get_root_mesh(self, device_mesh: DeviceMesh) -> DeviceMesh:
        """The mesh of which one is a part."""
        return device_mesh._get_root_mesh()

    def get_root_mesh_dim(self, device_mesh: DeviceMesh) -> int | None:
        """The dimension of the whole that a part is."""
        return device_mesh._get_root_mesh_dim()


_mesh_resources = _MeshResources()
_MeshEnv = _MeshResources

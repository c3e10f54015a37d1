"""Placements: how a tensor lies on one dimension of a mesh of processes."""

from __future__ import annotations

from typing import Any

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """How a tensor lies on one dimension of a mesh; ``Shard``, ``Replicate`` or ``Partial``."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether this is ``Shard``, of the dimension ``dim`` if that is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether every process has the whole tensor."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the values still have to be reduced, by ``reduce_op`` if that is given."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)

    def _key(self) -> tuple[Any, ...]:
        return ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self).__name__, *self._key()))


class Shard(Placement):
    """The tensor is cut along ``dim``, as ``torch.chunk`` cuts, and each process has one piece.

    >>> from wengert.distributed.tensor import Shard
    >>> Shard(0)
    Shard(dim=0)
    """

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def _key(self) -> tuple[Any, ...]:
        return (self.dim,)

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"

    def __str__(self) -> str:
        return f"S({self.dim})"

    @staticmethod
    def local_shard_size_and_offset(size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """The length and the start of the piece of process ``rank``."""
        each = -(-size // num_chunks)
        start = min(each * rank, size)
        return min(each, size - start), start

    _local_shard_size_and_offset = local_shard_size_and_offset


class _StridedShard(Shard):
    """A ``Shard`` that was made after one on a later dimension of the mesh, which cuts in ``split_factor`` pieces.

    So ``fully_shard`` cuts what tensor parallelism has cut before.
    """

    def __init__(self, dim: int, *, split_factor: int) -> None:
        super().__init__(dim)
        self.split_factor = split_factor

    def is_shard(self, dim: int | None = None) -> bool:
        return False

    def _key(self) -> tuple[Any, ...]:
        return self.dim, self.split_factor

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


class Replicate(Placement):
    """Every process has the whole tensor.

    >>> from wengert.distributed.tensor import Replicate
    >>> Replicate() == Replicate()
    True
    """

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


class Partial(Placement):
    """Every process has a tensor of the whole shape, and its values are those of all processes, reduced.

    ``reduce_op``: ``"sum"``, ``"avg"``, ``"max"``, ``"min"`` or ``"product"``.

    >>> from wengert.distributed.tensor import Partial
    >>> Partial()
    Partial(sum)
    """

    def __init__(self, reduce_op: str = "sum") -> None:
        self.reduce_op = reduce_op

    def _key(self) -> tuple[Any, ...]:
        return (self.reduce_op,)

    def before(self, local: Any) -> Any:
        """What the processes reduce."""
        return local

    def after(self, reduced: Any) -> Any:
        """The value, from what was reduced."""
        return reduced

    def parts(self, whole: Any, size: int) -> Any:
        """What a process holds of a value that all have."""
        if self.reduce_op == "sum":
            return whole / size
        if self.reduce_op in ("avg", "min", "max"):
            return whole
        raise ValueError(f"Replicate to Partial({self.reduce_op}) conversion is not supported.")

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


class _NormPartial(Partial):
    """Norms of pieces, of which the norm is the norm of the whole."""

    def __init__(self, norm_type: float = 2) -> None:
        self.norm_type = norm_type
        super().__init__({float("inf"): "max", float("-inf"): "min"}.get(norm_type, "sum"))

    def _key(self) -> tuple[Any, ...]:
        return self.reduce_op, self.norm_type

    def before(self, local: Any) -> Any:
        return local**self.norm_type if self.reduce_op == "sum" and self.norm_type not in (0, 1) else local

    def after(self, reduced: Any) -> Any:
        return reduced ** (1 / self.norm_type) if self.reduce_op == "sum" and self.norm_type not in (0, 1) else reduced

    def parts(self, whole: Any, size: int) -> Any:
        if self.reduce_op == "sum":
            return whole / (size if self.norm_type == 0 else size ** (1 / self.norm_type))
        return whole

    def __repr__(self) -> str:
        return f"_NormPartial({self.reduce_op}, {self.norm_type})"


_Partial = Partial

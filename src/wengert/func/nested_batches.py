"""Maps over nested tensors: a function sees one part, and is done part by part, for the parts have no common rectangle
of numbers.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

from ..nested import as_nested_tensor
from ..ops.operator import TABLE, Operator
from ..tensor import Tensor
from ..tensor.functions import function
from ..transforms.vmap import Batched, without
from . import trees

if TYPE_CHECKING:
    from ..transforms.vmap import VmapLevel

_MORE = ("split", "chunk", "unbind", "tensor_split", "item", "tolist", "is_nonzero", "equal", "allclose")
_VIEWS = ("reshape", "detach", "t", "swapaxes", "movedim", "flatten", "unflatten", "view_as")


class Part(Tensor):
    """What a mapped function sees of a nested tensor: one part, of unknown sizes.

    ``value``: the nested tensor; ``level``: the map.
    """

    _own_operators = "and functions"
    _wg_opaque = True
    value: Any
    level: VmapLevel
    is_nested = False

    @classmethod
    def of(cls, value: Any, level: VmapLevel) -> Part:
        """One part of ``value``, in the map ``level``; ``RuntimeError`` if it is itself a part."""
        if isinstance(value, Part):
            raise RuntimeError("Only one level of vmap is supported when vmapping over nested tensors")
        t: Part = object.__new__(cls)
        t._wg_data, t._wg_edge, t._wg_meta, t._wg_vc = value._wg_data, None, None, value._wg_vc
        t.value, t.level = value, level
        return t

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.__name__
        op = TABLE.get(name)
        if name in _MORE:
            _refuse(name)
        if name.endswith("_") and not name.endswith("__"):
            raise RuntimeError("vmap fallback not supported for in-place ops on nested tensors")
        if name in _VIEWS or "out" in kwargs or (isinstance(op, Operator) and op.view):
            _refuse(name, view=True)
        row = trees.leaves((args, kwargs))
        level = next(x.level for x in row if isinstance(x, Part))
        columns = [x.value.unbind() if isinstance(x, Part) else x for x in row]
        if any(type(x) is Batched and x.level is level and x.given for x in row):
            raise RuntimeError("Fallback not supported for mixed nested / non-nested arguments without bdim=0")
        answers = []
        with nullcontext() if level.randomness == "error" else without():
            for i in range(level.size):
                own, named = trees.filled((args, kwargs), [_example(x, c, level, i) for x, c in zip(row, columns)])
                answers.append(func(*own, **named))
        if isinstance(answers[0], tuple):
            return tuple(cls.of(as_nested_tensor(list(column)), level) for column in zip(*answers))
        return cls.of(as_nested_tensor(answers), level)

    @property
    def shape(self) -> Any:
        raise RuntimeError("sizes() is not supported for batched nested tensors")

    def size(self, dim: int | None = None) -> Any:
        """A size that all parts have in common."""
        return self.shape if dim is None else self.value.size(dim + 1 if dim >= 0 else dim)

    def dim(self) -> int:
        """The number of dimensions of one part."""
        return self.value.dim() - 1  # type: ignore[no-any-return]

    ndim = property(dim)

    def __len__(self) -> int:
        return len(self.shape)

    def __getitem__(self, key: Any) -> Any:
        return self.shape

    def __bool__(self) -> bool:
        _refuse("is_nonzero")

    def item(self) -> Any:
        """Refused."""
        _refuse("item")

    def detach(self) -> Any:
        """Refused."""
        _refuse("detach", view=True)

    def __repr__(self) -> str:  # type: ignore[override]
        inner = repr(self.value).replace("\n", "\n    ")
        return f"BatchedTensor(lvl={self.level.depth}, bdim=0, value=\n    {inner}\n)"


def _refuse(name: str, view: bool = False) -> NoReturn:
    why = "; the fallback path doesn't work on out= or view ops." if view else ". We could not generate a fallback."
    raise RuntimeError(f"Nested batching rule not implemented for aten::{name}{why}")


def _example(x: Any, parts: Any, level: VmapLevel, i: int) -> Any:
    """What argument ``x`` is for example ``i``."""
    if isinstance(x, Part):
        return parts[i]
    if type(x) is Batched and x.level is level:
        return function("select")(x.value, 0, i)
    return x


def check_dim(dim: int) -> None:
    """Refuse to map over, or to give, another dimension of a nested tensor than the first."""
    if dim != 0:
        raise RuntimeError(f"Nested tensors can only be vmapped over dim=0, but got dim={dim}")

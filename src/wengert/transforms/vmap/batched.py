"""The tensor that a mapped function sees: one example in shape, the whole batch in memory.

A ``Batched`` hides the first dimension of its ``value``, an ordinary tensor (or a ``Batched`` of an outer map).
Operators on it are done on the value (see ``dispatch``), so the value is what is recorded: gradients, hooks, higher
derivatives need nothing further. Its own array is a read-only placeholder, full of NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...dispatch.torch_function import disabled
from ...functions.indexing import getitem, native_view, native_write, setitem
from ...functions.show import written
from ...functions.sizes import sizes_given
from ...graph.modes import Scope, map_levels, modes, no_grad, transforms
from ...tensor.functions import function
from ...tensor.native_call import hider
from ...tensor.tensor import Tensor
from ...tensor.types import contiguous_format
from .. import NO_BACKWARD
from ..grad_scope import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NO_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
    "internals, please file a bug report."
)
NO_BRANCH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
    "yet, please file an issue at https://github.com/pytorch/pytorch/issues . Inside a mapped function a tensor stands "
    "for all examples at once: choose between values with torch.where."
)
NO_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"
NO_GRAD_MODE = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of "
    "a function being transformed by a functorch transform. This is unsupported, please attempt to use the functorch "
    "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being "
    "transformed instead."
)


class VmapLevel(Scope):
    """One map that is running; ``number``: how deep it is in maps, ``depth``: in any transforms, ``over``: has run."""

    def __init__(self, size: int, randomness: str = "error", directions: bool = False) -> None:
        self.size, self.randomness = size, randomness
        self.directions = directions  # nothing varies along the map but tangents
        outer = map_levels.get()
        self.number = outer[-1].number + 1 if outer else 1
        self.depth = self.number
        self.over = False

    def _states(self, now: Any) -> Any:
        before = map_levels.get()
        self.depth = max(self.number, transforms.get()[0])
        return (*before, self), before, self

    def _put(self, levels: tuple[Any, ...]) -> None:
        self.over = not levels or levels[-1] is not self
        map_levels.set(levels)


class without(Scope):
    """Inside, the innermost map is disabled: what is drawn or made there is made once."""

    _put = staticmethod(map_levels.set)

    def _states(self, now: Any) -> Any:
        before = map_levels.get()
        return before[:-1], before, None


_ALL = slice(None)
_NAN: dict[Any, bytes] = {}


def placeholder(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """A read-only array of this shape and type over one element: NaN where the type has it, else 0."""
    memory = _NAN.get(dtype)
    if memory is None:
        memory = _NAN[dtype] = np.full((), np.nan if dtype.kind in "fcVW" else 0).astype(dtype).tobytes()
    return np.ndarray(shape, dtype, memory, 0, (0,) * len(shape))


def wrapped(value: Any, level: VmapLevel) -> Batched:
    """``value`` with its first dimension hidden."""
    found: Batched | None = _hidden(value, level)
    if found is not None:
        return found
    a = value._wg_data
    t: Batched = object.__new__(Batched)
    t._wg_data, t._wg_edge, t._wg_meta = placeholder(a.shape[1:], a.dtype), None, None
    t._wg_vc = value._wg_vc
    t.value, t.level, t.given, t.user_requires_grad, t.alike = value, level, None, False, None
    return t


def expanded(x: Any, level: VmapLevel) -> Any:
    """The value of ``x`` at ``level``: an ``x`` that does not vary there is repeated, without a copy."""
    if type(x) is Batched and x.level is level:
        return x.value
    return _repeated(x, level)


def _repeated(x: Any, level: VmapLevel) -> Any:
    """``x`` once for each example, in a new first dimension; tangents that vary from example to example go along."""
    own = {f: t for f, t in ((f, f.tangent(x)) for f in modes().levels) if t is not None and level in unwrap_all(t)[1]}
    for f in own:
        x = f.primal(x)
    found = function("expand")(function("unsqueeze")(x, 0), (level.size, *x._wg_data.shape))
    for f, t in own.items():
        f.attach(found, unwrap_levels(t, [level]))
    return found


def with_batched_primal(x: Any, level: VmapLevel) -> Any:
    """``x``; but if only its forward-mode tangent varies from example to example, ``x`` as a batched tensor."""
    if type(x) is list or type(x) is tuple:
        return type(x)(with_batched_primal(v, level) for v in x)
    if isinstance(x, Tensor) and level not in unwrap_all(x)[1]:
        for f in modes().levels:
            t = f.tangent(x)
            if t is not None and level in unwrap_all(t)[1]:
                return repeated(wrapped(_repeated(x, level), level), (level,))
    return x


def repeated(t: Any, levels: Iterable[VmapLevel]) -> Any:
    """``t``, in which every example of ``levels`` is the same."""
    found = t
    while type(t) is Batched:
        if t.level in levels:
            t.alike = t._version
        t = t.value
    return found


def all_alike(args: Any, level: VmapLevel) -> bool:
    """Whether what varies along ``level`` among ``args`` is known to be the same in every example, tangents apart."""
    rows = [x for v in args for x in (v if type(v) in (list, tuple) else (v,))]
    return all(x.alike == x._version for x in rows if type(x) is Batched and x.level is level)


def mapped_over(*values: Any) -> bool:
    """Whether some value is a batched tensor."""
    return any(type(v) is Batched for v in values)


# -- several levels at once -------------------------------------------------------------------------------------------


def unwrap_all(t: Any) -> tuple[Any, list[VmapLevel]]:
    """The ordinary tensor below all maps, and the levels that its first dimensions belong to."""
    levels: list[VmapLevel] = []
    while type(t) is Batched:
        levels.insert(0, t.level)
        t = t.value
    return t, levels


def plain(t: Any) -> Any:
    """The ordinary tensor below all maps."""
    return unwrap_all(t)[0]


def _arranged(t: Any, have: list[VmapLevel], want: list[VmapLevel]) -> Any:
    """The first dimensions of ``t``, which belong to ``have``, in the order of ``want``."""
    if have == want:
        return t
    rest = range(len(have), t._wg_data.ndim)
    return function("permute")(t, (*(have.index(x) for x in want), *rest))


def _composed(t: Any, levels: Iterable[VmapLevel]) -> Any:
    for level in levels:
        t = wrapped(t, level)
    return t


def unwrap_levels(t: Any, levels: Sequence[VmapLevel]) -> Any:
    """``t`` with the dimensions of ``levels`` in front, repeated where it does not vary; other maps stay hidden."""
    if not levels:
        return t
    inner, have = unwrap_all(t)
    missing = [x for x in levels if x not in have]
    for level in missing:
        inner = _repeated(inner, level)
        have.insert(0, level)
    others = [x for x in have if x not in levels]
    return _composed(_arranged(inner, have, [*others, *levels]), others)


def wrap_levels(t: Any, levels: Sequence[VmapLevel]) -> Any:
    """The opposite of ``lowered``: the first dimensions are those of ``levels``, and are hidden."""
    if not levels:
        return t
    inner, others = unwrap_all(t)
    have = [*others, *levels]
    want = sorted(have, key=lambda x: x.number)
    return _composed(_arranged(inner, have, want), want)


def batched_as(t: Any, new: Any) -> Any:
    """The tensor ``new``, once for each example of the batched ``t``."""
    levels = unwrap_all(t)[1]
    with no_grad():
        return wrap_levels(unwrap_levels(new, levels).clone(), levels)


# -- the class --------------------------------------------------------------------------------------------------------


def _refused(text: str, kind: type[Exception] = RuntimeError) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise kind(text)

    return method


def _no_backward(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError(NO_BACKWARD)


def _no_item(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError(NO_ITEM)


def _data_of(self: Any) -> Any:
    scope = modes().grad_scope
    if scope is None or scope.depth < self.level.number:
        raise RuntimeError("accessing `data` under vmap transform is not allowed")
    return wrapped(self.value.data, self.level)


class Batched(Tensor):
    """A tensor inside a mapped function: see the module's text."""

    __slots__ = ("alike", "given", "level", "user_requires_grad", "value")

    value: Any
    level: VmapLevel
    alike: int | None  # the version in which all examples are known to be equal, for ``randomness="same"``
    user_requires_grad: bool  # what the user calls it, inside of the map, without any effect
    given: Any  # None, or the argument of the map and the dimension of its batch, of which this one has it in front

    __torch_function__ = disabled  # type: ignore[assignment]
    __hash__ = Tensor.__hash__

    # what would have to look at the numbers of one example
    item = __float__ = __int__ = __complex__ = __index__ = _no_item
    __bool__ = _refused(NO_BRANCH)
    tolist = numpy = data_ptr = __array__ = __dlpack__ = _refused(NO_STORAGE)
    __deepcopy__ = __reduce_ex__ = storage = untyped_storage = share_memory_ = _refused(  # type: ignore[assignment]
        "Cannot access storage of BatchedTensorImpl", NotImplementedError)
    is_shared = share_memory_
    data = property(  # type: ignore[assignment]
        _data_of, _refused("mutating directly with `.data` under vmap transform is not allowed."))
    backward = _no_backward

    def __getitem__(self, key: Any) -> Any:
        level = self.level
        if not level.over and level.randomness != "same":
            view = native_view(self.value, (_ALL, *key) if type(key) is tuple else (_ALL, key))
            if view is not NotImplemented:
                return wrapped(view, level)
        return getitem(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.level.over and (type(value) is float or self._fills(key, value)):
            given = value if type(value) is float else value.value
            if native_write(self.value, (_ALL, *key) if type(key) is tuple else (_ALL, key), given):
                return
        setitem(self, key, value)

    def _fills(self, key: Any, value: Any) -> bool:
        """Whether ``value`` has a batch, and as many dimensions as the part that ``key`` stands for."""
        if type(value) is not Batched or value.level is not self.level:
            return False
        rank = self._wg_data.ndim
        for k in key if type(key) is tuple else (key,):
            if type(k) is int:
                rank -= 1
            elif type(k) is not slice:
                return False
        return bool(value._wg_data.ndim == rank)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Refused: inside a mapped function, gradients come from ``torch.func.grad`` and its kin."""
        raise RuntimeError(NO_GRAD_MODE)

    def is_conj(self) -> bool:
        return self.value.is_conj()

    def is_neg(self) -> bool:
        return self.value.is_neg()

    def _innermost(self) -> bool:
        """Whether the map is inside of every derivative that the tensor belongs to."""
        scope = modes().grad_scope
        home = None if scope is None else scope.owner(self)
        return home is None or home.number < self.level.depth

    @property
    def requires_grad(self) -> bool:
        return self.user_requires_grad if self._innermost() else self.value.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if type(value) is bool and self._innermost() and self._wg_data.dtype.kind in "fcVW":
            self.user_requires_grad = value
        else:
            self.value.requires_grad = value

    @property
    def grad_fn(self) -> Any:
        return None if self._innermost() else self.value.grad_fn

    @property
    def is_leaf(self) -> bool:
        return self._innermost() or self.value.is_leaf

    @property
    def _version(self) -> int:
        return self.value._version

    def is_inference(self) -> bool:
        return self.value.is_inference()

    def detach(self) -> Any:
        return wrapped(self.value.detach(), self.level)

    def detach_(self) -> Any:
        """Detach the value from the graph of the innermost derivative; refused where a map lies inside of it."""
        scope = modes().grad_scope
        if scope is None or scope.depth < self.level.number:
            raise RuntimeError("Can't detach views in-place. Use detach() instead. Inside of a mapped function a "
                "tensor is part of its batch.")
        self.value.detach_()
        return self

    def resize_(self, *sizes: Any, size: Any = None, memory_format: Any = None) -> Any:
        """Other sizes, for the memory of the whole batch."""
        self.value.resize_((self.level.size, *sizes_given("resize_", sizes, size)), memory_format=memory_format)
        self._wg_data = placeholder(self.value._wg_data.shape[1:], self._wg_data.dtype)
        return self

    def register_hook(self, hook: Any) -> Any:
        """Call ``hook`` with the gradient of this tensor, batched as it is."""
        if self._innermost() and not self.user_requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        level = self.level

        def inside(g: Any) -> Any:
            answer = hook(wrap_levels(g, [level]))
            return None if answer is None else unwrap_levels(answer, [level])

        return self.value.register_hook(inside)

    def stride(self, dim: int | None = None) -> Any:
        row = self.value.stride()[1:]
        return row if dim is None else row[dim]

    def storage_offset(self) -> int:
        return self.value.storage_offset()

    def is_contiguous(self, memory_format: Any = contiguous_format) -> bool:
        if memory_format is not contiguous_format:
            raise RuntimeError("NYI: querying is_contiguous inside of vmap for memory_format other than "
                "torch.contiguous_format")
        return self.value.is_contiguous()

    def contiguous(self, memory_format: Any = None) -> Any:
        """The tensor with the elements of its batch in order in memory: itself if they are."""
        return (self if self.is_contiguous(memory_format or contiguous_format)
            else wrapped(self.value.contiguous(), self.level))

    def new_empty_strided(self, size: Any, stride: Any, dtype: Any = None, **options: Any) -> Any:
        """Unset numbers with these sizes and strides for each example, one example's memory behind the other's."""
        size, stride = tuple(size), tuple(stride)
        if len(size) != len(stride):
            raise RuntimeError(f"new_empty_strided(sizes, strides): dimensionality of sizes ({len(size)}) must match "
                f"dimensionality of strides ({len(stride)})")
        apart = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride))
        return wrapped(self.value.new_empty_strided((self.level.size, *size), (apart, *stride), dtype, **options),
            self.level)

    def as_subclass(self, cls: Any) -> Any:
        return self

    def __format__(self, spec: str) -> str:
        return str(self) if not spec else format(self.item(), spec)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return shown(self, written)


Batched.__module__ = "torch"
_hidden = hider(Batched, _NAN)

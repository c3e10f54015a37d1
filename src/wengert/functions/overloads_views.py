"""In-place forms of views: the tensor becomes another view of its memory; and ``fill_diagonal_``."""

from __future__ import annotations

import warnings
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from ..arrays import uninitialized
from ..arrays.layouts import format_name, format_strides, is_in_format, seems
from ..graph.modes import RECORD, SILENT, modes
from ..ops.errors import must_be
from ..tensor import classes, types
from ..tensor.autograd_meta import bump, check_normal, requires_grad
from ..tensor.functions import function
from ..tensor.inplace import check_writable
from ..tensor.tensor import Tensor
from .composites.call import by_example
from .creation import empty_strided
from .overloads import METHODS, overload
from .overloads_shape import as_strided
from .places import described
from .sizes import shape_of, sizes_given


def _is_its_own(t: Any) -> bool:
    """Whether ``t`` is a plain tensor with a writable array, no view and of no history."""
    return (type(t) in classes.PLAIN and t._wg_meta is None and t._wg_edge is None and type(t._wg_vc) is list
        and type(t._wg_data) is np.ndarray and t._wg_data.flags.writeable)


def _in_place(name: str) -> Any:
    """``x.name_()`` for the view operator ``name``: the tensor becomes that view, which counts as a write."""
    op = as_strided if name == "as_strided" else function(name)

    def become(self: Any, *args: Any, **kwargs: Any) -> Tensor:
        m = modes()
        if (m is RECORD or m is SILENT) and _is_its_own(self) and (name != "t" or self._wg_data.ndim <= 2):
            self._wg_data = op(self, *args, **kwargs)._wg_data
            self._wg_vc[0] += 1
            return self
        if m.grad_scope is not None:
            m.grad_scope.check(self, name + "_")
        if classes.mapping is not None and classes.mapping.holds_batched((self,)):
            seen = op(self, *args, **kwargs)
            bump(self)
            self.value, self._wg_data, self.given = seen.value, seen._wg_data, None
            return self
        meta = self._wg_meta
        recording = m.grad and requires_grad(self)
        check_normal(self, m)
        check_writable(self, recording, m, shared=True)
        if name == "t" and self.ndim > 2:
            raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
        tangents = [(level, t) for level, t in ((level, level.tangent(self)) for level in m.levels) if t is not None]
        view = meta.view if meta is not None else None
        if recording or view is not None:
            seen = op(self, *args, **kwargs)
            bump(self)
            if view is not None:
                new = seen._wg_meta.view
                # a history that was not recorded is made when it is needed
                new.version = self._wg_vc[0] if recording else view.version
                new.creation = view.creation  # the mode that counts is that in which the tensor was made
                # such a view is found again by its steps, and PyTorch's do not learn this one
                if view.place(seen._wg_data) is None:
                    new.last = view.last
                meta.view = new
            self._wg_data, self._wg_edge = seen._wg_data, seen._wg_edge if recording else self._wg_edge
        else:
            self._wg_data = op(self.detach() if tangents else self, *args, **kwargs)._wg_data
            bump(self)
        for level, tangent in tangents:
            level.attach(self, become(tangent, *args, **kwargs))
        return self

    return described(become, name + "_", f"``{name}`` in place: this tensor becomes that view of its memory.")


for _name in ("squeeze", "unsqueeze", "t", "transpose", "as_strided"):
    METHODS[_name + "_"] = _in_place(_name)
METHODS["swapaxes_"] = METHODS["swapdims_"] = METHODS["transpose_"]


@overload("torch", "Tensor")
def narrow(input: Any, dim: int, start: Any, length: int) -> Tensor:
    """``length`` slices from ``start`` (an int, or a tensor of no dimensions) along ``dim``, as a view.

    >>> torch.narrow(torch.arange(6), 0, 2, 3)
    tensor([2, 3, 4])
    """
    if isinstance(start, Tensor):
        if start.ndim or start._wg_data.dtype.kind not in "iu":
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = int(start.item())
    return function("narrow")(input, dim, start, length)


@overload("Tensor")
def resize_(self: Any, *sizes: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Other sizes for the same memory, row by row; more memory, with whatever it holds, where that is too small.

    >>> torch.arange(6).resize_(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    m = modes()
    if m.grad_scope is not None:
        m.grad_scope.check(self, "resize_")
    if not m.inference and requires_grad(self):
        raise RuntimeError("cannot resize variables that require grad")
    if self._wg_meta is not None and self._wg_meta.tangents:
        raise RuntimeError("cannot resize variables that has a forward grad")
    shape = sizes_given("resize_", sizes, size)
    if any(n < 0 for n in shape) or prod(shape) >= 2**63:
        raise RuntimeError("numel: integer multiplication overflow")
    if prod(shape) * self._wg_data.itemsize >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    if 0 in shape and prod(max(n, 1) for n in shape[1:]) * self._wg_data.itemsize >= 2**63:
        raise RuntimeError("Stride calculation overflowed")
    kind = format_name(memory_format)
    if kind == "preserve_format":
        raise RuntimeError("Unsupported memory formatPreserve")
    strides = list(format_strides(shape, memory_format)) if kind else [prod(shape[i + 1 :]) for i in range(len(shape))]
    if shape == self._wg_data.shape and (kind is None or is_in_format(self._wg_data, memory_format)):
        return self
    check_normal(self, m)
    bump(self)
    try:
        self._wg_data = self.detach().as_strided(shape, strides)._wg_data
    except RuntimeError:  # out of bounds
        larger = uninitialized.empty(prod(shape), self._wg_data.dtype)
        old = self._wg_data.reshape(-1)
        larger[: old.size] = old
        self._wg_data = np.lib.stride_tricks.as_strided(larger, shape, [s * larger.itemsize for s in strides])
    return self


@overload("Tensor")
def resize_as_(self: Any, the_template: Any, *, memory_format: Any = None) -> Tensor:
    """``resize_`` to the sizes of another tensor."""
    if format_name(memory_format) != "preserve_format":
        return resize_(self, the_template.shape, memory_format=memory_format)
    seen = seems(the_template._wg_data)
    return resize_(self, the_template.shape,
        memory_format=None if seen == "contiguous_format" else getattr(types, seen))


@overload("Tensor")
def broadcast_to(self: Any, *sizes: Any, size: Any = None) -> Tensor:
    """The tensor in larger sizes, with the elements repeated without copying them: ``expand``."""
    return self.expand(sizes_given("broadcast_to", sizes, size))


@overload("Tensor")
def resize(self: Any, *sizes: Any) -> Tensor:
    """The same elements in other sizes: ``view``. Deprecated, with a warning."""
    return _resized(self, "resize", shape_of(sizes))


@overload("Tensor")
def resize_as(self: Any, tensor: Any) -> Tensor:
    """The same elements in the sizes of another tensor. Deprecated, with a warning."""
    return _resized(self, "resize_as", tensor._wg_data.shape)


def _resized(self: Any, name: str, shape: tuple[int, ...]) -> Any:
    warnings.warn(f"non-inplace {name} is deprecated", stacklevel=3)
    if prod(shape) != self._wg_data.size:
        raise RuntimeError(f"requested resize to {'x'.join(map(str, shape))} ({prod(shape)} elements in total), but "
            f"the given tensor has a size of {'x'.join(map(str, self._wg_data.shape))} ({self._wg_data.size} "
            "elements). autograd's resize can only change the shape of a given tensor, while preserving the number of "
            "elements. ")
    return self.contiguous().view(shape)


@overload("Tensor")
def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write ``fill_value`` where all indices are equal; ``wrap`` starts again below the square top of a tall matrix.

    >>> torch.zeros(2, 3).fill_diagonal_(1)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    scope = modes().grad_scope
    if scope is not None:
        scope.check(self, "fill_diagonal_")
    if isinstance(fill_value, Tensor) and not fill_value.ndim:
        fill_value = fill_value.item()
    if not isinstance(fill_value, (int, float, complex)):
        raise must_be("fill_diagonal_", "fill_value", 1, fill_value, "Number")
    shape, strides = self.shape, self.stride()
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    side, wrap = min(shape), bool(wrap)
    if len(shape) == 2 and not wrap and not (modes().grad and self.requires_grad):
        self.diagonal().fill_(fill_value)
        return self
    start, step = self.storage_offset(), sum(strides)
    self.as_strided((side,), (step,), start).fill_(fill_value)
    if wrap and len(shape) == 2 and side:
        for top in range(side + 1, shape[0], side + 1):
            self.as_strided((min(side, shape[0] - top),), (step,), start + top * strides[0]).fill_(fill_value)
    return self


@overload("Tensor")
def narrow_copy(input: Any, dim: int, start: Any, length: int) -> Tensor:
    """``narrow`` in memory of its own."""
    return input.narrow(dim, start, length).clone()


@overload("Tensor")
@by_example
def nonzero_static(input: Any, *, size: int, fill_value: int = -1) -> Tensor:
    """The first ``size`` places of what is not zero, a row each; rows of ``fill_value`` where there are fewer."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = input.nonzero()[:size]
    answer = input.new_full((size, input.dim()), fill_value, dtype=found.dtype)
    answer[: found.shape[0]] = found
    return answer


@overload("Tensor")
def new_empty_strided(self: Any, size: Any, stride: Any, dtype: Any = None, **options: Any) -> Tensor:
    """Unset numbers with these sizes and strides, in the type of this tensor."""
    return empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype, **options)


@overload("Tensor")
def dim_order(self: Any, *, ambiguity_check: bool | list[Any] = False) -> tuple[int, ...]:
    """The dimensions from the largest to the smallest step in memory.

    ``ambiguity_check=True`` refuses a tensor whose dimensions could be told in another order too (a size of one, steps
    that are equal); a list of memory formats does so only if it is in none or in several of these.
    """
    formats = ambiguity_check if isinstance(ambiguity_check, (list, tuple)) else ()
    if (not isinstance(ambiguity_check, (bool, list, tuple))
            or not all(isinstance(f, types.memory_format) for f in formats)):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    steps = self.stride()
    several = ambiguity_check is not False and (1 in self.shape or any(a == b for a, b in pairwise(steps)))
    if several and sum(self.is_contiguous(memory_format=f) for f in formats) != 1:
        raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory "
            "formats.")
    return tuple(sorted(range(len(steps)), key=lambda d: -steps[d]))


@overload("torch", "Tensor")
def as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: Any = None) -> Tensor:
    """A copy of ``input`` with ``src`` written where ``as_strided`` would look; refused for a gradient of what is not
    contiguous.

    >>> torch.as_strided_scatter(torch.zeros(4), torch.ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.])
    """
    if isinstance(input, Tensor) and requires_grad(input) and not input.is_contiguous():
        raise RuntimeError("!self.requires_grad() || self.is_contiguous(): as_strided_scatter is currently only "
            "supported for contiguous inputs; take input.contiguous() first")
    return function("as_strided_scatter")(input, src, size, stride, storage_offset)

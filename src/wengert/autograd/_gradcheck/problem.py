"""The function, the inputs where its gradients are checked, and central differences of it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.array_likes import as_copy
from ...arrays.devices import alike, on_cpu
from ...arrays.dtypes import of
from ...dispatch.subclass_dispatch import numbers
from ...functions.creation import zeros_like
from ...tensor import Tensor, wrap
from ...tensor.types import Size, strided

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Index = tuple[int, ...]

DOUBLE = (np.dtype("f8"), np.dtype("c16"))


def row(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def checked(x: Any) -> bool:
    return isinstance(x, Tensor) and x.requires_grad


def differentiable(outputs: Any) -> tuple[Any, ...]:
    return tuple(o for o in row(outputs) if o.requires_grad)


def is_sparse(t: Any) -> bool:
    """Whether a tensor stores some places only, in whatever layout."""
    return t.layout is not strided


def dense(t: Any) -> np.ndarray:
    """The array of a tensor, with its zeros if it is sparse; from its class if that dispatches."""
    if t._wg_dispatches:
        return numbers(t)
    return t._wg_data.dense() if is_sparse(t) else on_cpu(t._wg_data)  # type: ignore[no-any-return]


def stored(t: Any) -> Any:
    """The memory of a tensor: of a sparse one, its values."""
    if t._wg_dispatches:
        return Remote(t.data)
    return t._wg_data.values if is_sparse(t) else t._wg_data


def like(t: Any, array: np.ndarray) -> Any:
    """``array`` as a tensor of the class of ``t``, if that dispatches, else as a plain one."""
    return zeros_like(t.detach()).copy_(wrap(array)) if t._wg_dispatches else wrap(alike(array, t._wg_data))


class Remote:
    """The memory of a tensor whose class dispatches: read and written through it."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    shape = property(lambda self: self.tensor._wg_data.shape)
    strides = property(lambda self: self.tensor._wg_data.strides)
    size = property(lambda self: self.tensor._wg_data.size)
    dtype = property(lambda self: self.tensor._wg_data.dtype)

    def __getitem__(self, at: Any) -> np.ndarray:
        return numbers(self.tensor[at])

    def __setitem__(self, at: Any, value: Any) -> None:
        self.tensor[at] = wrap(np.asarray(value, self.dtype))


def filled(x: Any) -> Any:
    """A sparse tensor with every place stored, so that each can be moved; any other input as it is."""
    if not (isinstance(x, Tensor) and is_sparse(x)):
        return x
    from ...layouts.sparse import sparse_coo_tensor

    a: Any = x._wg_data  # a Coo
    depth = len(a.indices)
    shape = a.shape
    indices = np.indices(shape[:depth]).reshape(depth, -1)
    values = np.ascontiguousarray(a.dense()).reshape(-1 if depth else 1, *shape[depth:])
    if not x.is_sparse:  # by rows or columns
        from ...arrays.compressed import pressed
        from ...arrays.sparse import Coo
        from ...layouts.compressed import CompressedTensor

        return CompressedTensor._wg_wrap(pressed(Coo(indices, values, shape, True), a.layout, a.block)).requires_grad_(
            x.requires_grad)
    return sparse_coo_tensor(wrap(indices), wrap(values), shape, None, x.requires_grad, False, True)


class Move:
    """A direction in one input: one element times a unit (1 or 1j), or the whole along an array."""

    __slots__ = ("array", "at", "place", "unit")

    def __init__(self, array: np.ndarray, at: Index | None, unit: Any, place: Index | None = None) -> None:
        self.array, self.at, self.unit, self.place = (array, ... if at is None else at, unit,
            at if place is None else place)

    @contextmanager
    def by(self, step: float) -> Iterator[None]:
        """Inside, the input is moved by ``step`` along the direction: in its memory, so that closures see it too."""
        before = as_copy(self.array[self.at])
        self.array[self.at] = before + step * self.unit
        try:
            yield
        finally:
            self.array[self.at] = before


def places(x: Tensor) -> Iterator[tuple[Index, Index]]:
    """Each element of ``x``: where it lies in the memory (``stored``), and where in the tensor."""
    memory = stored(x)
    if not is_sparse(x):
        for at in np.ndindex(memory.shape):
            yield at, at
        return
    a: Any = x._wg_data
    if x.is_sparse:
        for at in np.ndindex(memory.shape):
            yield at, (*map(int, a.indices[:, at[0]]), *at[1:])
        return
    elements = a.elements().shape  # the same, in blocks
    for at, place in zip(np.ndindex(memory.shape), np.ndindex(elements)):
        yield at, (*map(int, a.indices[:, place[0]]), *place[1:])


def moves(x: Tensor, unit: Any = 1) -> Iterator[Move]:
    """Moves of each element of ``x`` alone."""
    for at, place in places(x):
        yield Move(stored(x), at, unit, place)


class Problem:
    """One gradcheck: the function, where it is checked, and how closely."""

    def __init__(self, func: Callable[..., Any], inputs: tuple[Any, ...], eps: float, atol: float, rtol: float,
            nondet_tol: float = 0.0, dtypes: bool = False, masked: bool = False) -> None:
        self.func, self.inputs, self.masked = func, inputs, masked
        self.eps, self.atol, self.rtol, self.nondet_tol, self.dtypes = eps, atol, rtol, nondet_tol, dtypes
        _check_inputs(inputs)
        answer = row(func(*inputs))
        self.numbers = [i for i, o in enumerate(answer) if o.requires_grad]
        self.shapes = [(o._wg_data.shape, o._wg_data.dtype) for o in answer]
        self.outputs = [answer[i] for i in self.numbers]
        _check_outputs(self.outputs)
        self.where = [i for i, x in enumerate(inputs) if checked(x)]
        self.wanted: list[Tensor] = [inputs[i] for i in self.where]
        # What is moved: the inputs themselves, or sparse ones with all places stored.
        self.arguments = inputs if masked else tuple(map(filled, inputs))
        self.moved: list[Tensor] = [self.arguments[i] for i in self.where]

    def values(self, at: Index | None = None) -> list[np.ndarray]:
        """The outputs for the inputs as they are now, as copies; ``at``: what was moved, for the complaint."""
        answer = [np.array(dense(o)) for o in row(self.func(*self.arguments))]
        for (shape, dtype), a in zip(self.shapes, answer):
            for what, was, now in (("shape", Size(shape), Size(a.shape)), ("dtype", of(dtype), of(a.dtype))):
                if was != now:
                    where = "" if at is None else f"on index {at} "
                    raise AssertionError(
                        f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}by "
                        f"{self.eps}, but got: {what}s {was} and {now}."
                    )
        return answer

    def difference(self, move: Move) -> list[np.ndarray]:
        """The central difference of all outputs along ``move``."""
        with move.by(self.eps):
            above = self.values(move.place)
        with move.by(-self.eps):
            below = self.values(move.place)
        return [np.subtract(a, b, dtype=None if a.dtype.kind in "fcVW" else "f8") / (2 * self.eps)
            for a, b in zip(above, below)]

    def numerical(self, x: Tensor, unit: Any = 1) -> list[np.ndarray]:
        """For every output, what moving each element of ``x`` by ``unit`` does:
        ``(elements of x, elements of the output)``.
        """
        tables = [
            np.zeros((x.numel(), int(np.prod(shape))), dtype if dtype.kind in "fcVW" else "f8")
            for shape, dtype in self.shapes
        ]
        for move in moves(x, unit):
            k = int(np.ravel_multi_index(move.place, x._wg_data.shape)) if move.place else 0
            for table, d in zip(tables, self.difference(move)):
                table[k] = np.ravel(d)
        return tables

    def deterministic(self) -> bool:
        """Whether several calls give the same outputs (a coin thrown once may fall as before)."""
        first = self.values()
        return all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for _ in range(4)
            for a, b in zip(first, self.values()))


def direction(random: Any, like: Any, real: bool = False) -> Any:
    """A random unit vector with positive elements, of the shape of a tensor; only at the places that a sparse one
    stores.
    """
    memory = stored(like)
    a = random.uniform(0.1, 1, memory.shape)
    if memory.dtype.kind == "c" and not real:
        a = a + 1j * random.uniform(0.1, 1, memory.shape)
    return np.asarray(a / max(float(np.linalg.norm(a)), 1e-30))


def spread(u: np.ndarray, like: Any) -> np.ndarray:
    """A vector along the memory of ``like`` as one along its elements, flat."""
    if not is_sparse(like):
        return u.reshape(-1)
    a = like._wg_data
    return a.with_values(  # type: ignore[no-any-return]
        u if like.is_sparse else u.reshape(a.elements().shape)).dense().reshape(-1)


def close(a: Any, n: Any, atol: float, rtol: float) -> bool:
    """``allclose`` of a gradient and a difference; NaN is close to nothing."""
    return bool(np.all((a == n) | (np.abs(a - n) <= atol + rtol * np.abs(n))))


def same(a: Sequence[np.ndarray], b: Sequence[np.ndarray], tolerance: float) -> bool:
    """Whether two evaluations of the same gradients agree."""
    return all(not x.size or not np.max(np.abs(x - y)) > tolerance for x, y in zip(a, b))


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    import warnings

    for i, x in enumerate(inputs):
        if not checked(x):
            continue
        if x._wg_data.dtype not in DOUBLE:
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=5,
            )
        memory = stored(x)
        if memory.size and any(s == 0 and n > 1 for s, n in zip(memory.strides, memory.shape)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck."
            )
    if not any(map(checked, inputs)):
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have "
            "requires_grad=True.")


def _check_outputs(outputs: Sequence[Any]) -> None:
    for o in outputs:
        if is_sparse(o):
            raise ValueError(
                "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output "
                "of fn for gradcheck."
            )

"""The operations of MPI on NumPy arrays: each begins something, and gives its requests and what to do at the end.

Bytes are moved as bytes, whatever their dtype. Sums of 16-bit floats are computed in float32, bools are bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..types import ReduceOp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..types import RedOpType

Array = Any
Finish = "Callable[[Any], None] | None"


@dataclass
class Begun:
    """Requests that have begun; ``finish`` is called with their statuses when all have ended."""

    requests: Sequence[Any]
    finish: Callable[[Any], None] | None = None


def contiguous(array: Array) -> Array:
    """The array, or a copy whose elements lie one after the other."""
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def raw(array: Array) -> Array:
    """The bytes of a contiguous array."""
    return array.reshape(-1).view(np.uint8)


def flat(arrays: Sequence[Array]) -> Array:
    """The bytes of several arrays, one after the other."""
    return np.concatenate([raw(contiguous(a)) for a in arrays]) if arrays else np.empty(0, np.uint8)


def _sizes(arrays: Sequence[Array]) -> list[int]:
    return [a.nbytes for a in arrays]


def _landing(array: Array) -> tuple[Array, Callable[[], None] | None]:
    """Bytes for what comes, and what copies them where they belong if that is not contiguous."""
    if array.flags.c_contiguous and array.flags.writeable:
        return raw(array), None
    buffer = np.empty(array.shape, array.dtype)

    def settle() -> None:
        array[...] = buffer

    return raw(buffer), settle


def _after(*steps: Callable[[], None] | None) -> Callable[[Any], None] | None:
    real = [step for step in steps if step is not None]
    if not real:
        return None

    def finish(statuses: Any) -> None:
        for step in real:
            step()

    return finish


def _spread(buffer: Array, arrays: Sequence[Array]) -> Callable[[], None]:
    """What copies the parts of a buffer of bytes into arrays."""
    def settle() -> None:
        start = 0
        for array in arrays:
            array[...] = buffer[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
            start += array.nbytes

    return settle


# -- reductions ---------------------------------------------------------------------------------------------------

_OPS = {"SUM": "SUM", "AVG": "SUM", "PREMUL_SUM": "SUM", "PRODUCT": "PROD", "MIN": "MIN", "MAX": "MAX",
    "BAND": "BAND", "BOR": "BOR", "BXOR": "BXOR"}
_BOOL_OPS = {"SUM": "BOR", "MAX": "BOR", "PRODUCT": "BAND", "MIN": "BAND", "BAND": "BAND", "BOR": "BOR", "BXOR": "BXOR"}
_OF_COMPLEX = ("SUM", "AVG", "PREMUL_SUM")


class Reduction:
    """A reduction of arrays of one dtype: the dtype in which it is computed, and what is done before and after."""

    def __init__(self, MPI: Any, op: RedOpType | ReduceOp, dtype: Any, size: int):
        op = op if isinstance(op, ReduceOp) else ReduceOp(op)
        name, kind = op.name, dtype.kind
        self.dtype, self.factor, self.size = dtype, op.factor if name == "PREMUL_SUM" else None, size
        self.average = name == "AVG"
        self.inner = dtype
        if kind == "b":
            if name not in _BOOL_OPS:
                raise RuntimeError(f"Cannot use ReduceOp.{name} with bool tensors")
            self.inner, name = np.dtype(np.uint8), _BOOL_OPS[name]
        elif kind in "iu":
            if name == "AVG":
                raise RuntimeError("Cannot use ReduceOp.AVG with integral tensors")
        elif name in ("BAND", "BOR", "BXOR"):
            raise RuntimeError(f"Cannot use ReduceOp.{name} with non-integral dtype")
        elif kind != "c" and dtype.char not in "fdg":  # floats of 16 or 8 bits
            self.inner = np.dtype(np.float32)
        self.op = getattr(MPI, _OPS[name])

    def before(self, array: Array) -> Array:
        """A contiguous array for MPI; of the array itself, if it can be."""
        if self.factor is not None:
            factor = getattr(self.factor, "item", lambda: self.factor)()
            return np.ascontiguousarray((array.astype(self.inner, copy=False) * factor).astype(self.inner, copy=False))
        if self.inner is not self.dtype and self.dtype.kind == "b":
            return contiguous(array).view(np.uint8)
        return contiguous(array.astype(self.inner, copy=False))

    def after(self, array: Array) -> Array:
        """What MPI has computed, in the dtype of the tensors."""
        if self.average:
            array = np.divide(array, self.size, out=array)
        if self.dtype.kind == "b":
            return array.view(np.bool_)
        return array.astype(self.dtype, copy=False)

    def into(self, target: Array) -> tuple[Array, Callable[[], None] | None]:
        """Memory for the result, and what puts it in its place."""
        if self.inner == target.dtype and target.flags.c_contiguous and target.flags.writeable:
            return target, (lambda: self._finish(target, target)) if self.average else None
        buffer = np.empty(target.shape, self.inner)
        return buffer, lambda: self._finish(target, buffer)

    def _finish(self, target: Array, buffer: Array) -> None:
        result = self.after(buffer)
        if result is not target:
            target[...] = result


def all_reduce(comm: Any, MPI: Any, array: Array, op: Any) -> Begun:
    """Every rank's array becomes the reduction of all."""
    how = Reduction(MPI, op, array.dtype, comm.size)
    buffer, settle = how.into(array)
    source = how.before(array)
    same = source is buffer or (source.ctypes.data == buffer.ctypes.data and source.size > 0)
    request = comm.Iallreduce(MPI.IN_PLACE if same else source, buffer, how.op)
    return Begun([request], _after(settle))


def reduce(comm: Any, MPI: Any, array: Array, op: Any, root: int) -> Begun:
    """The array of the root becomes the reduction of all."""
    how = Reduction(MPI, op, array.dtype, comm.size)
    source = how.before(array)
    if comm.rank != root:
        return Begun([comm.Ireduce(source, None, how.op, root)])
    buffer, settle = how.into(array)
    same = source is buffer or (source.ctypes.data == buffer.ctypes.data and source.size > 0)
    return Begun([comm.Ireduce(MPI.IN_PLACE if same else source, buffer, how.op, root)], _after(settle))


def reduce_scatter(comm: Any, MPI: Any, output: Array, inputs: Sequence[Array], op: Any) -> Begun:
    """The output of rank i becomes the reduction of all ranks' ``inputs[i]``."""
    how = Reduction(MPI, op, output.dtype, comm.size)
    whole = len(inputs) == 1
    source = how.before(inputs[0]) if whole else np.concatenate([how.before(a).reshape(-1) for a in inputs])
    buffer, settle = how.into(output)
    if whole or len({a.size for a in inputs}) == 1:
        request = comm.Ireduce_scatter_block(source, buffer, how.op)
    else:
        request = comm.Ireduce_scatter(source, buffer, [a.size for a in inputs], how.op)
    return Begun([request], _after(settle))


# -- moves --------------------------------------------------------------------------------------------------------

def broadcast(comm: Any, MPI: Any, array: Array, root: int) -> Begun:
    """Every rank's array becomes that of the root."""
    if comm.rank == root:
        return Begun([comm.Ibcast([raw(contiguous(array)), MPI.BYTE], root)])
    buffer, settle = _landing(array)
    return Begun([comm.Ibcast([buffer, MPI.BYTE], root)], _after(settle))


def all_gather(comm: Any, MPI: Any, outputs: Sequence[Array], array: Array) -> Begun:
    """``outputs`` become the arrays of all ranks; a single output, all of them one after the other."""
    source = raw(contiguous(array))
    if len(outputs) == 1:
        buffer, settle = _landing(outputs[0])
        return Begun([comm.Iallgather([source, MPI.BYTE], [buffer, MPI.BYTE])], _after(settle))
    sizes = _sizes(outputs)
    buffer = np.empty(sum(sizes), np.uint8)
    if len(set(sizes)) == 1:
        request = comm.Iallgather([source, MPI.BYTE], [buffer, MPI.BYTE])
    else:
        request = comm.Iallgatherv([source, MPI.BYTE], [buffer, sizes, MPI.BYTE])
    return Begun([request], _after(_spread(buffer, outputs)))


def gather(comm: Any, MPI: Any, outputs: Sequence[Array], array: Array, root: int) -> Begun:
    """The root's ``outputs`` become the arrays of all ranks."""
    source = [raw(contiguous(array)), MPI.BYTE]
    if comm.rank != root:
        return Begun([comm.Igather(source, None, root)])
    buffer = np.empty(sum(_sizes(outputs)), np.uint8)
    return Begun([comm.Igather(source, [buffer, MPI.BYTE], root)], _after(_spread(buffer, outputs)))


def scatter(comm: Any, MPI: Any, array: Array, inputs: Sequence[Array], root: int) -> Begun:
    """The array of rank i becomes the root's ``inputs[i]``."""
    buffer, settle = _landing(array)
    source = [flat(inputs), MPI.BYTE] if comm.rank == root else None
    return Begun([comm.Iscatter(source, [buffer, MPI.BYTE], root)], _after(settle))


def all_to_all(comm: Any, MPI: Any, outputs: Sequence[Array], inputs: Sequence[Array]) -> Begun:
    """``outputs[j]`` of rank i becomes ``inputs[i]`` of rank j."""
    sent, received = _sizes(inputs), _sizes(outputs)
    buffer = np.empty(sum(received), np.uint8)
    request = comm.Ialltoallv([flat(inputs), sent, MPI.BYTE], [buffer, received, MPI.BYTE])
    return Begun([request], _after(_spread(buffer, outputs)))


def barrier(comm: Any, MPI: Any) -> Begun:
    """Every rank comes here before one goes on."""
    return Begun([comm.Ibarrier()])


def send(comm: Any, MPI: Any, array: Array, target: int, tag: int) -> Begun:
    """Send an array to a rank."""
    return Begun([comm.Isend([raw(contiguous(array)), MPI.BYTE], target, tag)])


def receive(comm: Any, MPI: Any, array: Array, source: int | None, tag: int,
        came: Callable[[int], None] | None = None) -> Begun:
    """Receive an array from a rank, or from whichever sends; ``came`` is told which."""
    buffer, settle = _landing(array)
    request = comm.Irecv([buffer, MPI.BYTE], MPI.ANY_SOURCE if source is None else source, tag)

    def finish(statuses: Any) -> None:
        if (count := statuses[0].Get_count(MPI.BYTE)) != array.nbytes:
            raise RuntimeError(f"a message of {count} bytes has come where {array.nbytes} were expected")
        if settle is not None:
            settle()
        if came is not None:
            came(statuses[0].Get_source())

    return Begun([request], finish)

"""The parameters that one ``fully_shard`` cuts: brought together before a forward, gradients cut after a backward.

A step of the graph does both. Its results are the whole parameters; its gradient adds up what the processes have and
leaves each its piece, as the gradient of its piece. What the graph saves of whole parameters is, where they are cut
again after the forward, a note to bring them together once more.
"""

from __future__ import annotations

from typing import Any

from ... import distributed as dist
from ...autograd import Function, Variable
from ...autograd.grad_mode import enable_grad, no_grad
from ...functions.creation import zeros
from ...functions.places import PLACES
from ...graph.modes import modes
from ..tensor import DTensor, Replicate, Shard
from ..tensor._spec import DTensorSpec, TensorMeta, contiguous_strides
from ..tensor.placement_types import _StridedShard

T = PLACES["torch"]


class Piece:
    """One parameter: where modules have it, what this process has of it, and how the whole is."""

    def __init__(self, param: Any, places: list[tuple[Any, str]], dim: int) -> None:
        self.places, self.dim = places, dim
        self.inner: DTensorSpec | None = param._spec if isinstance(param, DTensor) else None  # of tensor parallelism
        whole = param._local_tensor if self.inner is not None else param
        self.shape: tuple[int, ...] = tuple(whole.shape)

    @property
    def param(self) -> Any:
        """The cut parameter that the module has now."""
        module, name = self.places[0]
        held = module._parameters[name]
        return held if not hasattr(held, "_wg_gathered") else held._wg_gathered

    def padded(self, n: int) -> tuple[int, ...]:
        """The shape of the largest piece."""
        return tuple(-(-k // n) if d == self.dim else k for d, k in enumerate(self.shape))

    def put(self, value: Any) -> None:
        """Let the modules have ``value``."""
        for module, name in self.places:
            module._parameters[name] = value


def _count(shape: Any) -> int:
    n = 1
    for k in shape:
        n *= k
    return n


class Group:
    """The parameters of one ``fully_shard``, and what is done with them together."""

    def __init__(self, mesh: Any, pieces: list[Piece], mp: Any, reshard: bool) -> None:
        self.mesh, self.pieces, self.mp, self.reshard_after_forward = mesh, pieces, mp, reshard
        self.at = mesh.ndim - 1  # the dimension of the mesh that cuts; one before it repeats
        self.sync = self.all_reduce = True
        self.divide: float | None = None
        self.waiting: dict[int, Any] = {}  # gradients of backwards without synchronisation, whole
        self.again: list[Any] | None = None  # whole parameters, brought together again for a backward
        self.whole: list[Any] | None = None
        self.held: list[Any] | None = None  # those of the forward, where they are not cut again
        self.in_backward = False
        self.sharded: list[Any] = []
        self.hook: Any = None

    @property
    def n(self) -> int:
        """Among how many processes parameters are cut."""
        size: int = self.mesh.size(self.at)
        return size

    # -- together -----------------------------------------------------------------------------------------------------

    def gathered(self, params: list[Any]) -> list[Any]:
        """The whole parameters, without history; those of tensor parallelism are this process's part of it."""
        kind = self.mp.param_dtype
        locals_ = [p._local_tensor if kind is None else p._local_tensor.to(kind) for p in params]
        found: list[Any] = [None] * len(params)
        for dtype in dict.fromkeys(x.dtype for x in locals_):
            rows = [i for i, x in enumerate(locals_) if x.dtype == dtype]
            shapes = [self.pieces[i].padded(self.n) for i in rows]
            flat = T["cat"]([_filled(locals_[i], s) for i, s in zip(rows, shapes)])
            out = flat
            if self.n > 1:
                out = flat.new_empty((self.n * flat.shape[0],))
                dist.all_gather_into_tensor(out, flat, group=self.mesh.get_group(self.at))
            out, start = out.view(self.n, -1), 0
            for i, shape in zip(rows, shapes):
                count = _count(shape)
                found[i] = self._joined(out[:, start : start + count], self.pieces[i], shape)
                start += count
        return found

    def _joined(self, rows: Any, piece: Piece, shape: tuple[int, ...]) -> Any:
        if piece.dim == 0:
            whole = rows.reshape(self.n * shape[0], *shape[1:]) if shape else rows.reshape(())
        else:
            whole = T["cat"]([r.view(shape) for r in rows], piece.dim)
        size = piece.shape[piece.dim] if piece.shape else None
        if size is None or whole.shape[piece.dim] == size:
            return whole
        return whole.narrow(piece.dim, 0, size).contiguous()

    def unshard(self) -> None:
        """Let the modules have the whole parameters, as results of a step of the graph."""
        if self.whole is not None:
            return
        self.sharded = [p.param for p in self.pieces]
        whole = list(Gather.apply(self, *self.sharded)) if self.pieces and self.held is None else self.held or []
        self.whole = whole
        for piece, value, cut in zip(self.pieces, whole, self.sharded):
            value._wg_gathered = cut
            piece.put(value)

    def reshard(self, hold: bool = False) -> None:
        """Let the modules have the cut parameters again."""
        if self.whole is None:
            return
        for piece, cut in zip(self.pieces, self.sharded):
            piece.put(cut)
        self.held = self.whole if hold else None
        self.whole = None

    def begin_backward(self) -> None:
        """Before the backward of the module: what is computed again there needs whole parameters."""
        if not self.in_backward:
            self.in_backward = True
            Variable._execution_engine.queue_callback(self.end_backward)
            with enable_grad():
                self.unshard()

    def end_backward(self) -> None:
        """The gradients of the parameters are there."""
        if self.in_backward:
            self.in_backward, self.held, self.again = False, None, None
            self.reshard()

    # -- apart --------------------------------------------------------------------------------------------------------

    def cut_gradients(self, grads: dict[int, Any]) -> dict[int, Any]:
        """What is this process's of the sums of the gradients, by the number of the parameter; None while waiting."""
        for i, g in self.waiting.items():
            grads[i] = g if grads.get(i) is None else grads[i] + g
        if not self.sync:
            self.waiting = {i: g for i, g in grads.items() if g is not None}
            return {}
        self.waiting = {}
        found: dict[int, Any] = {}
        kind = self.mp.reduce_dtype
        given = {i: g if kind is None else g.to(kind) for i, g in grads.items() if g is not None}
        for dtype in dict.fromkeys(g.dtype for g in given.values()):
            rows = [i for i, g in given.items() if g.dtype == dtype]
            flat = self._summed(T["cat"]([self._rows(given[i], self.pieces[i]) for i in rows], 1))
            start = 0
            for i in rows:
                shape = self.pieces[i].padded(self.n)
                count = _count(shape)
                local = self.sharded_like(i)
                part = flat[start : start + count].view(shape)
                for d, k in enumerate(local.shape):
                    part = part if part.shape[d] == k else part.narrow(d, 0, k)
                found[i] = part.to(local.dtype).contiguous()
                start += count
        return found

    def sharded_like(self, i: int) -> Any:
        """This process's piece of parameter ``i``."""
        return self.pieces[i].param._local_tensor

    def _rows(self, g: Any, piece: Piece) -> Any:
        """A gradient as one row of numbers for each process."""
        shape = piece.padded(self.n)
        if not shape:
            return T["stack"]([g.reshape(1)] * self.n)
        long = tuple(k * self.n if d == piece.dim else k for d, k in enumerate(shape))
        if tuple(g.shape) != long:
            padded = g.new_zeros(long)
            padded.narrow(piece.dim, 0, g.shape[piece.dim]).copy_(g)
            g = padded
        if piece.dim == 0:
            return g.reshape(self.n, -1)
        return T["stack"]([p.reshape(-1) for p in g.split(shape[piece.dim], piece.dim)])

    def _summed(self, rows: Any) -> Any:
        flat = rows.reshape(-1).contiguous()
        if self.n > 1:
            whole, flat = flat, flat.new_empty((flat.shape[0] // self.n,))
            dist.reduce_scatter_tensor(flat, whole, dist.ReduceOp.SUM, group=self.mesh.get_group(self.at))
        if self.mesh.ndim > 1 and self.mesh.size(0) > 1 and self.all_reduce:
            dist.all_reduce(flat, group=self.mesh.get_group(0))
        if self.hook is not None:
            self.hook(flat)
        return flat / (self.mesh.size() if self.divide is None else self.divide)

    # -- what the graph saves ---------------------------------------------------------------------------------------

    def hooks(self) -> tuple[Any, Any]:
        """Hooks for saved tensors: of whole parameters a note is kept, anything else goes to the hooks outside."""
        outer = modes().saved_tensor_hooks
        whole = list(self.whole or ())
        where = [(w.data_ptr(), w.numel() * w.element_size()) if not isinstance(w, DTensor) else (0, 0) for w in whole]

        def pack(t: Any) -> Any:
            if type(t) is not DTensor and t.numel():
                start = t.data_ptr()
                for i, (first, length) in enumerate(where):
                    if first <= start < first + length:
                        return _Note(i, tuple(t.shape), t.stride(), (start - first) // t.element_size())
            return t if outer is None else outer[0](t)

        def unpack(kept: Any) -> Any:
            if isinstance(kept, _Note):
                with no_grad():
                    return self._back(kept)
            return kept if outer is None else outer[1](kept)

        return pack, unpack

    def _back(self, note: _Note) -> Any:
        if self.again is None:
            self.again = (self.gathered([p.param for p in self.pieces]) if self.whole is None
                else [w.detach() for w in self.whole])
        whole = self.again[note.which]
        return whole.as_strided(note.shape, note.stride, note.offset)


class _Note:
    """Which whole parameter a graph has saved, and how it looked at it."""

    def __init__(self, which: int, shape: Any, stride: Any, offset: int) -> None:
        self.which, self.shape, self.stride, self.offset = which, shape, stride, offset


def _filled(local: Any, shape: tuple[int, ...]) -> Any:
    """The numbers of a piece as a row, with zeros up to the length of the largest."""
    if tuple(local.shape) == shape:
        return local.reshape(-1)
    padded = zeros(shape, dtype=local.dtype)
    part = padded
    for d, k in enumerate(local.shape):
        part = part.narrow(d, 0, k)
    part.copy_(local)
    return padded.view(-1)


class Gather(Function):
    """From the cut parameters of a group to the whole ones."""

    @staticmethod
    def forward(ctx: Any, group: Group, *params: Any) -> Any:  # type: ignore[override]
        ctx.group, ctx.specs, ctx.last = group, [p._spec for p in params], not group.in_backward
        ctx.set_materialize_grads(False)
        found = []
        for piece, whole in zip(group.pieces, group.gathered(list(params))):
            inner = piece.inner
            if inner is not None:
                whole = DTensor._around(whole, inner.mesh, inner.placements, inner.shape, inner.stride)
            found.append(whole)
        frozen = [w for w, p in zip(found, params) if not p.requires_grad]
        if frozen:
            ctx.mark_non_differentiable(*frozen)
        return tuple(found)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:  # type: ignore[override]
        group = ctx.group
        given: dict[int, Any] = {}
        for i, g in enumerate(grads):
            if g is None:
                continue
            inner = group.pieces[i].inner
            if inner is not None:
                if g.placements != inner.placements:
                    g = g.redistribute(placements=inner.placements)
                g = g._local_tensor
            given[i] = g.detach()
        cut = group.cut_gradients(given)
        if ctx.last:
            group.end_backward()
        row = [None if cut.get(i) is None else DTensor(cut[i], spec) for i, spec in enumerate(ctx.specs)]
        return None, *row


def cut_parameter(param: Any, mesh: Any, dim: int) -> Any:
    """This process's piece of a parameter, as a DTensor; of one of tensor parallelism on both meshes."""
    from ...functions.parameter import Parameter
    from ..tensor import distribute_tensor

    cut = [Replicate()] * (mesh.ndim - 1)
    if not isinstance(param, DTensor):
        made = distribute_tensor(param.detach(), mesh, [*cut, Shard(dim)], src_data_rank=None)
        return Parameter(made, requires_grad=param.requires_grad)
    spec = param._spec
    inner = [p.dim for p in spec.placements if isinstance(p, Shard)]
    factor = _count(spec.mesh.size(i) for i, p in enumerate(spec.placements) if isinstance(p, Shard) and p.dim == dim)
    outer: Any = _StridedShard(dim, split_factor=factor) if dim in inner else Shard(dim)
    n, at = mesh.size(mesh.ndim - 1), mesh.get_local_rank(mesh.ndim - 1)
    local = param._local_tensor.detach()
    length, start = Shard.local_shard_size_and_offset(local.shape[dim], n, at)
    whole_mesh = joined_mesh(mesh, spec.mesh)
    meta = TensorMeta(spec.shape, contiguous_strides(spec.shape), spec.dtype)
    both = DTensorSpec(whole_mesh, (*cut, outer, *spec.placements), tensor_meta=meta)
    return Parameter(DTensor(local.narrow(dim, start, length).clone(), both), requires_grad=param.requires_grad)


def joined_mesh(outer: Any, inner: Any) -> Any:
    """The mesh of which both are dimensions."""
    root = outer._get_root_mesh() if hasattr(outer, "_get_root_mesh") else outer._root
    names = (*(outer.mesh_dim_names or ()), *(inner.mesh_dim_names or ()))
    if root is None or root == outer:
        raise ValueError("fully_shard of parameters of tensor parallelism needs both meshes to be dimensions of one.")
    return root if root.mesh_dim_names == names else root[names]

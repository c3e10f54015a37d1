"""The parameters that one ``fully_shard`` cuts: brought together before a forward, gradients cut after a backward.

A step of the graph does both. Its results are the whole parameters; its gradient adds up what the processes have, and
at the end of the backward each parameter gets this process's piece, which has travelled meanwhile. What the graph saves
of whole parameters is, where they are cut again after the forward, a note to bring them together once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import distributed as dist
from ...autograd import Function, Variable, backward
from ...autograd.grad_mode import enable_grad, no_grad
from ...functions.creation import zeros
from ...functions.places import PLACES
from ...graph.modes import modes
from ...tensor.autograd_meta import edge_of, meta_of
from ..tensor import DTensor, Replicate, Shard
from ..tensor._spec import DTensorSpec, TensorMeta, contiguous_strides
from ..tensor.placement_types import _StridedShard

if TYPE_CHECKING:
    from collections.abc import Callable

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
        self.coming: Coming | None = None  # begun before it is needed
        self.summing: list[Summing] = []  # of the backward that runs
        self.before: Group | None = None  # in the last forward
        self.next: Group | None = None
        self.token = zeros((), requires_grad=True)  # what the graph has in place of the parameters

    @property
    def n(self) -> int:
        """Among how many processes parameters are cut."""
        size: int = self.mesh.size(self.at)
        return size

    # -- together -----------------------------------------------------------------------------------------------------

    def gathered(self, params: list[Any]) -> list[Any]:
        """The whole parameters, without history; those of tensor parallelism are this process's part of it."""
        coming, self.coming = self.coming, None
        if coming is None or not coming.is_of(params):
            coming = Coming(self, params)
        return coming.whole()

    def prefetch(self) -> None:
        """Begin to bring the parameters together."""
        if self.whole is None and self.held is None and self.coming is None and self.n > 1 and self.pieces:
            self.coming = Coming(self, [p.param for p in self.pieces], in_advance=True)

    def joined(self, rows: Any, piece: Piece, shape: tuple[int, ...]) -> Any:
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
        token = self.token if any(p.requires_grad for p in self.sharded) else self.token.detach()
        gathers = self.pieces and self.held is None
        whole = list(Gather.apply(self, token, tuple(self.sharded))) if gathers else self.held or []
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
            Variable._execution_engine.queue_callback(_Later(self.end_backward, self.give_up))
            with enable_grad():
                self.unshard()

    def end_backward(self) -> None:
        """The gradients of the parameters are there."""
        if self.in_backward:
            self.in_backward, self.held, self.again = False, None, None
            self.reshard()

    def give_up(self) -> None:
        """What a backward has left that has failed is not used."""
        self.end_backward()
        self.summing.clear()

    # -- apart --------------------------------------------------------------------------------------------------------

    def sum_up(self, params: tuple[Any, ...], grads: dict[int, Any]) -> None:
        """Begin to add up gradients, by the numbers of the parameters, or keep them for a later backward."""
        kind = self.mp.reduce_dtype
        grads = {i: g if kind is None else g.to(kind) for i, g in grads.items()}
        for i, g in self.waiting.items():
            grads[i] = g + grads[i] if i in grads else g
        self.waiting = {} if self.sync else grads
        if not self.sync:
            return
        if not self.summing:
            Variable._execution_engine.queue_callback(_Later(self.deliver, self.give_up))
        for dtype in dict.fromkeys(g.dtype for g in grads.values()):
            self.summing.append(Summing(self, params, {i: g for i, g in grads.items() if g.dtype == dtype}))

    def deliver(self) -> None:
        """At the end of the backward: give the parameters the sums, which have come meanwhile."""
        summing, self.summing = self.summing, []
        for one in summing:
            for p, g in one.pieces():
                _give(p, g)

    def rows_of(self, g: Any, piece: Piece) -> Any:
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
        return whole.as_strided(note.shape, note.stride, whole.storage_offset() + note.offset)


class _Later:
    """What is called when a backward is over, and what if it fails."""

    def __init__(self, over: Callable[[], None], abandoned: Callable[[], None]) -> None:
        self.over, self.abandoned = over, abandoned

    def __call__(self) -> None:
        self.over()


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


def _give(p: Any, g: Any) -> None:
    """Add ``g`` to the gradient of ``p``; hooks of ``p`` see it."""
    edge = edge_of(p)
    if (edge is not None and edge[0].hooks is not None) or meta_of(p).post_hooks is not None:
        backward([p], [g])
    elif p.grad is None:
        p.grad = g
    else:
        with no_grad():
            p.grad += g


class Coming:
    """Parameters of a group on their way to all processes."""

    def __init__(self, group: Group, params: list[Any], in_advance: bool = False) -> None:
        self.group, self.locals = group, [p._local_tensor for p in params]
        self.versions = [x._version for x in self.locals]
        self.parts: list[Any] = []
        kind, n = group.mp.param_dtype, group.n
        given = [x if kind is None else x.to(kind) for x in self.locals]
        for dtype in dict.fromkeys(x.dtype for x in given):
            rows = [i for i, x in enumerate(given) if x.dtype == dtype]
            shapes = [group.pieces[i].padded(n) for i in rows]
            flat, work = T["cat"]([_filled(given[i].detach(), s) for i, s in zip(rows, shapes)]), None
            out = flat
            if n > 1:
                out = flat.new_empty((n * flat.shape[0],))
                work = dist.all_gather_into_tensor(out, flat, group=group.mesh.get_group(group.at), async_op=in_advance)
            self.parts.append((rows, shapes, out, work))

    def is_of(self, params: list[Any]) -> bool:
        """Whether these are the parameters, with the numbers that they have now."""
        return all(p._local_tensor is x and x._version == v for p, x, v in zip(params, self.locals, self.versions))

    def whole(self) -> list[Any]:
        """The whole parameters, when they have come."""
        found: list[Any] = [None] * len(self.locals)
        for rows, shapes, out, work in self.parts:
            if work is not None:
                work.wait()
            table, start = out.view(self.group.n, -1), 0
            for i, shape in zip(rows, shapes):
                count = _count(shape)
                found[i] = self.group.joined(table[:, start : start + count], self.group.pieces[i], shape)
                start += count
        return found


class Summing:
    """Gradients of one type on their way to their sums, of which each process gets its piece."""

    underway: list[Any] = []

    def __init__(self, group: Group, params: tuple[Any, ...], grads: dict[int, Any]) -> None:
        self.group, self.params, self.numbers = group, params, list(grads)
        flat = T["cat"]([group.rows_of(g, group.pieces[i]) for i, g in grads.items()], 1).reshape(-1)
        self.work = None
        if group.n > 1:
            while len(self.underway) > 1:  # whole gradients take memory
                self.underway.pop(0).wait()
            whole, flat = flat, flat.new_empty((flat.shape[0] // group.n,))
            self.work = dist.reduce_scatter_tensor(flat, whole, group=group.mesh.get_group(group.at), async_op=True)
            self.underway.append(self.work)
        self.flat = flat

    def pieces(self) -> list[tuple[Any, Any]]:
        """The parameters and their gradients."""
        group, flat = self.group, self.flat
        if self.work is not None:
            self.work.wait()
            if self.work in self.underway:
                self.underway.remove(self.work)
        if group.mesh.ndim > 1 and group.mesh.size(0) > 1 and group.all_reduce:
            dist.all_reduce(flat, group=group.mesh.get_group(0))
        if group.hook is not None:
            group.hook(flat)
        flat, start, found = flat / (group.mesh.size() if group.divide is None else group.divide), 0, []
        for i in self.numbers:
            p, shape = self.params[i], group.pieces[i].padded(group.n)
            part = flat[start : start + _count(shape)].view(shape)
            start += _count(shape)
            for d, k in enumerate(p._local_tensor.shape):
                part = part if part.shape[d] == k else part.narrow(d, 0, k)
            found.append((p, DTensor(part.to(p.dtype).contiguous(), p._spec)))
        return found


class Gather(Function):
    """From the cut parameters of a group to the whole ones."""

    @staticmethod
    def forward(ctx: Any, group: Group, token: Any, params: tuple[Any, ...]) -> Any:  # type: ignore[override]
        ctx.group, ctx.params, ctx.last = group, params, not group.in_backward
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
        group.sum_up(ctx.params, given)
        if ctx.last:
            group.end_backward()
        return None, None, None


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

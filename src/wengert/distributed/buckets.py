"""Buckets: flat tensors in which the gradients of several parameters travel together."""

from __future__ import annotations

from collections import defaultdict
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import wengert
from wengert.graph import no_grad

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wengert import Tensor

_DEFAULT_FIRST_BUCKET_BYTES = 2**20  # the first is small: it is full early, so communication begins early
_COALESCED_BYTES = 250 * 2**20


class BuiltinCommHookType(IntEnum):
    """Hooks that ``DistributedDataParallel._register_builtin_comm_hook`` takes."""

    ALLREDUCE = 0
    FP16_COMPRESS = 1


class GradBucket:
    """A flat tensor of gradients, as a communication hook gets it.

    >>> from wengert.distributed.buckets import Bucket
    >>> weight = torch.nn.Parameter(torch.ones(2, 2))
    >>> bucket = Bucket([0], [weight]).shown(0, last=True)
    >>> bucket.buffer().shape, bucket.gradients()[0].shape, bucket.is_last()
    (torch.Size([4]), torch.Size([2, 2]), True)
    """

    def __init__(self, bucket: Bucket, index: int, last: bool) -> None:
        self._bucket, self._index, self._last = bucket, index, last
        self._buffer, self._views = bucket.buffer, bucket.views

    def index(self) -> int:
        """The place of this bucket among all: they are reduced in this order, which is about that of the backward."""
        return self._index

    def buffer(self) -> Tensor:
        """The gradients one after another, of one dtype, in a tensor of one dimension."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Put another tensor of as many elements in the place of the buffer."""
        self._buffer, self._views = buffer, self._bucket.views_of(buffer)

    def gradients(self) -> list[Tensor]:
        """The gradient of each parameter: views of the buffer."""
        return list(self._views)

    def parameters(self) -> list[Tensor]:
        """The parameters that the gradients are of."""
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        """Whether it is the last bucket of this backward."""
        return self._last


class Bucket:
    """Parameters whose gradients travel together. ``numbers``: their places among all parameters."""

    def __init__(self, numbers: list[int], parameters: list[Tensor], sparse: bool = False) -> None:
        self.numbers, self.parameters, self.sparse = numbers, parameters, sparse
        self.pending = len(numbers)
        self.reduction: Any = None  # under way: work or a future
        self.buffer: Any = None  # of a sparse bucket: its gradient
        self.views: list[Tensor] = []
        if not sparse:
            first = parameters[0]
            with no_grad():
                self.buffer = wengert.zeros(sum(p.numel() for p in parameters), dtype=first.dtype, device=first.device)
                self.views = self.views_of(self.buffer)

    def views_of(self, buffer: Tensor) -> list[Tensor]:
        """Views of a flat tensor with the shapes of the parameters, and their strides if those are without gaps."""
        views, offset = [], 0
        with no_grad():
            for p in self.parameters:
                dense = not p.is_contiguous() and _without_gaps(p)
                part = buffer.narrow(0, offset, p.numel())
                views.append(part.as_strided(p.shape, p.stride(), part.storage_offset()) if dense
                    else part.view(p.shape))
                offset += p.numel()
        return views

    def shown(self, index: int, last: bool) -> GradBucket:
        """The bucket as a communication hook gets it."""
        return GradBucket(self, index, last)


def _without_gaps(p: Tensor) -> bool:
    reach = 1 + sum((size - 1) * stride for size, stride in zip(p.shape, p.stride()))
    return p.numel() == reach and all(p.stride())


def bucket_assignment(tensors: Sequence[Tensor], limits: Sequence[int], sparse: Sequence[bool] = (),
        order: Sequence[int] = ()) -> tuple[list[list[int]], list[int]]:
    """Which tensors share a bucket, and how many bytes each bucket was to hold.

    A bucket has tensors of one dtype and device and is closed when it holds its limit; the next of its kind has the
    next limit, and the last limit stays. A tensor with a sparse gradient stands alone. ``order``: the order in which
    tensors come; else as listed, and the buckets are sorted by their first tensors.

    >>> from wengert.distributed.buckets import bucket_assignment
    >>> bucket_assignment([torch.zeros(10), torch.zeros(5), torch.zeros(100)], [40, 400])
    ([[0], [1, 2]], [40, 400])
    """
    filling: dict[Any, tuple[list[int], list[int]]] = {}  # by kind: numbers, and [bytes]
    limit_of: defaultdict[Any, int] = defaultdict(int)
    done: list[tuple[list[int], int]] = []
    for place, tensor in enumerate(tensors):
        number = order[place] if order else place
        if sparse and sparse[number]:
            done.append(([number], 0))
            continue
        kind = tensor.dtype, str(tensor.device)
        numbers, held = filling.setdefault(kind, ([], [0]))
        numbers.append(number)
        held[0] += tensor.numel() * tensor.element_size()
        if held[0] >= limits[limit_of[kind]]:
            done.append((filling.pop(kind)[0], limits[limit_of[kind]]))
            limit_of[kind] = min(limit_of[kind] + 1, len(limits) - 1)
    done += [(numbers, limits[limit_of[kind]]) for kind, (numbers, _) in filling.items()]
    if not order:
        done.sort(key=lambda pair: min(pair[0]))
    return [numbers for numbers, _ in done], [limit for _, limit in done]


def broadcast_coalesced(group: Any, tensors: Sequence[Tensor], size: int = _COALESCED_BYTES, src: int = 0) -> None:
    """Give all processes of ``group`` the tensors of its rank ``src``, several of them at once up to ``size`` bytes."""
    from wengert import distributed as dist

    with no_grad():
        for some in _lots(tensors, size):
            flat = wengert.cat([t.detach().reshape(-1) for t in some])
            dist.broadcast(flat, group=group, group_src=src)
            for t, part in zip(some, flat.split([t.numel() for t in some])):
                t.detach().copy_(part.view(t.shape))


def _lots(tensors: Sequence[Tensor], size: int) -> Iterator[list[Tensor]]:
    """The tensors by dtype and device, and in lots of at most ``size`` bytes."""
    kinds: defaultdict[Any, list[Tensor]] = defaultdict(list)
    for t in tensors:
        kinds[t.dtype, str(t.device)].append(t)
    for same in kinds.values():
        lot: list[Tensor] = []
        held = 0
        for t in same:
            needed = t.numel() * t.element_size()
            if lot and held + needed > size:
                yield lot
                lot, held = [], 0
            lot.append(t)
            held += needed
        yield lot


_broadcast_coalesced = broadcast_coalesced
_compute_bucket_assignment_by_size = bucket_assignment

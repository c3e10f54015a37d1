"""The reducer: sends the gradients of a module to the other processes while the backward still runs.

A gradient that is complete is copied into its bucket. A bucket that is full is reduced, in the order of the buckets,
which is the same everywhere. When the last one is under way, the end of the backward waits for all of them, and the
parameters get what has come out.
"""

from __future__ import annotations

import warnings
import weakref
from typing import TYPE_CHECKING, Any

import wengert
from wengert.graph import no_grad
from wengert.graph.engine import queue_callback, reachable_nodes
from wengert.tensor.autograd_meta import edge_of

from .buckets import Bucket, bucket_assignment
from .deferred import Follower, deferring
from .sparse import sum_sparse
from .types import DebugLevel, get_debug_level

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wengert import Tensor

    Hook = Callable[[Any, Any], Any]


class Reducer:
    """Averages gradients over the processes of a group.

    ``names``: of the parameters. ``limits``: bytes of the first bucket, and of the others. ``sparse``: whether the
    gradient of a parameter will be sparse. ``search``: find the parameters that a forward has not used. ``as_views``:
    ``.grad`` is a view of its bucket, so nothing is copied back. ``static``: every iteration uses the same parameters,
    each as often as in the first.
    """

    def __init__(self, parameters: list[Tensor], names: list[str], group: Any, buckets: list[list[int]],
            limits: tuple[int, int], sparse: list[bool], search: bool = False, as_views: bool = False,
            static: bool = False) -> None:
        self.parameters, self.names, self.group, self.sparse = parameters, names, group, sparse
        self.limits, self.search, self.as_views, self.static = limits, search, as_views, static
        self.world = self.divisor = group.size()
        self.hook: Hook | None = None
        self.state: Any = None
        self._follower: Follower | None = None
        self.iterations = 0
        self.accumulates = False  # the last forward was within no_sync
        self._warned = False
        self.rebuilt = False
        self.uses: list[int] | None = None  # static: how often each parameter's gradient arrives in a backward
        self._awaiting = self._started = False
        self._order: list[int] = []  # in which the gradients of this backward got ready
        self._ready: list[bool] = [False] * len(parameters)
        self._left: list[int] = []
        self._unused: list[int] = []
        self._forward_work: tuple[Any, bool] | None = None
        self._make(buckets)
        here = weakref.ref(self)
        handles = [p.register_post_accumulate_grad_hook(_arrival(here, i)) for i, p in enumerate(parameters)]
        self._removed = weakref.finalize(self, _remove, handles)

    def use_hook(self, hook: Hook, state: Any) -> None:
        """Reduce buckets by ``hook(state, bucket)``. Where calls are compared, it does not work beside the backward."""
        self.hook, self.state = hook, state
        if get_debug_level() is not DebugLevel.DETAIL:
            self._follower = Follower()
            weakref.finalize(self, self._follower.end)

    def remove_hooks(self) -> None:
        """Let the parameters' gradients be."""
        self._removed()

    # -- the buckets ---------------------------------------------------------------------------------------------------

    def _make(self, buckets: list[list[int]]) -> None:
        self.buckets = [Bucket(numbers, [self.parameters[i] for i in numbers], self.sparse[numbers[0]])
            for numbers in buckets]
        self._place: dict[int, tuple[Bucket, int]] = {number: (bucket, i) for bucket in self.buckets
            for i, number in enumerate(bucket.numbers)}

    def rebuild(self) -> bool:
        """Before a forward: order the buckets as the gradients have arrived, once. Whether it has done so."""
        self.check_finished()
        if self.rebuilt or not self._rebuilds() or len(self._order) != len(self.parameters):
            return False
        from wengert import distributed as dist

        order = wengert.tensor(self._order, dtype=wengert.int64)
        dist.broadcast(order, group=self.group, group_src=0)
        numbers = order.tolist()
        buckets, _ = bucket_assignment([self.parameters[i] for i in numbers], self.limits, self.sparse, numbers)
        kept = {id(view): number for number, view in self._views().items()} if self.as_views else {}
        self._make(buckets)
        for number, view in self._views().items():
            if kept and id(self.parameters[number].grad) in kept:
                with no_grad():
                    view.copy_(self.parameters[number].grad)
                self.parameters[number].grad = view
        self.rebuilt = True
        return True

    def _rebuilds(self) -> bool:
        return self.static or not self.search

    def _views(self) -> dict[int, Tensor]:
        return {number: bucket.views[i] for number, (bucket, i) in self._place.items() if not bucket.sparse}

    # -- around a forward ----------------------------------------------------------------------------------------------

    def check_finished(self) -> None:
        """Raise if parameters of the backward before have got no gradient."""
        if not self._started:
            return
        missing = [i for i, ready in enumerate(self._ready) if not ready]
        self._started = self._awaiting = False
        names = ", ".join(self.names[i] for i in missing)
        raise RuntimeError("Expected to have finished reduction in the prior iteration before starting a new one. "
            "This error indicates that your module has parameters that were not used in producing loss. You can "
            "enable unused parameter detection by passing the keyword argument `find_unused_parameters=True` to "
            "`torch.nn.parallel.DistributedDataParallel`, and by \nmaking sure all `forward` function outputs "
            "participate in calculating loss. \nIf you already have done the above, then the distributed data parallel "
            "module wasn't able to locate the output tensors in the return value of your module's `forward` function. "
            "Please include the loss function and the structure of the return value of `forward` of your module when "
            "reporting this issue (e.g. list, dict, iterable).\n"
            f"Parameters which did not receive grad for rank {self.group.rank()}: {names}\n"
            f"Parameter indices which did not receive grad for rank {self.group.rank()}: "
            f"{' '.join(map(str, missing))}")

    def expect(self, outputs: Sequence[Tensor]) -> None:
        """A forward has given ``outputs``: the next backward reduces."""
        self.check_finished()
        self._awaiting = True
        self._next = 0
        self._order = []
        self._ready = [False] * len(self.parameters)
        self._used = [0] * len(self.parameters)
        self._map_work: Any = None
        for bucket in self.buckets:
            bucket.pending = len(bucket.numbers)
        self._unused = []
        if self.static:
            if self.uses is not None:
                self._left = list(self.uses)
                self._unused = [i for i, uses in enumerate(self.uses) if not uses]
            else:
                self._left = [0] * len(self.parameters)
        elif self.search:
            self._unused = self._not_reached(outputs)
        self.divisor = self.world
        if self._forward_work is not None:
            (work, tensor), initial = self._forward_work
            work.wait()
            self.divisor = self.world if initial else int(tensor.item())
            self._forward_work = None

    def _not_reached(self, outputs: Sequence[Tensor]) -> list[int]:
        reached = reachable_nodes([e for t in outputs if (e := edge_of(t)) is not None])
        ends = [edge_of(p) for p in self.parameters]
        unused = [i for i, edge in enumerate(ends) if edge is None or edge[0] not in reached]
        if not unused and self.iterations == 0:
            warnings.warn("find_unused_parameters=True was specified in DDP constructor, but did not find any unused "
                "parameters in the forward pass. This flag results in an extra traversal of the autograd graph every "
                "iteration,  which can adversely affect performance. If your model indeed never has any unused "
                "parameters in the forward pass, consider turning this flag off. Note that this warning may be a "
                "false positive if your model has flow control causing later iterations to have unused parameters.",
                stacklevel=2)
        return unused

    def count_processes(self, work: Any, tensor: Tensor, by_initial: bool) -> None:
        """In a backward after this, divide by what ``tensor`` holds when ``work`` is done, or by all processes."""
        self._forward_work = (work, tensor), by_initial

    # -- during a backward ---------------------------------------------------------------------------------------------

    def arrived(self, number: int) -> None:
        """The gradient of a parameter is complete, or, where a graph is walked in parts, a part of it."""
        if not self._awaiting:
            if not self.accumulates:
                self._not_averaged(number)
            return
        self._started = True
        if self.static and self.uses is None:
            if not self._left[number]:
                self._order.append(number)
            self._left[number] += 1
            return
        if self.static:
            self._left[number] -= 1
            if self._left[number] > 0:
                return
        unused, self._unused = self._unused, []
        for i in unused:
            self._mark(i)
        self._used[number] = 1
        self._mark(number)
        self._poll()

    def _not_averaged(self, number: int) -> None:
        if self._warned:
            return
        self._warned = True
        warnings.warn(f"The gradient of parameter {self.names[number]} is not averaged over the processes, so their "
            "replicas will differ: " + ("it arrives after the reduction of this iteration, because a block is "
            "checkpointed with use_reentrant=True and used more than once (static_graph=True permits that), or because "
            "one forward has two backwards" if self.iterations else "the forward did not go through "
            "DistributedDataParallel; call the wrapped model, not its .module")
            + ". Within no_sync() gradients may stay local, and nothing is said.", stacklevel=2)

    def reduce_all(self) -> None:
        """At the end of the first backward of a static graph: how often gradients arrive is known; reduce them."""
        if self.uses is None and self._started:
            self.uses = list(self._left)
            arrived, self._order = self._order, []
            for number in [*arrived, *(i for i, uses in enumerate(self.uses) if not uses)]:
                self._mark(number)

    def _mark(self, number: int) -> None:
        if self._ready[number]:
            self._twice(number)
        self._ready[number] = True
        self._order.append(number)
        bucket, place = self._place[number]
        self._fill(bucket, place, self.parameters[number])
        bucket.pending -= 1
        while self._next < len(self.buckets) and not self.buckets[self._next].pending:
            self._launch(self._next)
            self._next += 1
        if self._next == len(self.buckets):
            if self._finds_unused():
                self._exchange_used()
            queue_callback(self._finish)

    def _twice(self, number: int) -> None:
        raise RuntimeError("Expected to mark a variable ready only once. This error is caused by one of the following "
            "reasons: 1) Use of a module parameter outside the `forward` function. Please make sure model parameters "
            "are not shared across multiple concurrent forward-backward passes. or try to use _set_static_graph() as a "
            "workaround if this module graph does not change during training loop.2) Reused parameters in multiple "
            "reentrant backward passes. For example, if you use multiple `checkpoint` functions to wrap the same part "
            "of your model, it would result in the same set of parameters been used by different reentrant backward "
            "passes multiple times, and hence marking a variable ready multiple times. DDP does not support such use "
            "cases in default. You can try to use _set_static_graph() as a workaround if your module graph does not "
            f"change over iterations.\nParameter at index {number} with name {self.names[number]} has been marked as "
            "ready twice. This means that multiple autograd engine  hooks have fired for this particular parameter "
            "during this iteration.")

    def _fill(self, bucket: Bucket, place: int, p: Tensor) -> None:
        """Copy a gradient into its bucket, divided if nobody else will."""
        grad, factor = p.grad, 1.0 if self.hook is not None else 1.0 / self.divisor
        with no_grad():
            if bucket.sparse:
                bucket.buffer = _empty_sparse(p) if grad is None else grad * factor
                return
            view = bucket.views[place]
            if grad is None:
                view.zero_()
            elif grad is view:
                if factor != 1.0:
                    view.mul_(factor)
            else:
                view.copy_(grad)
                if factor != 1.0:
                    view.mul_(factor)
                if self.as_views:
                    p.grad = view

    def _launch(self, index: int) -> None:
        from wengert import distributed as dist

        bucket = self.buckets[index]
        if self.hook is not None:
            with deferring():
                future = self.hook(self.state, bucket.shown(index, index == len(self.buckets) - 1))
            bucket.reduction = future if self._follower is None else self._follower.add(future)
        elif bucket.sparse:
            bucket.buffer = sum_sparse(bucket.buffer, self.group)
        else:
            bucket.reduction = dist.all_reduce(bucket.buffer, group=self.group, async_op=True)

    def _poll(self) -> None:
        """Give the transport a moment: it moves data only while it is asked."""
        for bucket in self.buckets[:self._next]:
            ask = getattr(bucket.reduction, "is_completed", None) or getattr(bucket.reduction, "done", None)
            if ask is not None and not ask():
                return  # what comes later is behind it

    def _finds_unused(self) -> bool:
        return self.search and not self.static

    def _exchange_used(self) -> None:
        from wengert import distributed as dist

        self._map = wengert.tensor(self._used, dtype=wengert.int32)
        self._map_work = dist.all_reduce(self._map, group=self.group, async_op=True)

    def _finish(self) -> None:
        """The walk is over: wait for all buckets and give the parameters what has come out."""
        self._awaiting = self._started = False
        self.iterations += 1
        for bucket in self.buckets:
            self._receive(bucket)
        used = [1] * len(self.parameters)
        if self._map_work is not None:
            self._map_work.wait()
            used = self._map.tolist()
        elif self.static and self.uses is not None:
            used = self.uses
        with no_grad():
            for number, (bucket, place) in self._place.items():
                if used[number]:
                    self._give(self.parameters[number], bucket, place)

    def _receive(self, bucket: Bucket) -> None:
        reduction, bucket.reduction = bucket.reduction, None
        if reduction is None:
            return
        with deferring():
            result = reduction.wait()
        if self.hook is None:
            return
        if isinstance(result, (list, tuple)):
            result = result[0]
        if bucket.sparse:
            bucket.buffer = result
        elif result is not bucket.buffer:
            with no_grad():
                bucket.buffer.copy_(result.view(-1))

    def _give(self, p: Tensor, bucket: Bucket, place: int) -> None:
        if bucket.sparse:
            p.grad = bucket.buffer
            return
        view = bucket.views[place]
        if self.as_views:
            if p.grad is not view:
                p.grad = view
        elif p.grad is None:
            p.grad = view.clone()
        else:
            p.grad.copy_(view)

    # -- for processes that have no more inputs ------------------------------------------------------------------------

    def reduce_zeros(self) -> None:
        """Take part in the reduction of all buckets, with nothing to add."""
        with no_grad():
            for index, bucket in enumerate(self.buckets):
                bucket.buffer = _empty_sparse(bucket.parameters[0]) if bucket.sparse else bucket.buffer.zero_()
                self._launch(index)
            for bucket in self.buckets:
                self._receive(bucket)

    def exchange_unused(self) -> None:
        """Take part in the exchange of which parameters are used: none here."""
        self._used = [0] * len(self.parameters)
        self._exchange_used()
        self._map_work.wait()

    def follow_order(self) -> None:
        """Before the buckets are built anew from the order that the other processes have: it will be given."""
        if not self.rebuilt and self._rebuilds():
            self._order = list(range(len(self.parameters)))


def _arrival(here: weakref.ref[Reducer], number: int) -> Callable[[Any], None]:
    def arrived(parameter: Any) -> None:
        reducer = here()
        if reducer is not None:
            reducer.arrived(number)

    return arrived


def _remove(handles: list[Any]) -> None:
    for handle in handles:
        handle.remove()


def _empty_sparse(p: Tensor) -> Tensor:
    indices = wengert.zeros(1, 0, dtype=wengert.int64)
    return wengert.sparse_coo_tensor(indices, wengert.zeros(0, *p.shape[1:], dtype=p.dtype), p.shape)

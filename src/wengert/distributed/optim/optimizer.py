"""``DistributedOptimizer``: each parameter is stepped where it is, with its gradient in a context of the backward."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from .. import autograd, rpc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_stepping = threading.Lock()  # gradients of several contexts use the same ``.grad``


class _LocalOptimizer:
    """The optimizer of one process' parameters."""

    def __init__(self, optimizer_class: Callable[..., Any], params_rref: Sequence[Any], *args: Any,
            **kwargs: Any) -> None:
        self.params = [rref.local_value() for rref in params_rref]
        self.optimizer = optimizer_class(self.params, *args, **kwargs)

    def step(self, context_id: int) -> None:
        """One step with the gradients of a context; ``.grad`` is as before."""
        gradients = autograd.get_gradients(context_id)
        with _stepping:
            before = [p.grad for p in self.params]
            for p in self.params:
                p.grad = gradients.get(p)
            try:
                self.optimizer.step()
            finally:
                for p, old in zip(self.params, before, strict=True):
                    p.grad = old


class DistributedOptimizer:
    """An optimizer for parameters in several processes, given as a list of ``RRef``.

    ``optimizer_class(params, *args, **kwargs)`` is made in each process that has some. ``step(context_id)`` lets all of
    them take a step with the gradients that ``torch.distributed.autograd.backward`` has left in the context.
    """

    def __init__(self, optimizer_class: Callable[..., Any], params_rref: Sequence[Any], *args: Any,
            **kwargs: Any) -> None:
        by_worker: dict[Any, list[Any]] = {}
        for rref in params_rref:
            by_worker.setdefault(rref.owner(), []).append(rref)
        made = [rpc.rpc_async(worker, _make, args=(optimizer_class, rrefs, args, kwargs))
            for worker, rrefs in by_worker.items()]
        self.remote_optimizers = [future.wait() for future in made]

    def step(self, context_id: int) -> None:
        """One step everywhere; what one of them raises is raised when all are done."""
        autograd._retrieve_context(context_id)
        futures = [rpc.rpc_async(rref.owner(), _step, args=(rref, context_id)) for rref in self.remote_optimizers]
        failed = None
        for future in futures:
            try:
                future.wait()
            except Exception as error:
                failed = error
        if failed is not None:
            raise failed


def _make(optimizer_class: Any, params_rref: Any, args: Any, kwargs: Any) -> Any:
    return rpc.RRef(_LocalOptimizer(optimizer_class, params_rref, *args, **kwargs))


def _step(rref: Any, context_id: int) -> None:
    rref.local_value().step(context_id)

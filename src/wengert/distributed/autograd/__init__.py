"""``torch.distributed.autograd``: one backward through the graphs of several processes.

Tensors that go through ``rpc`` calls inside of a ``context`` keep their history. ``backward`` follows it to the
processes that they came from, and leaves the gradients in the context; ``DistributedOptimizer`` takes them from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...names.absent import absent_from
from ..mpi.world import available as is_available
from .contexts import CONTEXTS, DistAutogradContext
from .walk import backward

if TYPE_CHECKING:
    from ...tensor.tensor import Tensor

__all__ = ["DistAutogradContext", "backward", "context", "get_gradients", "is_available"]


class context:
    """Wrap forward and backward in it; its value is the number that ``backward`` and ``get_gradients`` want.

    ``with torch.distributed.autograd.context() as context_id: ...``
    """

    def __enter__(self) -> int:
        if CONTEXTS.current() is not None:
            raise RuntimeError("Already have an autograd context id for this thread.")
        self._made = CONTEXTS.new()
        CONTEXTS.enter(self._made)
        return self._made.number

    def __exit__(self, *error: object) -> None:
        CONTEXTS.enter(None)
        CONTEXTS.release(self._made.number)


def get_gradients(context_id: int) -> dict[Tensor, Tensor]:
    """The gradients of this process' leaves in the context."""
    return dict(CONTEXTS.get(context_id).gradients)


def _is_valid_context(context_id: int) -> bool:
    return context_id in CONTEXTS.all


def _retrieve_context(context_id: int) -> DistAutogradContext:
    return CONTEXTS.get(context_id)


def _current_context() -> DistAutogradContext:
    found = CONTEXTS.current()
    if found is None:
        raise RuntimeError("Current thread doesn't have a valid autograd context. Please wrap your code using: `with "
            "torch.distributed.autograd.context() as context_id` to generate a valid context")
    return found


__getattr__ = absent_from(__name__)

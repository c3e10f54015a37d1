"""Post-local SGD (Lin et al., "Don't Use Large Mini-Batches, Use Local SGD", 2020)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .debugging_hooks import noop_hook
from .default_hooks import _allreduce_fut, group_or_world

if TYPE_CHECKING:
    from wengert.distributed import GradBucket
    from wengert.futures import Future

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """Averages over ``process_group`` up to iteration ``start_localSGD_iter``, then over ``subgroup`` (None: the
    processes of this node), or not at all without ``post_local_gradient_allreduce``.
    """

    def __init__(self, process_group: Any, subgroup: Any, start_localSGD_iter: int,
            post_local_gradient_allreduce: bool = True) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count an iteration at its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future[Any]:
    """Average gradients globally first, later among neighbours: then a ``model_averaging`` averager has to average the
    parameters from time to time.
    """
    local = state.iter >= state.start_localSGD_iter
    state.maybe_increase_iter(bucket)
    if not local:
        return _allreduce_fut(group_or_world(state.process_group), bucket.buffer())
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        from wengert import distributed as dist

        state.subgroup, _ = dist.new_subgroups()
    return _allreduce_fut(state.subgroup, bucket.buffer())

"""The steps of ``ZeroRedundancyOptimizer`` at the end of the backward, without a call of ``step``."""

from __future__ import annotations

from typing import Any

__all__ = ["hook_with_zero_step", "hook_with_zero_step_interleaved"]


def hook_with_zero_step(hook: Any, ddp: Any, zero: Any, shard_buckets: bool = False) -> Any:
    """``hook``, and with the last bucket of a backward a step of ``zero``, made with ``overlap_with_ddp=True``.

    ``ValueError`` for another ``zero``.
    """
    if not zero._overlap_with_ddp:
        raise ValueError("`ZeroRedundancyOptimizer` must be constructed with `overlap_with_ddp=True` to use this hook "
            "properly")

    def hook_with_step(state: Any, bucket: Any) -> Any:
        def step(done: Any) -> Any:
            buffer = done.value()
            bucket.set_buffer(buffer)
            for gradient, parameter in zip(bucket.gradients(), bucket.parameters()):
                parameter.grad = gradient
            if bucket.is_last():
                zero._local_step()
                zero._sync_params()
            return buffer

        return hook(state, bucket).then(step)

    return hook_with_step


hook_with_zero_step_interleaved = hook_with_zero_step

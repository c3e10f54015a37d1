"""Gradients sent as integers of eight bits. Each process gets those of all, and takes the mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wengert
from wengert import distributed as dist
from wengert.graph import no_grad

from .default_hooks import group_or_world

if TYPE_CHECKING:
    from wengert import Tensor
    from wengert.futures import Future

__all__ = ["quantization_perchannel_hook", "quantization_pertensor_hook"]


def _scale_and_zero(rows: Tensor) -> Tensor:
    """For each row the step and the integer that stands for zero, so that its range lies in 0 to 255."""
    low, high = rows.amin(1).clamp(max=0), rows.amax(1).clamp(min=0)
    scale = ((high - low) / 255).clamp(min=1e-12)
    return wengert.stack([scale, (-low / scale).round().clamp(0, 255)], 1)


def _quantize(rows: Tensor, steps: Tensor) -> Tensor:
    return (rows / steps[:, :1] + steps[:, 1:]).round().clamp(0, 255).to(wengert.uint8)


def _dequantize(codes: Tensor, steps: Tensor) -> Tensor:
    return (codes.to(steps.dtype) - steps[:, 1:]) * steps[:, :1]


def _hook(process_group: Any, bucket: dist.GradBucket, size: int) -> Future[Tensor]:
    group, buffer = group_or_world(process_group), bucket.buffer()
    world, count = group.size(), buffer.numel()
    with no_grad():
        rows = wengert.nn.functional.pad(buffer, (0, -count % size)).view(-1, size)
        steps = _scale_and_zero(rows)
        codes = _quantize(rows, steps)
        every_steps = [wengert.empty_like(steps) for _ in range(world)]
        every_codes = [wengert.empty_like(codes) for _ in range(world)]
    first = dist.all_gather(every_steps, steps, group=group, async_op=True).get_future()
    second = dist.all_gather(every_codes, codes, group=group, async_op=True).get_future()

    def mean(_: Any) -> Tensor:
        second.wait()
        with no_grad():
            total = sum(_dequantize(c, s) for c, s in zip(every_codes, every_steps)) / world
            return buffer.copy_(total.view(-1)[:count])

    return first.then(mean)


def quantization_pertensor_hook(process_group: Any, bucket: dist.GradBucket) -> Future[Tensor]:
    """The mean of gradients rounded to 256 steps between the least and the greatest of the bucket."""
    return _hook(process_group, bucket, max(1, bucket.buffer().numel()))


def quantization_perchannel_hook(process_group: Any, bucket: dist.GradBucket, bucket_size: int = 512) -> Future[Tensor]:
    """The mean of gradients rounded to 256 steps, with steps of their own for each ``bucket_size`` gradients."""
    return _hook(process_group, bucket, bucket_size)

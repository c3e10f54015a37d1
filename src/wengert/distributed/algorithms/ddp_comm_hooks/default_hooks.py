"""Averages over all processes, at full or half precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wengert
from wengert import distributed as dist
from wengert.graph import no_grad

if TYPE_CHECKING:
    from collections.abc import Callable

    from wengert import Tensor
    from wengert.futures import Future

    Hook = Callable[[Any, Any], Future[Tensor]]

__all__ = ["allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
    "fp16_compress_wrapper"]


def group_or_world(process_group: Any) -> Any:
    """The group, or that of all processes."""
    return dist.group.WORLD if process_group is None else process_group


def _allreduce_fut(process_group: Any, tensor: Tensor) -> Future[Tensor]:
    group = group_or_world(process_group)
    with no_grad():
        tensor.div_(group.size())
    return dist.all_reduce(tensor, group=group, async_op=True).get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group: Any, bucket: dist.GradBucket) -> Future[Tensor]:
    """The average over all processes, as without a hook."""
    return _allreduce_fut(process_group, bucket.buffer())


def _compress_hook(dtype: Any, process_group: Any, bucket: dist.GradBucket) -> Future[Tensor]:
    group, buffer = group_or_world(process_group), bucket.buffer()
    with no_grad():
        compressed = buffer.to(dtype).div_(group.size())

    def decompress(done: Future[Any]) -> Tensor:
        with no_grad():
            return buffer.copy_(done.value()[0])

    return dist.all_reduce(compressed, group=group, async_op=True).get_future().then(decompress)


def fp16_compress_hook(process_group: Any, bucket: dist.GradBucket) -> Future[Tensor]:
    """The average, sent as float16; the sum is taken in float32."""
    return _compress_hook(wengert.float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: dist.GradBucket) -> Future[Tensor]:
    """The average, sent as bfloat16; the sum is taken in float32."""
    return _compress_hook(wengert.bfloat16, process_group, bucket)


def _wrapper(dtype: Any, hook: Hook) -> Hook:
    def wrapped(state: Any, bucket: Any) -> Any:
        buffer = bucket.buffer()
        with no_grad():
            bucket.set_buffer(buffer.to(dtype))

        def decompress(done: Future[Any]) -> Tensor:
            with no_grad():
                return buffer.copy_(done.value())

        return hook(state, bucket).then(decompress)

    return wrapped


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gives ``hook`` the bucket in float16."""
    return _wrapper(wengert.float16, hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gives ``hook`` the bucket in bfloat16."""
    return _wrapper(wengert.bfloat16, hook)

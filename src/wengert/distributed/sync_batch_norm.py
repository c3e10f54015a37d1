"""Batch normalization over the batches of all processes.

Each process sends count, mean and sum of squared deviations of its batch; they are combined by the formula of Chan,
Golub and LeVeque ("Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979). The backward sums
``g`` and ``g * xhat`` over all processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wengert
from wengert import distributed as dist
from wengert.autograd import Function
from wengert.graph import no_grad

if TYPE_CHECKING:
    from wengert import Tensor


def sync_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
        running_var: Tensor | None, eps: float, momentum: float, group: Any) -> Tensor:
    """``input`` (N, C, *) normalized by the statistics of the batches of all processes, which move the running ones."""
    result: Tensor = _SyncBatchNorm.apply(input, weight, bias, running_mean, running_var, eps, momentum, group)
    return result


class _SyncBatchNorm(Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any, eps: float,
            momentum: float, group: Any) -> Tensor:
        if input.numel() // max(1, input.shape[1]) * group.size() == 1 and group.size() == 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.size()}")
        total, mean, squares = _combined(input, group)
        rstd = (squares / total + eps).rsqrt()
        if running_mean is not None:
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
            running_var.lerp_((squares / (total - 1)).to(running_var.dtype), momentum)
        ctx.save_for_backward(input, weight, mean, rstd)
        ctx.total, ctx.group = total, group
        xhat = (input - _wide(mean, input)) * _wide(rstd, input)
        if weight is not None:
            xhat = xhat * _wide(weight, input)
        return (xhat if bias is None else xhat + _wide(bias, input)).to(input.dtype)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        input, weight, mean, rstd = ctx.saved_tensors
        with no_grad():
            axes = [i for i in range(input.dim()) if i != 1]
            xhat = (input - _wide(mean, input)) * _wide(rstd, input)
            sums = wengert.stack([g.sum(axes), (g * xhat).sum(axes)]).to(mean.dtype)
            local = sums.clone()
            dist.all_reduce(sums, group=ctx.group)
            inner = g - _wide(sums[0] / ctx.total, input) - xhat * _wide(sums[1] / ctx.total, input)
            scale = rstd if weight is None else rstd * weight
            to_weight = local[1].to(weight.dtype) if weight is not None and ctx.needs_input_grad[1] else None
            to_bias = local[0].to(input.dtype) if ctx.needs_input_grad[2] else None
            to_input = (inner * _wide(scale, input)).to(input.dtype) if ctx.needs_input_grad[0] else None
        return to_input, to_weight, to_bias, None, None, None, None, None


def _wide(channels: Tensor, like: Tensor) -> Tensor:
    return channels.view([-1 if i == 1 else 1 for i in range(like.dim())])


def _combined(input: Tensor, group: Any) -> tuple[float, Tensor, Tensor]:
    """Of all processes: the number of values of a channel, their mean, and the sum of their squared deviations."""
    axes = [i for i in range(input.dim()) if i != 1]
    count = input.numel() // max(1, input.shape[1])
    wide = input.to(wengert.float32) if input.element_size() < 4 else input
    if count:
        mean = wide.mean(axes)
        squares = (wide - _wide(mean, input)).square().sum(axes)
    else:  # a batch of nothing
        mean = squares = wide.new_zeros(input.shape[1])
    mine = wengert.cat([wide.new_full((1,), float(count)), mean, squares])
    every = wide.new_empty(group.size(), mine.numel())
    dist.all_gather_into_tensor(every, mine, group=group)
    counts = every[:, :1]
    means, deviations = every[:, 1:].chunk(2, 1)
    total = float(counts.sum().item())
    whole = (means * counts).sum(0) / total
    return total, whole, (deviations + counts * (means - whole).square()).sum(0)

"""Batch normalization (Ioffe and Szegedy, 2015) and instance normalization (Ulyanov et al., 2016)."""

from __future__ import annotations

import warnings
from typing import Any

from wengert.graph import no_grad
from wengert.nn import functional as F
from wengert.nn import init
from wengert.nn._tensors import ones, tensor, zeros
from wengert.nn.parameter import UninitializedBuffer, UninitializedParameter
from wengert.tensor import Tensor, int64

from ._declared import Declared
from .lazy import LazyModuleMixin
from .linear import _add_weight_and_bias
from .module import Module, weight_and_bias

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d", "SyncBatchNorm"]


def _reset_scale_and_shift(module: Any) -> None:
    if module.weight is not None:
        init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)


class _NormBase(Declared):
    _version = 2  # 2: num_batches_tracked
    _takes_unbatched = False

    num_features: int
    weight: Tensor | None
    bias: Tensor | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
            track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        factory, track = {"device": device, "dtype": dtype}, track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **factory) if track else None)
        self.register_buffer("running_var", ones(num_features, **factory) if track else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64, device=device) if track else None)
        shape = num_features if affine else None
        _add_weight_and_bias(self, shape, shape if bias else None, device, dtype)

    def reset_running_stats(self) -> None:
        """Forget the statistics: mean 0, variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()  # type: ignore[union-attr]
            self.running_var.fill_(1)  # type: ignore[union-attr]
            self.num_batches_tracked.zero_()  # type: ignore[union-attr]

    def reset_parameters(self) -> None:
        """Forget the statistics; scale 1, shift 0."""
        self.reset_running_stats()
        _reset_scale_and_shift(self)

    def _check_input_dim(self, input: Tensor) -> None:
        batched = self._dims + 2
        allowed = (batched - 1, batched) if self._takes_unbatched or self._dims == 1 else (batched,)
        if input.dim() not in allowed:
            expected = " or ".join(f"{dims}D" for dims in allowed)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any],
            *rest: Any) -> None:
        version = local_metadata.get("version")
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            count = self.num_batches_tracked
            state_dict[key] = tensor(0, dtype=int64) if count is None else count
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


    def _weight_of_batch(self) -> float:
        """What a batch counts in the running statistics; a training batch is counted."""
        if self.training and self.track_running_stats and (count := self.num_batches_tracked) is not None:
            count.add_(1)
            if self.momentum is None:  # the plain average of all batches
                return 1.0 / float(count)
        return 0.0 if self.momentum is None else self.momentum


def _statistics(module: Any) -> tuple[Any, Any]:
    """The running statistics: see ``weight_and_bias``."""
    buffers = module._buffers
    try:
        return buffers["running_mean"], buffers["running_var"]
    except KeyError:
        pass
    return module.running_mean, module.running_var


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum, training = self._weight_of_batch(), self.training
        mean, var = _statistics(self)
        if training and not self.track_running_stats:
            mean = var = None
        weight, bias = weight_and_bias(self)
        return F.batch_norm(input, mean, var, weight, bias, training or (mean is None and var is None), momentum,
            self.eps)


class BatchNorm1d(_BatchNorm, dims=1):
    """Normalize every channel of (N, C) or (N, C, L) over the batch, then scale and shift it.

    In training by the statistics of the batch, which also move the running statistics by ``momentum`` (None: their
    plain average); in evaluation by the running statistics, or the batch's with ``track_running_stats=False``.

    >>> torch.nn.BatchNorm1d(2)(torch.tensor([[0.0, 1.0], [2.0, 1.0]])).detach().round(decimals=2)
    tensor([[-1.,  0.],
            [ 1.,  0.]])
    """


class BatchNorm2d(_BatchNorm, dims=2):
    """Normalize every channel of images (N, C, H, W) over the batch. See ``BatchNorm1d``."""


class BatchNorm3d(_BatchNorm, dims=3):
    """Normalize every channel of volumes (N, C, D, H, W) over the batch. See ``BatchNorm1d``."""


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over the batches of all processes of a group, by default all. (N, C, *).

    In evaluation, and where there is only one process, it is ``BatchNorm``. Works on the CPU, too.
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
            track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None, *,
            bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: Tensor) -> Tensor:
        group = self._group()
        if group is None:
            return super().forward(input)
        from wengert.distributed.sync_batch_norm import sync_batch_norm

        self._check_input_dim(input)
        return sync_batch_norm(input, self.weight, self.bias, self.running_mean, self.running_var, self.eps,
            self._weight_of_batch(), group)

    def _group(self) -> Any:
        """The processes to share statistics with; None if there is nobody, or nothing to share."""
        if not (self.training or (self.running_mean is None and self.running_var is None)):
            return None
        from wengert import distributed as dist

        if not dist.is_available() or not dist.is_initialized():
            return None
        group: Any = dist.group.WORLD if self.process_group is None else self.process_group
        return group if group.size() > 1 else None

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """``module`` with every batch norm in it replaced by a synchronized one that shares its state."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = SyncBatchNorm(module.num_features, module.eps, module.momentum, module.affine,
                module.track_running_stats, process_group, bias=module.bias is not None)
            if module.affine:
                converted.weight, converted.bias = module.weight, module.bias
            for name in ("running_mean", "running_var", "num_batches_tracked", "training"):
                setattr(converted, name, getattr(module, name))
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """A normalization whose ``num_features`` is the second size of the first input."""

    def __init__(self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
            track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:
        factory = {"device": device, "dtype": dtype}
        super().__init__(0, eps, momentum, False, False, **factory, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = UninitializedParameter(**factory)
            if bias:
                self.bias = UninitializedParameter(**factory)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**factory)
            self.running_var = UninitializedBuffer(**factory)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:  # type: ignore[override]
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        lazy: tuple[Any, ...] = (self.weight, self.bias, self.running_mean, self.running_var)
        with no_grad():
            for param in lazy:
                if param is not None:
                    param.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d, becomes=BatchNorm1d):
    """A ``BatchNorm1d`` that takes ``num_features`` from its first input."""


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d, becomes=BatchNorm2d):
    """A ``BatchNorm2d`` that takes ``num_features`` from its first input."""


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d, becomes=BatchNorm3d):
    """A ``BatchNorm3d`` that takes ``num_features`` from its first input."""


class _InstanceNorm(_NormBase):
    _takes_unbatched = True

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
            track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any],
            strict: bool, missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str]) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            keys = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if keys:
                names, kind = " and ".join(f'"{key}"' for key in keys), type(self).__name__
                error_msgs.append(f"Unexpected running stats buffer(s) {names} for {kind} with "
                    "track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, this may be expected "
                    f"because {kind} does not track running stats by default since 0.4.0. Please remove these keys "
                    "from state_dict. If the running stats are actually needed, instead set track_running_stats=True "
                    f"in {kind} to enable them. See the documentation of {kind} for details.")
            for key in keys:
                del state_dict[key]
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
            error_msgs)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        channel = input.dim() - self._dims - 1
        if (size := input.size(channel)) != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={channel} to match num_features ({self.num_features}), "
                    f"but got: {size}.")
            warnings.warn(f"input's size at dim={channel} does not match num_features. You can silence this warning by "
                "not passing in num_features, which is not used because affine=False", stacklevel=2)
        batch = input if channel else input.unsqueeze(0)
        output = F.instance_norm(batch, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, 0.0 if self.momentum is None else self.momentum, self.eps)
        return output if channel else output.squeeze(0)


class InstanceNorm1d(_InstanceNorm, dims=1):
    """Normalize every channel of every sequence: (N, C, L) or (C, L)."""


class InstanceNorm2d(_InstanceNorm, dims=2):
    """Normalize every channel of every image: (N, C, H, W) or (C, H, W).

    >>> torch.nn.InstanceNorm2d(3)(torch.rand(1, 3, 4, 4)).mean().abs() < 1e-6
    tensor(True)
    """


class InstanceNorm3d(_InstanceNorm, dims=3):
    """Normalize every channel of every volume: (N, C, D, H, W) or (C, D, H, W)."""


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d, becomes=InstanceNorm1d):
    """An ``InstanceNorm1d`` that takes ``num_features`` from its first input."""


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d, becomes=InstanceNorm2d):
    """An ``InstanceNorm2d`` that takes ``num_features`` from its first input."""


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d, becomes=InstanceNorm3d):
    """An ``InstanceNorm3d`` that takes ``num_features`` from its first input."""

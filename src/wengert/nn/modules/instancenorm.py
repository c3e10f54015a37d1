"""Instance normalization (Ulyanov et al., 2016): every channel of every sample by itself."""

from __future__ import annotations

import warnings
from typing import Any

from wengert.nn import functional as F
from wengert.tensor import Tensor

from .batchnorm import _LazyNormBase, _NormBase

__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d"]


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

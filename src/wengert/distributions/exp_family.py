"""``torch.distributions.exp_family``."""

from .distribution import ExponentialFamily

__all__ = ["ExponentialFamily"]

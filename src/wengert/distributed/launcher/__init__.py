"""``torch.distributed.launcher``: functions of a program in several processes, as ``torchrun`` starts a program."""

from __future__ import annotations

from .api import LaunchConfig, elastic_launch, launch_agent

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]

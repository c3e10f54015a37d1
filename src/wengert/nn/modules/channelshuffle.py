"""Channels interleaved."""

from __future__ import annotations

from ._declared import Declared

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Declared, function="channel_shuffle", takes=["groups"]):
    """Split the channels of (N, C, *) into ``groups`` and interleave them (Zhang et al., 2018)."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

"""What programs of others take from the corners of ``torch.distributed``."""

from __future__ import annotations


def test_helpers(torchrun):
    ended = torchrun("helpers_of_others.py", 2)
    assert ended.code == 0, ended
    assert ended.out.count(" passed") == 8, ended

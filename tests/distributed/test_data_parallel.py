"""DistributedDataParallel, its hooks, and optimizers whose state is divided: real processes."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("count", [2, 3, 4])
def test_replicas(torchrun, count):
    checks = () if count == 2 else ("check_unused", "check_uneven")
    ended = torchrun("data_parallel.py", count, *checks, timeout=180)
    assert ended.code == 0, ended
    passed = [line for line in ended.out.splitlines() if line.endswith(" passed")]
    assert len(passed) == (len(checks) or 11), ended

"""DistributedDataParallel, its hooks, and optimizers whose state is divided: real processes, compared with one."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("count", [2, 3, 4])
def test_replicas_learn_what_one_process_learns(torchrun, count):
    some = ("check_modes", "check_accumulation", "check_unused", "check_checkpointed_and_tied", "check_uneven",
        "check_hooks", "check_post_local", "check_sync_batch_norm", "check_zero")
    checks = () if count == 2 else some
    ended = torchrun("data_parallel.py", count, *checks, timeout=180)
    assert ended.code == 0, ended
    passed = [line for line in ended.out.splitlines() if line.endswith(" passed")]
    assert len(passed) == (len(checks) or 13), ended

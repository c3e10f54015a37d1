"""Tensors and models spread over processes: DTensor, tensor parallelism, fully_shard, checkpoints, pipelines."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .conftest import PROGRAMS, execute
from .test_collectives import everyone_done


def test_operators_on_pieces(torchrun):
    for count in (2, 4):
        everyone_done(torchrun("dtensors.py", count), count)


def test_plans_of_tensor_parallelism(torchrun):
    everyone_done(torchrun("tensor_parallel.py", 4), 4)


def test_parameters_in_pieces(torchrun):
    for count in (1, 2, 3, 4):
        everyone_done(torchrun("fully_sharded.py", count), count)


def test_the_older_module_around_a_module(torchrun):
    everyone_done(torchrun("older_fsdp.py", 2), 2)


def test_stages_and_schedules(torchrun):
    everyone_done(torchrun("pipelined.py", 3), 3)


def test_saved_by_some_loaded_by_others(torchrun, tmp_path):
    folder = str(tmp_path / "state")
    everyone_done(torchrun("checkpoints.py", 2, "save", folder), 2)
    for count in (1, 3):
        everyone_done(torchrun("checkpoints.py", count, "load", folder), count)


def test_a_checkpoint_is_whole_after_a_kill(torchrun, tmp_path):
    folder = str(tmp_path / "state")
    everyone_done(torchrun("checkpoints.py", 2, "save", folder), 2)
    assert torchrun("checkpoints.py", 2, "killed", folder).code != 0
    everyone_done(torchrun("checkpoints.py", 2, "load", folder), 2)


@pytest.mark.parity
def test_pytorch_reads_our_checkpoints_and_we_read_its(torch, torchrun, tmp_path):
    if torch.__name__ == "wengert":
        pytest.skip("the tests above")
    launcher = Path(sys.executable).with_name("torchrun")

    def theirs(count, *args):
        return execute([launcher, "--standalone", f"--nproc-per-node={count}", PROGRAMS / "checkpoints.py", *args])

    ours, other = str(tmp_path / "ours"), str(tmp_path / "theirs")
    everyone_done(torchrun("checkpoints.py", 2, "save", ours), 2)
    everyone_done(theirs(1, "load", ours), 1)
    saved = theirs(2, "save", other)  # after which PyTorch's process aborts at times, as it ends
    assert all(f"rank {rank} of 2 is done" in saved.out for rank in range(2)), saved
    everyone_done(torchrun("checkpoints.py", 3, "load", other), 3)

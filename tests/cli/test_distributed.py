"""Libraries name classes of ``torch.distributed`` although they run in one process."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

import wengert as torch


@pytest.fixture
def run(tmp_path):
    def run(source):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(source))
        done = subprocess.run([sys.executable, "-m", "wengert", "run", path], capture_output=True, text=True,
            timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


def test_nothing_is_available_without_mpi4py(monkeypatch):
    d = torch.distributed
    monkeypatch.setattr(d.mpi.world, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"pip install 'wengert\[mpi\]'"):
        d.init_process_group("gloo", rank=0, world_size=1)
    assert not any(
        f() for f in (d.is_available, d.is_initialized, d.is_nccl_available, d.is_gloo_available, d.is_mpi_available))
    assert not d.is_torchelastic_launched() and not d.is_backend_available("gloo") and not d.rpc.is_available()
    assert not hasattr(d, "nonsense") and not hasattr(d.rpc, "nonsense")


def test_nothing_is_of_their_kind():
    from typing import Union

    d = torch.distributed
    kind = d.Logger
    assert not isinstance(torch.ones(1), (kind, d.ProcessGroup)) and not issubclass(torch.Tensor, kind)
    assert Union[torch.Tensor, kind] is not None and (kind | None) is not None  # noqa: UP007
    with pytest.raises(RuntimeError, match="this part of torch.distributed is not here"):
        kind(torch.nn.Linear(1, 1))

    class Sharded(kind):
        pass

    with pytest.raises(RuntimeError, match="this part of torch.distributed is not here"):
        Sharded([])


def test_imports(run):
    program = """
        import torch.distributed as dist
        import torch.distributed.algorithms.ddp_comm_hooks.default_hooks
        from torch.distributed import rpc, ReduceOp
        from torch.distributed.optim import ZeroRedundancyOptimizer
        from torch.distributed.tensor import DTensor, Shard
        from torch.distributed._composable.fsdp import FSDPModule
        from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
        import torch, torch.cuda.nvtx

        @torch.cuda.nvtx.range("step")
        def step(t: DTensor | None = None): ...

        assert DTensor is not None and not isinstance(torch.ones(1), DTensor)
        for missing in ("torch.distributed.nonsense", "torch.distributed.rpc.nonsense"):
            try:
                __import__(missing)
            except ModuleNotFoundError as error:
                assert error.name == missing, error.name
            else:
                raise AssertionError(missing)
        print(dist.is_initialized(), torch.onnx.is_in_onnx_export())
    """
    assert run(program) == "False False"


def test_without_a_group(monkeypatch):
    d = torch.distributed
    one = torch.ones(1)
    for name, args in {"get_rank": (), "get_world_size": (), "barrier": (), "all_reduce": (one,), "get_backend": (),
            "all_gather_object": ([], 1), "send": (one, 1)}.items():
        with pytest.raises(ValueError, match="^Default process group has not been initialized, please make sure to "
                r"call init_process_group\.$"):
            getattr(d, name)(*args)
    with pytest.raises(AssertionError, match="^Process group cannot be None$"):
        d.destroy_process_group()
    assert d.group.WORLD is None and d.get_pg_count() == 0 and d.default_pg_timeout.seconds == 1800
    assert d.ReduceOp.SUM == d.ReduceOp.SUM != d.ReduceOp.MAX and d.ReduceOp.SUM in {d.ReduceOp.SUM: 1}
    with pytest.raises(RuntimeError, match="LOCAL_RANK is not in the environment"):
        d.get_node_local_rank()
    assert d.get_node_local_rank(fallback_rank=2) == 2
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert d.get_node_local_rank() == 3

"""A program that has the launcher call its functions."""

import os

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch


def added(a, b):
    dist.init_process_group("gloo")
    x = torch.tensor([a + dist.get_rank()])
    dist.all_reduce(x)
    dist.destroy_process_group()
    if b < 0 and os.environ["RANK"] == "1":
        raise ValueError("no more numbers")
    return {"sum": x * b, "rank": int(os.environ["RANK"])}


if __name__ == "__main__":
    config = LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2, rdzv_backend="c10d", max_restarts=0,
        rdzv_endpoint="localhost:0")
    found = elastic_launch(config, added)(1, 10)
    assert [(rank, r["rank"], r["sum"].item()) for rank, r in found.items()] == [(0, 0, 30), (1, 1, 30)]
    try:
        elastic_launch(config, added)(1, -1)
    except ChildFailedError as error:
        assert error.name == "added" and list(error.failures) == [1], error
        assert "ValueError: no more numbers" in str(error), error
    print("done")

"""Checkpoints: ``save FOLDER`` by some ranks, ``load FOLDER`` by others, ``killed FOLDER`` in the middle."""

import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor, zeros

mode, folder = sys.argv[1:3]
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (size,))
torch.manual_seed(0)
X, Y = torch.arange(35.0).reshape(7, 5) / 8, torch.arange(3.0) / 4
net = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3))
fully_shard(net)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)


def steps(n):
    for _ in range(n):
        net(torch.ones(2, 5)).pow(2).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


class App:
    """What the tutorials save."""

    def state_dict(self):
        model, optim = get_state_dict(net, optimizer)
        return {"model": model, "optim": optim}

    def load_state_dict(self, state):
        set_state_dict(net, optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"])


def fresh(how):
    return {"x": zeros(7, 5, device_mesh=mesh, placements=[how]), "y": torch.zeros(3), "app": App(),
        "nested": {"step": 0, "names": [], "row": [torch.zeros(3), torch.zeros(3)]},
        "apart": {f"of {min(rank, 1)}": None}}


def expect(state, model):
    assert torch.equal(state["x"].full_tensor(), X) and torch.equal(state["y"], Y)
    assert state["nested"]["step"] == 3 and state["nested"]["names"] == ["a", 1]
    assert torch.equal(state["nested"]["row"][1], Y + 1)
    assert state["apart"] == {f"of {min(rank, 1)}": min(rank, 1) * 5}  # an object of one process
    for name, p in net.state_dict().items():
        assert torch.equal(p.full_tensor(), model[name]), name


if mode == "save":
    steps(2)
    state = {"x": distribute_tensor(X, mesh, [Shard(0)]), "y": Y, "app": App(),
        "nested": {"step": 3, "names": ["a", 1], "row": [Y, Y + 1]}, "apart": {f"of {rank}": rank * 5}}
    for _ in range(2):  # over another
        dcp.save(state, checkpoint_id=folder)
    apart = dist.new_group(backend="gloo")
    future = dcp.async_save(state, checkpoint_id=f"{folder}_async", process_group=apart)
    steps(1)  # is not saved
    future.result()
    dist.barrier()
    future = dcp.async_save({"app": App()}, checkpoint_id=f"{folder}_later", process_group=apart)
    future.result()
    dist.barrier()
    whole = get_model_state_dict(net, options=StateDictOptions(full_state_dict=True))
    if rank == 0:
        torch.save(whole, f"{folder}.later.pt")
elif mode == "load":
    later = torch.load(f"{folder}.later.pt")
    for how in (Shard(0), Shard(1), Replicate()):
        for path in (folder, f"{folder}_async"):
            state = fresh(how)
            dcp.load(state, checkpoint_id=path)
            saved = {k: v.full_tensor() for k, v in net.state_dict().items()}
            expect(state, saved)
            steps(1)  # with the moments that were saved
            for name, p in net.state_dict().items():
                assert torch.allclose(p.full_tensor(), later[name], atol=1e-6), name
    for wrong, what in (({"nope": torch.zeros(1)}, "Missing key"), ({"y": torch.zeros(4)}, "Size mismatch")):
        try:
            dcp.load(wrong, checkpoint_id=folder)
        except dcp.api.CheckpointException as error:
            assert what in str(error)
        else:
            raise AssertionError("not refused")
    # what a whole state dict lacks stays as it is
    part = {"0.bias": later["0.bias"] + 1}
    set_model_state_dict(net, part, options=StateDictOptions(full_state_dict=True))
    assert torch.equal(net[0].bias.full_tensor(), later["0.bias"] + 1)
    # whole state dicts, from the first rank
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(net, dict(later) if rank == 0 else {}, options=options)
    for name, p in net.state_dict().items():
        assert torch.equal(p.full_tensor(), later[name]), name
else:
    writer = dcp.FileSystemWriter(folder)

    class Killed(type(writer)):
        def finish(self, metadata, results):
            os.kill(os.getpid(), signal.SIGKILL)

    before = sorted(p.name for p in Path(folder).glob("*.distcp"))
    print(" ".join(before), flush=True)
    dcp.save({"y": Y * 2}, storage_writer=Killed(folder))

dist.destroy_process_group()
print(f"rank {rank} of {size} is done")

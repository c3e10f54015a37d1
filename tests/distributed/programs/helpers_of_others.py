"""Names that programs of others take from ``torch.distributed``'s corners, in two processes."""

from __future__ import annotations

import argparse
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import argparse_util
from torch.distributed._composable.replicate import replicate
from torch.distributed._state_dict_utils import _gather_state_dict
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    CheckpointWrapper,
    apply_activation_checkpointing,
    checkpoint_wrapper,
    offload_wrapper,
)
from torch.distributed.checkpoint.state_dict import _init_optim_state
from torch.distributed.distributed_c10d import _object_to_tensor, _tensor_to_object
from torch.distributed.elastic.utils.distributed import get_free_port
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.optim import _apply_optimizer_in_backward
from torch.distributed.tensor import Shard, distribute_tensor
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset
from torch.distributed.utils import _sync_module_states, _verify_param_shape_across_processes
from torch.nn.parallel import DistributedDataParallel


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh()))


def inputs():
    return torch.arange(8.0).reshape(2, 4) / 8 + dist.get_rank()


def gradients(module):
    return [p.grad.clone() for p in module.parameters()]


def check_checkpoint_wrapper():
    plain = net()
    plain(inputs()).sum().backward()
    for impl in CheckpointImpl:
        wrapped = net()
        apply_activation_checkpointing(wrapped, check_fn=lambda m: isinstance(m, nn.Sequential),
            checkpoint_wrapper_fn=lambda m, impl=impl: checkpoint_wrapper(m, checkpoint_impl=impl))
        assert isinstance(wrapped[1], CheckpointWrapper) and not isinstance(wrapped, CheckpointWrapper)
        assert list(wrapped.state_dict()) == list(plain.state_dict()) and wrapped[1][1] is not None
        wrapped.load_state_dict(plain.state_dict())
        wrapped(inputs()).sum().backward()
        assert all(map(torch.equal, gradients(wrapped), gradients(plain)))
    calls = []
    counted = checkpoint_wrapper(nn.Linear(4, 1))
    counted.register_forward_hook(lambda *_: calls.append("outside"))
    counted._checkpoint_wrapped_module.register_forward_hook(lambda *_: calls.append("inside"))
    counted(inputs()).sum().backward()
    assert calls == ["inside", "outside"], calls  # a linear function saves its input: nothing is to be computed again
    assert offload_wrapper(nn.Linear(4, 1))(inputs()).shape == (2, 1)
    assert [n for n, _ in counted.named_parameters()] == ["weight", "bias"]


def check_replicate():
    around = DistributedDataParallel(net())
    around(inputs()).sum().backward()
    itself = net()
    assert replicate(itself) is itself and isinstance(itself, nn.Sequential)
    assert list(itself.state_dict()) == list(net().state_dict())
    itself(inputs()).sum().backward()
    assert all(map(torch.equal, gradients(itself), gradients(around)))
    for sync in (False, True):
        itself.zero_grad()
        itself.set_requires_gradient_sync(sync)
        itself(inputs()).sum().backward()
        alone = [torch.empty_like(itself[0].weight) for _ in range(dist.get_world_size())]
        dist.all_gather(alone, itself[0].weight.grad)
        assert torch.equal(alone[0], alone[1]) is sync


def check_optimizer_in_backward():
    stepped, usual = net(), net()
    _apply_optimizer_in_backward(torch.optim.SGD, stepped.parameters(), {"lr": 0.1})
    optimizer = torch.optim.SGD(usual.parameters(), lr=0.1)
    for model in (stepped, usual):
        model(inputs()).sum().backward()
    optimizer.step()
    assert all(p.grad is None for p in stepped.parameters())
    assert all(map(torch.equal, stepped.parameters(), usual.parameters()))


def check_small_names():
    mesh = dist.init_device_mesh("cpu", (2,))
    first = dist.get_rank() == 0
    assert compute_local_shape_and_global_offset((3, 2), mesh, [Shard(0)]) == (((2, 2), (0, 0)) if first
        else ((1, 2), (2, 0)))
    tensor, size = _object_to_tensor({"a": [1, 2]}, torch.device("cpu"), None)
    assert tensor.dtype == torch.uint8 and size.item() == tensor.numel()
    assert _tensor_to_object(tensor, size, None) == {"a": [1, 2]}
    model = net()
    adam = torch.optim.Adam(model.parameters())
    before = [p.detach().clone() for p in model.parameters()]
    _init_optim_state(adam)
    assert len(adam.state) == 4 and all(map(torch.equal, model.parameters(), before))
    assert str(dist.get_debug_level()) == f"{dist.get_debug_level()}" == "DebugLevel.OFF"
    try:
        dist.new_group([0, 9])
    except ValueError as error:
        assert "Rank 9 is out of range" in str(error)
    else:
        raise AssertionError("no error")


def check_collectives():
    rank = dist.get_rank()
    tensors = [torch.ones(2) * rank, torch.ones(1)]
    assert [t.tolist() for t in dist.all_reduce_coalesced(tensors, async_op=True).wait()] == [[1.0, 1.0], [2.0]]
    lists = [[torch.empty(2)] for _ in range(2)]
    dist.all_gather_coalesced(lists, [torch.ones(2) * rank], async_op=True).wait()
    assert [row[0].tolist() for row in lists] == [[0.0, 0.0], [1.0, 1.0]]
    for async_op in (False, True):
        sparse = torch.sparse_coo_tensor([[rank, 2]], [1.0 + rank, 1.0], (4,))
        work = dist.all_reduce(sparse, async_op=async_op)
        assert work.wait() is True if async_op else work is None
        assert sparse.to_dense().tolist() == [1.0, 2.0, 2.0, 0.0]
    try:
        dist.all_reduce(sparse, dist.ReduceOp.MAX)
    except RuntimeError:
        pass
    else:
        raise AssertionError("no error")
    out, group = torch.empty(4), dist.distributed_c10d._get_default_group()
    group.alltoall_base(out, torch.arange(4.0) + 10 * rank, [], [], dist.AllToAllOptions()).wait()
    assert out.tolist() == ([0.0, 1.0, 10.0, 11.0] if rank == 0 else [2.0, 3.0, 12.0, 13.0])


def check_modules_of_helpers():
    rank, group = dist.get_rank(), dist.distributed_c10d._get_default_group()
    model = nn.Linear(2, 2)
    nn.init.constant_(model.weight, rank + 1.0)
    nn.init.constant_(model.bias, rank + 1.0)
    _sync_module_states(model, group, 1 << 20, src=1, params_and_buffers_to_ignore={"bias"})
    assert model.weight.unique().tolist() == [2.0] and model.bias.unique().tolist() == [rank + 1.0]
    _verify_param_shape_across_processes(group, list(model.parameters()))
    try:
        _verify_param_shape_across_processes(group, [torch.ones(2 + rank)])
        refused = False
    except RuntimeError:
        refused = True
    assert refused or rank == 0  # which PyTorch does not tell
    state = {"a": distribute_tensor(torch.arange(4.0), dist.init_device_mesh("cpu", (2,)), [Shard(0)]), "b": {"n": 3}}
    assert _gather_state_dict(state)["a"].tolist() == [0.0, 1.0, 2.0, 3.0] and _gather_state_dict(state)["b"]["n"] == 3
    os.environ["PET_NODES"], os.environ["PET_QUIET"] = "3", "1"
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", action=argparse_util.env)
    parser.add_argument("--quiet", action=argparse_util.check_env)
    parser.add_argument("--loud", action=argparse_util.check_env)
    assert vars(parser.parse_args([])) == {"nodes": "3", "quiet": True, "loud": False}
    assert vars(parser.parse_args(["--nodes", "4", "--loud"])) == {"nodes": "4", "quiet": True, "loud": True}
    assert get_free_port() > 0
    assert not dist._rank_not_in_group(dist.group.WORLD) and dist._rank_not_in_group(dist.GroupMember.NON_GROUP_MEMBER)


def check_older_fsdp_is_printed():
    wrapped = FullyShardedDataParallel(net(), device_id=torch.device("cpu"))
    shown = repr(wrapped)
    assert "(_fsdp_wrapped_module): Sequential(" in shown and "FSDPSequential" not in shown, shown


def check_keys_of_a_store():
    store = dist.TCPStore("127.0.0.1", 0, 1, True)
    store.set("a", "1")
    assert store.num_keys() == 2  # one key counts the workers


if __name__ == "__main__":
    dist.init_process_group("gloo")
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            check()
            if dist.get_rank() == 0:
                print(name, "passed")
    dist.destroy_process_group()
    sys.exit()

"""``FullyShardedDataParallel``, the module around a module, learns as in one process, and gives whole state dicts."""

import functools
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import (
    FullStateDictConfig,
    MixedPrecision,
    ShardingStrategy,
    StateDictType,
)
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import ModuleWrapPolicy, size_based_auto_wrap_policy, transformer_auto_wrap_policy

warnings.simplefilter("ignore")
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks, self.head = nn.Sequential(Block(), Block()), nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.blocks(x))


def train(exact, dtype=torch.float64, accumulate=False, **options):
    torch.manual_seed(rank)  # the first rank's values count
    net = Net().to(dtype)
    torch.manual_seed(0)
    twin = Net().to(dtype)
    net = FSDP(net, sync_module_states=True, device_id=torch.device("cpu"), use_orig_params=True, **options)
    optimizers = [torch.optim.Adam(m.parameters(), lr=0.01) for m in (net, twin)]
    for step in range(3):
        for last in (False, True) if accumulate else (True,):
            generator = torch.Generator().manual_seed(2 * step + last)
            x, y = (torch.randn(2 * size, n, generator=generator, dtype=dtype) for n in (8, 3))
            mine = slice(2 * rank, 2 * rank + 2)
            if last:
                ((net(x[mine]) - y[mine]) ** 2).mean().backward()
            else:
                with net.no_sync():
                    ((net(x[mine]) - y[mine]) ** 2).mean().backward()
            ((twin(x) - y) ** 2).mean().backward()
        norms = net.clip_grad_norm_(0.5), nn.utils.clip_grad_norm_(twin.parameters(), 0.5)
        assert abs(norms[0] - norms[1]) < 10 * exact, norms
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
    state = net.state_dict()
    assert list(state) == list(twin.state_dict()), list(state)
    for name, p in twin.state_dict().items():
        assert type(state[name]) is torch.Tensor and (state[name] - p).abs().max() < 100 * exact, name
    return net, optimizers[0], state


net, optimizer, state = train(1e-12, auto_wrap_policy=ModuleWrapPolicy({Block}))
assert isinstance(net.module.blocks[0], FSDP) and not isinstance(net.module.head, FSDP)
train(1e-12, accumulate=True,
    auto_wrap_policy=functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block}))
train(1e-12, auto_wrap_policy=functools.partial(size_based_auto_wrap_policy, min_num_params=100),
    sharding_strategy=ShardingStrategy.SHARD_GRAD_OP)
train(1e-12)
train(0.1, torch.float32, mixed_precision=MixedPrecision(torch.bfloat16, torch.float32))

# state dicts: of the first rank alone, loaded again
first = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
with FSDP.state_dict_type(net, StateDictType.FULL_STATE_DICT, first):
    assert bool(net.state_dict()) == (rank == 0)
with torch.no_grad():
    for p in net.parameters():
        p.zero_()
net.load_state_dict(state)
assert all(torch.equal(v, state[k]) for k, v in net.state_dict().items())
optim = FSDP.optim_state_dict(net, optimizer)
assert optim["state"]["blocks.0.up.weight"]["exp_avg"].shape == (16, 8)
optimizer.load_state_dict(FSDP.optim_state_dict_to_load(net, optimizer, optim))
with FSDP.summon_full_params(net):
    assert net.module.head.weight.shape == (3, 8) and type(net.module.head.weight) is nn.Parameter
    with torch.no_grad():
        net.module.head.weight.fill_(2.0)
assert torch.equal(net.state_dict()["head.weight"], torch.full((3, 8), 2.0, dtype=torch.float64))

dist.destroy_process_group()
print(f"rank {rank} of {size} is done")

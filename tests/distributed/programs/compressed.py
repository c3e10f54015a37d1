"""Training with compressed gradients ends within 1% of the loss of training without, on digits of which some have wrong
labels: by a linear model with one minimum, and by a small network.
"""

import math
import sys
import warnings

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import (
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
)
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import PostLocalSGDOptimizer
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel as DDP

from wengert.distributed.compression import Int8State, OneBitState, TopKState, int8_hook, onebit_hook, topk_hook

warnings.simplefilter("ignore")
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
ROWS, STEPS, WARM_UP, RATE, DECAY = 600, 301, 20, 0.1, 1e-2  # the last step averages parameters
CLASSES = 10


def digits(dtype):
    found, chance = load_digits(), np.random.default_rng(0)
    order, wrong = chance.permutation(len(found.target))[:ROWS], chance.random(ROWS) < 0.1
    labels = np.where(wrong, chance.integers(0, CLASSES, ROWS), found.target[order])
    return torch.tensor(found.data[order] / 16 - 0.3, dtype=dtype), torch.tensor(labels)


def linear():
    return nn.Linear(64, CLASSES)


def network():
    return nn.Sequential(nn.Linear(64, 24), nn.Tanh(), nn.Linear(24, CLASSES))


def hooked(hook, state=lambda: None):
    def spread(model):
        model = DDP(model, bucket_cap_mb=0.004)
        used = state()
        model.register_comm_hook(used, hook)
        return model, used

    return spread


def powers(rank):
    return lambda: powerSGD_hook.PowerSGDState(None, rank, 2, min_compression_rate=1)


def in_halves(model):
    return fully_shard(model, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32)), None


MODES = {
    "fp16": hooked(default_hooks.fp16_compress_hook),
    "bf16": hooked(default_hooks.bf16_compress_hook),
    "PowerSGD": hooked(powerSGD_hook.powerSGD_hook, powers(2)),
    "top-k": hooked(topk_hook, lambda: TopKState(ratio=0.05)),
    "int8": hooked(int8_hook, Int8State),
    "one bit": hooked(onebit_hook, OneBitState),
    "post-local SGD": hooked(post_localSGD_hook.post_localSGD_hook, lambda: post_localSGD_hook.PostLocalSGDState(None,
        dist.new_subgroups(group_size=1)[0], WARM_UP)),
}
WELL_KNOWN = ["fp16", "bf16"]  # half precision, which the model with one minimum need not show
if size == 2:
    MODES["fully_shard in bfloat16"] = in_halves


def train(make, dtype, spread):
    """The loss at the end, of all rows, and the state of the hook."""
    torch.manual_seed(1)
    model, state = spread(make().to(dtype))
    inner = outer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9, weight_decay=DECAY)
    averager = PeriodicModelAverager(period=4, warmup_steps=WARM_UP)
    if isinstance(state, post_localSGD_hook.PostLocalSGDState):
        outer = PostLocalSGDOptimizer(inner, averager)
    x, y = digits(dtype)
    mine, labels = x.chunk(size)[rank], y.chunk(size)[rank]
    for step in range(STEPS):
        inner.param_groups[0]["lr"] = RATE * (1 + math.cos(math.pi * step / STEPS)) / 2
        outer.zero_grad()
        F.cross_entropy(model(mine), labels).backward()
        outer.step()
    with torch.no_grad():
        whole = [p.full_tensor() if isinstance(p, DTensor) else p.clone() for p in model.parameters()]
        for p in whole:
            first = p.clone()
            dist.broadcast(first, 0)
            assert torch.equal(p, first)
        end = make().to(dtype)
        for p, q in zip(end.parameters(), whole):
            p.copy_(q)
        return F.cross_entropy(end(x), y).item(), state


for make in (network, linear) if size == 2 else (network,):
    dtype = torch.float64 if size == 3 else torch.float32
    plain, _ = train(make, dtype, lambda model: (DDP(model), None))
    assert 0.5 < plain < 1, plain
    for name in sys.argv[1:] or MODES:
        if make is linear and name in WELL_KNOWN:
            continue
        loss, state = train(make, dtype, MODES[name])
        if rank == 0:
            print(f"{make.__name__}, {name}: {100 * (loss / plain - 1):+.3f}%", flush=True)
        assert abs(loss / plain - 1) < 0.01, (make, name, loss, plain)
        if hasattr(state, "bytes_sent"):
            assert state.iter == STEPS and state.bytes_sent < state.bytes_plain / 2, (name, state.bytes_sent)
dist.destroy_process_group()
print(f"rank {rank} of {size} is done", flush=True)

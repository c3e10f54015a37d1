"""Checks of DistributedDataParallel and what goes with it; every process runs all of them."""
import copy
import sys
import time
import warnings
from collections import OrderedDict

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import (
    DDPCommHookType,
    ddp_zero_hook,
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
    register_ddp_comm_hook,
)
from torch.distributed.algorithms.join import Join
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer, ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint

from wengert.distributed.compression import int8_hook, onebit_hook, topk_hook

warnings.simplefilter("ignore")
dist.init_process_group("gloo")
RANK, WORLD = dist.get_rank(), dist.get_world_size()


def batch(dtype=torch.float64, rows=24):
    g = torch.Generator().manual_seed(0)
    return torch.randn(rows, 8, generator=g, dtype=dtype), torch.randn(rows, 3, generator=g, dtype=dtype)


def mine(*tensors):
    return [t.chunk(WORLD)[RANK] for t in tensors]


def net(dtype=torch.float64):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3)).to(dtype)


def train(model, x, y, steps=30, lr=0.1, optimizer=None):
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def mean(losses):
    losses = losses.clone()
    dist.all_reduce(losses)
    return losses / WORLD


def assert_equal_everywhere(module):
    flat = torch.cat([p.detach().reshape(-1) for p in module.parameters()])
    first = flat.clone()
    dist.broadcast(first, 0)
    assert torch.equal(flat, first)


def raises(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"{kind} expected")


def check_initial_state_is_that_of_rank_0():
    torch.manual_seed(RANK)
    module = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    module[1].running_mean.fill_(RANK)
    model = DDP(module)
    assert_equal_everywhere(model)
    assert module[1].running_mean.eq(0).all()
    module[1].running_mean.fill_(RANK + 1.0)
    with torch.no_grad():
        model.eval()(torch.ones(2, 3))
    assert module[1].running_mean.eq(1).all()
    raises(RuntimeError, "appears not to match" if RANK else "do not match", lambda: DDP(nn.Linear(2, 2 + RANK)))


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.never = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x, which):
        return {"out": [self.first(x) if which else self.second(x)]}


def check_unused():
    torch.manual_seed(0)
    model = DDP(Branches(), find_unused_parameters=True)
    for step in range(3):
        model.zero_grad()
        model(torch.ones(1, 2), RANK == step % WORLD)["out"][0].sum().backward()
        net = model.module
        assert torch.allclose(net.first.bias.grad, torch.full((2,), 1 / WORLD))
        assert torch.allclose(net.second.bias.grad, torch.full((2,), 1 - 1 / WORLD))
        assert net.never.weight.grad is None
    model = DDP(Branches())
    model(torch.ones(1, 2), True)["out"][0].sum().backward()
    raises(RuntimeError, "second.weight, second.bias, never.weight, never.bias", lambda: model(torch.ones(1, 2), True))
    model = DDP(Branches())
    model(torch.ones(1, 2), True)["out"][0].sum().backward()
    raises(RuntimeError, "Expected to have finished reduction in the prior iteration",
        lambda: model(torch.ones(1, 2), True))


class Checkpointed(nn.Module):
    def __init__(self, reentrant, again):
        super().__init__()
        torch.manual_seed(3)
        self.a, self.b = nn.Linear(4, 4).double(), nn.Linear(4, 4).double()
        self.reentrant, self.again = reentrant, again

    def forward(self, x):
        for layer in (self.a, self.b, *((self.a,) if self.again else ())):
            x = checkpoint(lambda t, layer=layer: layer(t).tanh(), x, use_reentrant=self.reentrant)
        return x


def check_checkpointed_and_tied():
    g = torch.Generator().manual_seed(5)
    x = torch.randn(12, 4, dtype=torch.float64, generator=g, requires_grad=True)
    for reentrant in (False, True):
        for again in (False, True):
            plain, model = Checkpointed(reentrant, again), DDP(Checkpointed(reentrant, again), static_graph=True)
            for _ in range(3):
                plain.zero_grad()
                model.zero_grad()
                plain(x).square().mean().backward()
                model(mine(x)[0]).square().mean().backward()
                for p, q in zip(model.parameters(), plain.parameters()):
                    assert torch.allclose(p.grad, q.grad, rtol=1e-12, atol=1e-14)
    model = DDP(Checkpointed(True, True))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model(x).sum().backward()
    assert any(" a." in str(w.message) and "is not averaged" in str(w.message) for w in caught)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with model.no_sync():
            model(x).sum().backward()
    assert not any("averaged" in str(w.message) for w in caught)


def check_sparse():
    torch.manual_seed(0)
    model = DDP(nn.EmbeddingBag(10, 3, mode="sum", sparse=True))
    for _ in range(2):
        model.zero_grad()
        model(torch.tensor([[RANK, 9]])).sum().backward()
        grad = model.module.weight.grad
        assert grad.is_sparse
        assert torch.allclose(grad.to_dense()[9], torch.ones(3)), grad
        assert torch.allclose(grad.to_dense()[0], torch.full((3,), 1 / WORLD))


def check_uneven():
    for divide in (True, False):
        torch.manual_seed(0)
        model = DDP(nn.Linear(1, 1, bias=False))
        model.module.weight.data.fill_(0)
        seen = []
        with model.join(divide_by_initial_world_size=divide):
            for i in range(2 + RANK):
                model.zero_grad()
                model(torch.ones(1, 1)).sum().backward()
                seen.append(round(float(model.module.weight.grad), 6))
        expected = [1.0, 1.0] + [round((WORLD - 1 - i) / WORLD, 6) if divide else 1.0 for i in range(RANK)]
        assert seen == expected, (seen, expected)
        assert_equal_everywhere(model)
    model = DDP(nn.Linear(1, 1))

    def end_early():
        with model.join(throw_on_early_termination=True):
            for _ in range(2 + RANK):
                model(torch.ones(1, 1)).sum().backward()

    raises(RuntimeError, "exhausted", end_early)
    dist.barrier()
    model = DDP(net())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1)
    with Join([model, optimizer]):
        for _ in range(1 + RANK):
            optimizer.zero_grad()
            model(batch()[0]).sum().backward()
            optimizer.step()
    assert_equal_everywhere(model)


def check_hooks():
    x, y = batch(torch.float32)

    def trained(hook, state, steps):
        model = DDP(net(torch.float32), bucket_cap_mb=0.0005)
        model.register_comm_hook(state, hook)
        losses = mean(train(model, *mine(x, y), steps))
        assert_equal_everywhere(model)
        assert losses[-1] < losses[0]

    for hook in (default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook), topk_hook, int8_hook, onebit_hook):
        trained(hook, None, 20)
    for hook in (powerSGD_hook.powerSGD_hook, powerSGD_hook.batched_powerSGD_hook):
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2,
            min_compression_rate=1)
        trained(hook, state, 10)
        assert state.compression_stats()[0] > 1
    for kind in DDPCommHookType:
        model = DDP(net(torch.float32))
        group = None if "POWER" in kind.name else dist.group.WORLD
        register_ddp_comm_hook(kind, model, group)
        F.mse_loss(model(mine(x)[0]), mine(y)[0]).backward()
    raises(RuntimeError, "can only be called once", lambda: model.register_comm_hook(None, topk_hook))
    model = DDP(net())
    raises(TypeError, "Communication hook must be callable.", lambda: model.register_comm_hook(None, 1))

    def wrong(state: int, bucket: int) -> int: ...
    raises(ValueError, "bucket annotation should be dist.GradBucket", lambda: model.register_comm_hook(None, wrong))
    seen = []

    def own(state: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        seen.append((bucket.index(), bucket.is_last(), [tuple(g.shape) for g in bucket.gradients()]))
        state.append(bucket.buffer().numel())
        work = dist.all_reduce(bucket.buffer(), async_op=True)
        return work.get_future().then(lambda fut: fut.wait()[0] / WORLD)

    sizes = []
    model.register_comm_hook(sizes, own)
    plain = net()
    F.mse_loss(plain(batch()[0]), batch()[1]).backward()
    F.mse_loss(model(mine(batch()[0])[0]), mine(batch()[1])[0]).backward()
    assert seen[0][:2] == (0, True) and sum(sizes) == sum(p.numel() for p in plain.parameters())
    for p, q in zip(model.parameters(), plain.parameters()):
        assert torch.allclose(p.grad, q.grad, rtol=1e-12, atol=1e-14)


class SlowBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        time.sleep(0.04)
        return g


class SlowLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 32)

    def forward(self, x):
        return SlowBackward.apply(self.linear(x)).tanh()


def slow_hook(state, bucket):
    """Two collectives, and as much time as a layer takes."""
    def second(done):
        time.sleep(0.04)
        return dist.all_reduce(done.value()[0], async_op=True).get_future().wait()[0] / WORLD**2

    return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(second)


def check_overlap():
    model = DDP(nn.Sequential(*[SlowLayer() for _ in range(8)]), bucket_cap_mb=0.003)
    model.register_comm_hook(None, slow_hook)
    times = []
    for _ in range(5):
        loss = model(torch.ones(4, 32)).sum()
        dist.barrier()
        begin = time.perf_counter()
        loss.backward()
        times.append(time.perf_counter() - begin)
    assert len(model.reducer.buckets) == 8
    hidden = (2 * 8 * 0.04 - min(times)) / (8 * 0.04)
    assert hidden > 0.7, hidden


def check_post_local():
    x, y = batch()
    subgroup, _ = dist.new_subgroups(group_size=1)
    state = post_localSGD_hook.PostLocalSGDState(None, subgroup, 5)
    model = DDP(net())
    model.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)
    optimizer = PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
        PeriodicModelAverager(period=4, warmup_steps=5))
    losses = mean(train(model, *mine(x, y), 30, optimizer=optimizer))
    assert losses[-1] < losses[0]
    assert optimizer.state_dict()["step"] == 30
    averager = HierarchicalModelAverager(OrderedDict([(2, 1), (4, WORLD)]))
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(RANK)
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    averager.average_parameters(model.parameters())
    assert torch.allclose(next(model.parameters()), torch.tensor((WORLD - 1) / 2, dtype=torch.float64))


def check_sync_batch_norm():
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)).double()
    model = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(plain)))
    g = torch.Generator().manual_seed(9)
    x = torch.randn(12, 2, 6, 6, generator=g, dtype=torch.float64)
    y = torch.randn(12, 3, generator=g, dtype=torch.float64)
    alone = train(plain, x, y, 20)
    losses = mean(train(model, *mine(x, y), 20))
    assert (losses - alone).abs().max() < 1e-12, (losses - alone).abs().max()
    for (name, a), b in zip(plain.named_buffers(), model.module.buffers()):
        assert torch.allclose(a, b, rtol=1e-12), name
    x = torch.randn(4, 3, 5, dtype=torch.float64, requires_grad=True)
    layer = nn.SyncBatchNorm(3).double().eval()
    assert torch.equal(layer(x), nn.BatchNorm1d(3).double().eval()(x))


def check_zero():
    x, y = batch()
    for views in (False, True):
        alone, model = net(), DDP(net())
        reference = torch.optim.Adam(alone.parameters(), lr=0.01)
        zero = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, parameters_as_bucket_view=views, lr=0.01)
        expected = train(alone, x, y, 20, optimizer=reference)
        losses = mean(train(model, *mine(x, y), 20, optimizer=zero))
        assert (losses - expected).abs().max() < 1e-12
        assert_equal_everywhere(model)
        assert len(zero.optim.state) < 6
        raises(RuntimeError, "Optimizer state has not been consolidated on this rank", zero.state_dict)
        zero.consolidate_state_dict(to=0)
        if RANK == 0:
            ours, theirs = zero.state_dict(), reference.state_dict()
            assert ours["state"].keys() == theirs["state"].keys()
            assert [g["params"] for g in ours["param_groups"]] == [g["params"] for g in theirs["param_groups"]]
            for i, entry in theirs["state"].items():
                assert torch.allclose(ours["state"][i]["exp_avg"], entry["exp_avg"], rtol=1e-9)
        states = [zero.state_dict() if RANK == 0 else None]
        dist.broadcast_object_list(states, 0)
        other = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.5)
        other.load_state_dict(states[0])
        assert other.param_groups[0]["lr"] == 0.01
        one = train(model, *mine(x, y), 1, optimizer=other)
        assert torch.isfinite(one).all()
    model = DDP(net())
    zero = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, overlap_with_ddp=True, lr=0.1, momentum=0.9)
    model.register_comm_hook(None, ddp_zero_hook.hook_with_zero_step(default_hooks.allreduce_hook, model, zero))
    losses = mean(train(model, *mine(x, y), 20, optimizer=zero))
    assert (losses - train(net(), x, y, 20)).abs().max() < 1e-12
    raises(ValueError, "empty parameter list", lambda: ZeroRedundancyOptimizer([], torch.optim.SGD, lr=1))


def check_copies():
    import pickle

    model = DDP(net())
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        other(batch()[0]).sum().backward()
        assert_equal_everywhere(other)
    assert next(iter(model.state_dict())) == "module.0.weight"
    raises(RuntimeError, "DistributedDataParallel is not needed when", lambda: DDP(nn.ReLU()))
    raises(ValueError, "device_ids and output_device arguments only work", lambda: DDP(net(), device_ids=[0]))


for name in sys.argv[1:] or [name for name in list(globals()) if name.startswith("check_")]:
    globals()[name]()
    dist.barrier()
    if RANK == 0:
        print(name, "passed", flush=True)
dist.destroy_process_group()

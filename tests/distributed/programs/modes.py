"""Every way to spread a training over processes, 100 steps in float32 and float64 (by more than two processes 40,
unless ``WENGERT_MODES=all``): the losses are those of one process on the whole batch, and at the end every process has
the same parameters, bit for bit.
"""

import os
import sys
import threading
import time
import warnings
from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed import autograd as dist_autograd
from torch.distributed import pipelining, rpc
from torch.distributed.algorithms.ddp_comm_hooks import ddp_zero_hook, default_hooks, post_localSGD_hook
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    fully_shard,
)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.nn.api.remote_module import RemoteModule
from torch.distributed.optim import DistributedOptimizer, PostLocalSGDOptimizer, ZeroRedundancyOptimizer
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint

ROWS, WIDTH = 24, 12
BOUNDS = {torch.float32: 1e-6, torch.float64: 1e-12}
SMALL = dict(bucket_cap_mb=0.0005)
MODES, known = {}, {}


# -- what is trained ---------------------------------------------------------------------------------------------------

def layer(m, n):
    return nn.Sequential(nn.Linear(m, n), nn.Tanh())


class Net(nn.Module):
    """Layers, the third with the parameters of the second; ``again``: computed again in the backward, and how."""

    def __init__(self, again=None):
        super().__init__()
        self.first, self.second, self.head = layer(8, WIDTH), layer(WIDTH, WIDTH), nn.Linear(WIDTH, 3)
        self.again = again

    def forward(self, x):
        x = self.first(x)
        for part in (self.second, self.second):
            x = part(x) if self.again is None else checkpoint(part, x, use_reentrant=self.again == "reentrant")
        return self.head(x)


class Branches(nn.Module):
    """Equal parts of the rows, each through the branch that it names; a third branch is never used."""

    def __init__(self):
        super().__init__()
        self.both = nn.ModuleList([layer(8, 3) for _ in range(3)])

    def forward(self, x, which):
        return torch.cat([self.both[i](part) for i, part in zip(which, x.chunk(len(which)))])


class Buffered(nn.Module):
    """Outputs times a buffer that only the first process fills in."""

    def __init__(self):
        super().__init__()
        self.linear = layer(8, 3)
        self.register_buffer("scale", torch.ones(()))

    def forward(self, x):
        return self.linear(x) * self.scale


class Words(nn.Module):
    """What a block of a transformer does to each word."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.out = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        x = self.first(x)
        return self.out(x + self.down(torch.tanh(self.up(self.norm(x)))))


class Line(nn.Sequential):
    """Layers one after the other, two for each process."""

    def __init__(self):
        super().__init__(*[layer(8, 8) for _ in range(2 * size - 1)], nn.Linear(8, 3))


def batch_norm():
    return nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3))


BUILDING = threading.Lock()  # threads share the random numbers of their process, and two ranks may ask one to build


def build(make, dtype):
    with BUILDING:
        torch.manual_seed(1)
        return make().to(dtype)


def data(dtype):
    g = torch.Generator().manual_seed(0)
    return torch.randn(ROWS, 8, generator=g, dtype=dtype), torch.randn(ROWS, 3, generator=g, dtype=dtype)


def words(dtype):
    g = torch.Generator().manual_seed(0)
    return torch.randn(4, WIDTH, WIDTH, generator=g, dtype=dtype), torch.randint(0, WIDTH, (4, WIDTH), generator=g)


def sgd(params):
    return torch.optim.SGD(params, lr=0.05, momentum=0.9)


def adam(params):
    return torch.optim.Adam(params, lr=0.01, eps=1e-3)


# -- steps and trainings -----------------------------------------------------------------------------------------------

def whole(x):
    return x.full_tensor() if isinstance(x, DTensor) else x


def plain(model, x, y, step):
    loss = F.mse_loss(model(x), y)
    loss.backward()
    return loss.detach()


def in_branches(ranks):
    """Process r goes through branch r + step: the ranks that are trained here."""
    def step_of(model, x, y, step):
        loss = F.mse_loss(model(x, [(r + step) % 2 for r in ranks]), y)
        loss.backward()
        return loss.detach()

    return step_of


def spoilt(model, x, y, step):
    with torch.no_grad():
        model.module.scale.fill_(1 / (step + 1) if rank == 0 else 7.0)
    return plain(model, x, y, step)


def scaled(model, x, y, step):
    with torch.no_grad():
        model.scale.fill_(1 / (step + 1))
    return plain(model, x, y, step)


def accumulated(model, x, y, step):
    """Two backwards, of which the second synchronises."""
    losses = []
    for last, (a, b) in enumerate(zip(x.chunk(2), y.chunk(2))):
        waits = hasattr(model, "no_sync") and not last
        if hasattr(model, "set_requires_gradient_sync"):
            model.set_requires_gradient_sync(bool(last))
        with model.no_sync() if waits else nullcontext():
            loss = F.mse_loss(model(a), b) / 2
            loss.backward()
        losses.append(loss.detach())
    return sum(losses)


def classified(around=nullcontext):
    def step_of(model, x, y, step):
        with around():
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            loss.backward()
        return whole(loss.detach())

    return step_of


def in_float64(model, x, y, step):
    """A step in float64 of a model whose parameters may have another type."""
    parameters = {name: p.double() for name, p in model.named_parameters()}
    loss = F.mse_loss(torch.func.functional_call(model, parameters, (x.double(),)), y.double())
    loss.backward()
    return loss.detach()


def as_float64(model, x, y, step):
    return plain(model, x, y.double(), step)


def train(model, x, y, step_of=plain, optimizer=sgd):
    optimizer, losses = optimizer(model.parameters()) if callable(optimizer) else optimizer, []
    for step in range(STEPS):
        optimizer.zero_grad()
        losses.append(step_of(model, x, y, step))
        optimizer.step()
    return torch.stack(losses).double()


def alone(dtype, make=Net, step_of=plain, optimizer=sgd, given=data):
    """The losses of one process on the whole batch."""
    key = dtype, make, step_of, optimizer
    if key not in known:
        known[key] = train(build(make, dtype), *given(dtype), step_of, optimizer)
    return known[key]


def on_its_rows(model, dtype, step_of=plain, optimizer=sgd):
    """The mean of the losses of all processes, each on its rows of the batch."""
    losses = train(model, *(t.chunk(size)[rank] for t in data(dtype)), step_of, optimizer)
    dist.all_reduce(losses)
    return losses / size


def same(model, group=None):
    """Whether all processes have the same parameters; of those in pieces, the same wholes and repetitions."""
    for p in model.parameters():
        mine = whole(p.detach()).contiguous()
        first = mine.clone()
        dist.broadcast(first, group=group, group_src=0)
        assert torch.equal(mine, first)
        for i, placement in enumerate(p.placements if isinstance(p, DTensor) else ()):
            if isinstance(placement, Replicate):
                group = p.device_mesh.get_group(i)
                first = p.to_local().detach().clone()
                dist.broadcast(first, group=group, group_src=0)
                assert torch.equal(p.to_local(), first)


def mode(name, function, heavy=False, sizes=(2, 3, 4)):
    """A row of the table: a function of the type that gives losses, those of one process, and what is trained. A heavy
    one, where more processes run than two, in one type.
    """
    kinds = [BOUNDS, [torch.float32], [torch.float64]][size - 2 if heavy and "WENGERT_MODES" not in os.environ else 0]
    if size in sizes:
        MODES[name] = function, kinds


def on_rows(name, spread, make=Net, step_of=plain, optimizer=sgd, one=None, **more):
    """A row whose processes each have a part of the batch. ``one``: what one process does instead, where it differs."""
    def run(dtype):
        model = spread(build(make, dtype))
        using = optimizer(model) if optimizer not in (sgd, adam) else optimizer
        losses = on_its_rows(model, dtype, step_of, using)
        return losses, alone(dtype, **{"make": make, **(one or {})}), model

    mode(name, run, **more)


# -- the table ---------------------------------------------------------------------------------------------------------

def ddp(**options):
    return lambda model: DDP(model, **options)


def hooked(hook, state=lambda: None):
    def spread(model):
        model = DDP(model, **SMALL)
        model.register_comm_hook(state(), hook)
        return model

    return spread


def zero(model):
    return ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01, eps=1e-3)


def zero_beside_the_backward(model):
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, overlap_with_ddp=True, lr=0.05,
        momentum=0.9)
    model.register_comm_hook(None, ddp_zero_hook.hook_with_zero_step(default_hooks.allreduce_hook, model, optimizer))
    return optimizer


def local_steps():
    return post_localSGD_hook.PostLocalSGDState(None, dist.new_subgroups(group_size=1)[0], 5)


def averaged_parameters(model):
    return PostLocalSGDOptimizer(sgd(model.parameters()), PeriodicModelAverager(period=1, warmup_steps=5))


def fully(*, keep=None, kinds=None, mesh=None):
    def spread(model):
        options = dict(mp_policy=MixedPrecisionPolicy(*(kinds or ())), reshard_after_forward=keep,
            mesh=mesh and init_device_mesh("cpu", mesh, mesh_dim_names=("repeat", "cut")))
        for part in (model.second, model):
            fully_shard(part, **options)
        return model

    return spread


def from_meta(model):
    with torch.device("meta"):
        empty = Net(model.again).to(model.head.weight.dtype)
    fully(kinds=(torch.float64, torch.float64))(empty).to_empty(device="cpu")
    with torch.no_grad():
        for p, q in zip(empty.parameters(), model.parameters()):
            p.copy_(distribute_tensor(q.detach(), p.device_mesh, p.placements))
    return empty


def older(**options):
    return lambda model: FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({nn.Sequential}),
        device_id=torch.device("cpu"), use_orig_params=True, **options)


def table():
    on_rows("ddp", ddp())
    on_rows("ddp small buckets, views", ddp(gradient_as_bucket_view=True, **SMALL))
    on_rows("ddp static graph", ddp(static_graph=True, gradient_as_bucket_view=True, **SMALL))
    on_rows("ddp accumulation", ddp(gradient_as_bucket_view=True, **SMALL), step_of=accumulated)
    on_rows("ddp unused parameters", ddp(find_unused_parameters=True, **SMALL), Branches, in_branches([rank]),
        one=dict(step_of=in_branches(range(size))))
    on_rows("ddp buffers", ddp(), Buffered, spoilt, one=dict(step_of=scaled))
    on_rows("ddp SyncBatchNorm", lambda model: DDP(nn.SyncBatchNorm.convert_sync_batchnorm(model)), batch_norm)
    for again in ("reentrant", "not reentrant"):
        on_rows(f"ddp checkpointed, {again}", ddp(static_graph=again == "reentrant"), make_again(again),
            one=dict(make=Net))
    on_rows("ddp allreduce_hook", hooked(default_hooks.allreduce_hook))
    on_rows("ddp post-local SGD", hooked(post_localSGD_hook.post_localSGD_hook, local_steps),
        optimizer=averaged_parameters)
    on_rows("ZeroRedundancyOptimizer", ddp(), optimizer=zero, one=dict(optimizer=adam))
    on_rows("ZeroRedundancyOptimizer, overlap", ddp(), optimizer=zero_beside_the_backward)
    on_rows("fully_shard", fully(), optimizer=adam, one=dict(optimizer=adam), heavy=True)
    on_rows("fully_shard, kept together, accumulation", fully(keep=False), step_of=accumulated, heavy=True)
    on_rows("fully_shard from meta, checkpointed, in float64", from_meta, make_again("not reentrant"), as_float64,
        one=dict(make=Net, step_of=in_float64), heavy=True)
    on_rows("fully_shard, two dimensions", fully(mesh=(2, 2)), heavy=True, sizes=(4,))
    on_rows("older FSDP", older(), heavy=True)
    on_rows("older FSDP in float64", older(sharding_strategy=ShardingStrategy.SHARD_GRAD_OP,
        mixed_precision=MixedPrecision(torch.float64, torch.float64)), step_of=as_float64, one=dict(step_of=in_float64),
        heavy=True)


def make_again(again):
    def make():
        return Net(again)

    return make


# -- models in pieces --------------------------------------------------------------------------------------------------

def on_words(name, plan, around=nullcontext):
    """A row whose processes all have the whole batch, and parts of the model."""
    def run(dtype):
        model = parallelize_module(build(Words, dtype), init_device_mesh("cpu", (size,)), plan)
        step_of = classified(around)
        return train(model, *words(dtype), step_of, sgd), alone(dtype, Words, ON_WORDS, sgd, words), model

    mode(name, run, heavy=True)


ON_WORDS = classified()
TENSORS = {"up": ColwiseParallel(), "down": RowwiseParallel(), "out": ColwiseParallel(output_layouts=Replicate())}


SEQUENCES = {"first": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)), "norm": SequenceParallel(),
    "up": ColwiseParallel(input_layouts=Shard(1)), "down": RowwiseParallel(output_layouts=Shard(1)),
    "out": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)}


def in_two_dimensions(name, spread):
    """A row whose processes form a square: parts of the batch along one side, parts of the model along the other."""
    def run(dtype):
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        model = spread(parallelize_module(build(Words, dtype), mesh["tp"], TENSORS), mesh["dp"])
        losses = train(model, *(t.chunk(2)[mesh["dp"].get_local_rank()] for t in words(dtype)), ON_WORDS, sgd)
        dist.all_reduce(losses)
        return losses / size, alone(dtype, Words, ON_WORDS, sgd, words), model, mesh["dp"].get_group()

    mode(name, run, heavy=True, sizes=(4,))


def in_stages(name, schedule):
    """A row whose processes have a stage each."""
    def run(dtype):
        part = nn.Sequential(*list(build(Line, dtype))[2 * rank : 2 * rank + 2])
        stage = pipelining.PipelineStage(part, rank, size, torch.device("cpu"))
        schedule_of = schedule(stage, n_microbatches=4, loss_fn=F.mse_loss)
        x, y = data(dtype)
        optimizer = sgd(part.parameters())
        losses = torch.zeros(STEPS, dtype=torch.float64)
        for step in range(STEPS):
            found = []
            optimizer.zero_grad()
            schedule_of.step(*([x] if rank == 0 else []), target=y if rank == size - 1 else None, losses=found)
            optimizer.step()
            if rank == size - 1:
                losses[step] = sum(found) / len(found)
        dist.broadcast(losses, size - 1)
        return losses, alone(dtype, Line), None

    mode(name, run)


def pieces():
    on_words("tensor parallel", TENSORS)
    on_words("sequence parallel, loss in pieces", SEQUENCES, loss_parallel)
    in_two_dimensions("ddp and tensor parallel", lambda model, mesh: DDP(model, device_mesh=mesh))
    in_two_dimensions("fully_shard and tensor parallel", lambda model, mesh: fully_shard(model, mesh=mesh))
    in_stages("GPipe", pipelining.ScheduleGPipe)
    in_stages("1F1B", pipelining.Schedule1F1B)


# -- rows that are no table of the above -------------------------------------------------------------------------------

def uneven(divides_by_all):
    """Process r has inputs for 10 r steps less. One process: the losses of those that have any, over how many they are
    or over all.
    """
    def last(r):
        return STEPS - 10 * r

    def run(dtype):
        parts = list(zip(*(t.chunk(size) for t in data(dtype))))
        model, one, mine = DDP(build(Net, dtype), **SMALL), build(Net, dtype), torch.zeros(STEPS, dtype=torch.float64)
        optimizers, wanted = [sgd(m.parameters()) for m in (model, one)], mine.clone()
        with model.join(divide_by_initial_world_size=divides_by_all):
            for step in range(last(rank)):
                optimizers[0].zero_grad()
                mine[step] = plain(model, *parts[rank], step)
                optimizers[0].step()
        for step in range(STEPS):
            optimizers[1].zero_grad()
            losses = [F.mse_loss(one(x), y) for r, (x, y) in enumerate(parts) if step < last(r)]
            (sum(losses) / (size if divides_by_all else len(losses))).backward()
            optimizers[1].step()
            wanted[step] = sum(losses).detach()
        dist.all_reduce(mine)
        return mine, wanted, model

    return run


def remote_layers(dtype):
    """The first process trains layers of all of them."""
    losses = torch.zeros(STEPS, dtype=torch.float64)
    if rank == 0:
        first, second = (RemoteModule(f"worker{(i + 1) % size}/cpu", made, (part, dtype))
            for i, part in enumerate(("first", "second")))
        head, (x, y) = made("head", dtype), data(dtype)
        parameters = [*first.remote_parameters(), *second.remote_parameters(), *map(rpc.RRef, head.parameters())]
        optimizer = DistributedOptimizer(torch.optim.SGD, parameters, lr=0.05, momentum=0.9)
        for step in range(STEPS):
            with dist_autograd.context() as context:
                loss = F.mse_loss(head(second(second(first(x)))), y)
                dist_autograd.backward(context, [loss])
                optimizer.step(context)
            losses[step] = loss.detach()
    dist.broadcast(losses, 0)
    return losses, alone(dtype), None


def made(part, dtype):
    return getattr(build(Net, dtype), part)


def beside_remote_calls(dtype):
    """A layer of the last process before layers that DDP keeps equal in the others."""
    trainers, losses, model = dist.new_group(range(size - 1)), torch.zeros(STEPS, dtype=torch.float64), None
    if rank < size - 1:
        fixed = RemoteModule(f"worker{size - 1}/cpu", made, ("first", dtype))
        model = DDP(nn.Sequential(made("second", dtype), made("head", dtype)), process_group=trainers)
        optimizer = DistributedOptimizer(torch.optim.SGD, [rpc.RRef(p) for p in model.parameters()], lr=0.05)
        x, y = (t.chunk(size - 1)[rank] for t in data(dtype))
        for step in range(STEPS):
            with dist_autograd.context() as context:
                loss = F.mse_loss(model(fixed(x)), y)
                dist_autograd.backward(context, [loss])
                optimizer.step(context)
            losses[step] = loss.detach()
    dist.all_reduce(losses)
    x, (first, *rest) = data(dtype), (made(part, dtype) for part in ("first", "second", "head"))
    one = nn.Sequential(*rest)
    wanted = train(one, first(x[0]).detach(), x[1], optimizer=torch.optim.SGD(one.parameters(), lr=0.05))
    return losses / (size - 1), wanted, model, trainers


# -- all of them -------------------------------------------------------------------------------------------------------

def check(name):
    begin, (run, kinds) = time.perf_counter(), MODES[name]
    for dtype in kinds:
        losses, wanted, model, *group = run(dtype)
        error = (losses - wanted).abs().max()
        assert len(losses) == STEPS and error < BOUNDS[dtype], (name, dtype, error)
        if model is not None:
            same(model, *group)
    if rank == 0:
        print(f"{name}: passed, {time.perf_counter() - begin:.2f} s", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    STEPS = 100 if size == 2 or "WENGERT_MODES" in os.environ else 40
    table()
    pieces()
    mode("ddp join", uneven(True))
    mode("ddp join, divided by those that are left", uneven(False))
    mode("rpc", remote_layers)
    mode("ddp beside rpc", beside_remote_calls)
    for name in sys.argv[1:] or MODES:
        if name == "rpc":
            rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
        check(name)
    if "rpc" in (sys.argv[1:] or MODES):
        rpc.shutdown()
    dist.destroy_process_group()
    print(f"rank {rank} of {size} is done", flush=True)

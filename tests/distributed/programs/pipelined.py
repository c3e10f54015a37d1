"""A model in stages: every schedule gives the losses and gradients of one process."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    SplitPoint,
    pipeline,
)
from torch.distributed.pipelining.schedules import get_schedule_class

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
WIDTH = 6


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x):
        return x + torch.tanh(self.linear(self.norm(x)))


class Model(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.tokens, self.head = nn.Embedding(10, WIDTH), nn.Linear(WIDTH, 10)
        self.layers = nn.ModuleList([Block() for _ in range(depth)])

    def forward(self, tokens):
        x = self.tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Part(nn.Module):
    def __init__(self, model, at, depth):
        super().__init__()
        self.tokens = model.tokens if at == 0 else nn.Identity()
        self.layer, self.head = model.layers[at], model.head if at == depth - 1 else nn.Identity()

    def forward(self, x):
        return self.head(self.layer(self.tokens(x)))


def loss_of(output, target):
    return nn.functional.cross_entropy(output.reshape(-1, 10), target.reshape(-1))


def drawn(seed):
    return torch.randint(0, 10, (8, 5), generator=torch.Generator().manual_seed(seed))


def one(schedule):
    def make(model, depth):
        stage = PipelineStage(Part(model, rank, depth), rank, size, torch.device("cpu"))
        return schedule(stage, n_microbatches=4, loss_fn=loss_of)

    return make


def two(schedule):
    def make(model, depth):
        stages = [PipelineStage(Part(model, i, depth), i, 2 * size, torch.device("cpu")) for i in (rank, rank + size)]
        return schedule(stages, n_microbatches=4, loss_fn=loss_of)

    return make


def traced(model, depth):
    points = {f"layers.{i}": SplitPoint.BEGINNING for i in range(1, size)}
    pipe = pipeline(model, (drawn(1)[:2],), split_spec=points)
    assert pipe.num_stages == pipe.info().num_stages == size and not pipe.info().has_loss_and_backward
    if rank == 1:
        assert "layers.1.linear.weight" in dict(pipe.get_stage_module(1).named_parameters())
    return ScheduleGPipe(pipe.build_stage(rank, torch.device("cpu")), 4, loss_fn=loss_of)


def check(make, depth):
    torch.manual_seed(0)
    model, twin = Model(depth).double(), Model(depth).double()
    twin.load_state_dict(model.state_dict())
    schedule = make(model, depth)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, twin)]
    for step in range(3):
        tokens, target, losses = drawn(step), drawn(step + 9), []
        out = schedule.step(*((tokens,) if rank == 0 else ()), target=target if rank == size - 1 else None,
            losses=losses)
        whole = loss_of(twin(tokens), target)
        whole.backward()
        if rank == size - 1:
            assert out.shape == (8, 5, 10) and len(losses) == 4
            assert abs(sum(losses) / 4 - whole) < 1e-12
        else:
            assert out is None
        grads = 0
        for (name, p), q in zip(model.named_parameters(), twin.parameters()):
            if p.grad is not None:
                grads += 1
                assert (p.grad - q.grad).abs().max() < 1e-12, name
        assert grads
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()


check(one(ScheduleGPipe), size)
check(one(Schedule1F1B), size)
check(two(ScheduleInterleaved1F1B), 2 * size)
check(two(ScheduleInterleavedZeroBubble), 2 * size)
check(two(get_schedule_class("LoopedBFS")), 2 * size)
check(traced, size)

dist.destroy_process_group()
print(f"rank {rank} of {size} is done")

"""A small transformer spread by plans of tensor and sequence parallelism: it learns as in one process."""

from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
VOCABULARY, WIDTH, HEADS, LENGTH = 36, 24, 12, 12


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x):
        q, k, v = self.wq(x), self.wk(x), self.wv(x)
        n, length = q.shape[:2]
        q, k, v = (t.view(n, length, -1, WIDTH // HEADS).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).contiguous().view(n, length, -1))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w3 = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(WIDTH, 4 * WIDTH)
        self.w2 = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.feed_forward = Attention(), FeedForward()
        self.attention_norm, self.ffn_norm = nn.LayerNorm(WIDTH), nn.RMSNorm(WIDTH)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.ffn_norm(x))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_embeddings, self.norm = nn.Embedding(VOCABULARY, WIDTH), nn.LayerNorm(WIDTH)
        self.layers, self.output = nn.ModuleList([Block(), Block()]), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.tok_embeddings(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x))


def tensor_plan(model, mesh):
    plan = {"tok_embeddings": RowwiseParallel(input_layouts=Replicate()),
        "output": ColwiseParallel(output_layouts=Replicate()), "layers.*.attention.wo": RowwiseParallel(),
        "layers.*.feed_forward.w2": RowwiseParallel()}
    for name in ("attention.wq", "attention.wk", "attention.wv", "feed_forward.w1", "feed_forward.w3"):
        plan[f"layers.*.{name}"] = ColwiseParallel()
    parallelize_module(model, mesh, plan)


def sequence_plan(model, mesh, loss=False, local=True):
    parallelize_module(model, mesh, {
        "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1), use_local_output=local),
        "norm": SequenceParallel(),
        "output": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1) if loss else Replicate(),
            use_local_output=not loss)})
    column = ColwiseParallel(use_local_output=local)
    row = RowwiseParallel(output_layouts=Shard(1), use_local_output=local)
    gathered = PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))
    for layer in model.layers:
        parallelize_module(layer, mesh, {"attention_norm": SequenceParallel(), "ffn_norm": SequenceParallel(),
            "attention": gathered, "feed_forward": gathered, "attention.wq": column, "attention.wk": column,
            "attention.wv": column, "attention.wo": row, "feed_forward.w1": column, "feed_forward.w3": column,
            "feed_forward.w2": row})


def whole(x):
    return x.full_tensor() if isinstance(x, DTensor) else x


def train(spread, dtype, exact, around=nullcontext, clip=True):
    torch.manual_seed(0)
    model, twin = Transformer().to(dtype), Transformer().to(dtype)
    twin.load_state_dict(model.state_dict())
    spread(model, init_device_mesh("cpu", (size,)))
    optimizers = [torch.optim.AdamW(m.parameters(), lr=1e-2, eps=1e-4) for m in (model, twin)]
    data = torch.Generator().manual_seed(1)
    for _ in range(4):
        tokens, targets = (torch.randint(0, VOCABULARY, (2, LENGTH), generator=data) for _ in range(2))
        losses, norms = [], []
        for m in (model, twin):
            with around() if m is model else nullcontext():
                loss = F.cross_entropy(m(tokens).flatten(0, 1), targets.flatten(0, 1))
                loss.backward()
            losses.append(whole(loss.detach()))
            if clip:
                norms.append(whole(nn.utils.clip_grad_norm_(m.parameters(), 1.0)))
        assert abs(losses[0] - losses[1]) < exact, losses
        assert not clip or abs(norms[0] - norms[1]) < 10 * exact, norms
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
    for (name, p), q in zip(model.named_parameters(), twin.parameters()):
        assert (whole(p) - q).abs().max() < 100 * exact, name
    return model


model = train(tensor_plan, torch.float32, 1e-6, clip=False)
assert model.layers[0].attention.wq.weight.placements == (Shard(0),)
assert model.layers[0].attention.wo.bias.placements == (Replicate(),)
train(tensor_plan, torch.float64, 1e-12, clip=False)
train(sequence_plan, torch.float64, 1e-12)
train(lambda m, mesh: sequence_plan(m, mesh, loss=True), torch.float64, 1e-12, loss_parallel)
if "pytorch" not in torch.__version__ and not hasattr(torch, "_dynamo"):
    train(lambda m, mesh: sequence_plan(m, mesh, local=False), torch.float64, 1e-12)

# two collectives in a forward of column and row: none, and one all_reduce
mesh = init_device_mesh("cpu", (size,))
net = nn.Sequential(nn.Linear(8, 4 * size), nn.ReLU(), nn.Linear(4 * size, 8))
parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
with CommDebugMode() as watched:
    out = net(torch.ones(2, 8))
assert watched.get_total_counts() == 1 and not isinstance(out, DTensor)
parallelize_module(net, mesh, PrepareModuleOutput(output_layouts=Replicate(), desired_output_layouts=Shard(0)))
assert net(torch.ones(2 * size, 8)).shape == (2, 8)

dist.destroy_process_group()
print(f"rank {rank} of {size} is done")

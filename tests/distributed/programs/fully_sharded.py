"""A small GPT whose parameters ``fully_shard`` cuts: it learns as in one process on the whole batch."""

import warnings

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.utils.checkpoint import checkpoint

warnings.simplefilter("ignore")
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
VOCABULARY, WIDTH, HEADS, LENGTH = 33, 16, 4, 8


class Block(nn.Module):
    def __init__(self, again):
        super().__init__()
        self.first, self.second, self.again = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), again
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def feed(self, x):
        return self.down(F.gelu(self.up(self.second(x))))

    def forward(self, x):
        n, length, _ = x.shape
        q, k, v = (t.view(n, length, HEADS, -1).transpose(1, 2) for t in self.qkv(self.first(x)).split(WIDTH, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(n, length, -1)
        x = x + self.out(y)
        return x + (checkpoint(self.feed, x, use_reentrant=False) if self.again else self.feed(x))


class GPT(nn.Module):
    def __init__(self, again=False):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.1)
        self.blocks, self.norm = nn.ModuleList([Block(again) for _ in range(2)]), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def batch(number):
    generator = torch.Generator().manual_seed(100 + number)
    return [torch.randint(0, VOCABULARY, (size * 2, LENGTH), generator=generator) for _ in range(2)]


def loss_of(model, tokens, targets):
    return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(0, 1))


def train(dtype, exact, accumulate=False, again=False, **options):
    torch.manual_seed(0)
    model, twin = GPT(again).to(dtype), GPT().to(dtype)
    twin.load_state_dict(model.state_dict())
    for block in model.blocks:
        fully_shard(block, **options)
    fully_shard(model, **options)
    assert isinstance(model, FSDPModule) and isinstance(model, GPT) and type(model).__name__ == "FSDPGPT"
    optimizers = [torch.optim.AdamW(m.parameters(), lr=1e-2, eps=1e-4) for m in (model, twin)]
    mine = slice(rank * 2, rank * 2 + 2)
    for step in range(3):
        for last in (False, True) if accumulate else (True,):
            tokens, targets = batch(2 * step + last)
            model.set_requires_gradient_sync(last)
            loss = loss_of(model, tokens[mine], targets[mine])
            loss.backward()
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            whole = loss_of(twin, tokens, targets)
            whole.backward()
            assert abs(mean / size - whole) < exact * max(1, whole), (step, mean / size, whole)
        norms = [nn.utils.clip_grad_norm_(m.parameters(), 1.0) for m in (model, twin)]
        assert isinstance(norms[0], DTensor) and abs(norms[0].full_tensor() - norms[1]) < 10 * exact, norms
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
    for (name, p), q in zip(model.named_parameters(), twin.named_parameters()):
        assert isinstance(p, DTensor) and (p.full_tensor() - q[1]).abs().max() < 100 * exact, name
    return model


model = train(torch.float64, 1e-12)
assert model.blocks[0].qkv.weight.placements == (Shard(0),)
assert size == 1 or model.tokens.weight.to_local().numel() < VOCABULARY * WIDTH
assert model.head.weight is model.tokens.weight
train(torch.float32, 1e-6)
train(torch.float64, 1e-12, accumulate=True)
train(torch.float64, 1e-12, again=True)
train(torch.float64, 1e-12, reshard_after_forward=False)
train(torch.float64, 1e-12, shard_placement_fn=lambda p: Shard(p.ndim - 1))
if size == 4:
    train(torch.float64, 1e-12, mesh=init_device_mesh("cpu", (2, 2), mesh_dim_names=("repeat", "cut")))

# mixed precision: bfloat16 inside, float32 outside
net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
seen = []
net[0].register_forward_hook(lambda module, args, output: seen.append(
    (args[0].dtype, module.weight.dtype, output.dtype)))
fully_shard(net, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32, torch.float32))
out = net(torch.ones(2, 8))
out.sum().backward()
assert seen == [(torch.bfloat16,) * 3] and out.dtype == torch.float32
assert net[0].weight.dtype == net[0].weight.grad.dtype == torch.float32

# gradients are those of the module in bfloat16, bit for bit; their sums are float32, over processes and backwards
torch.manual_seed(0)
model, twin = GPT(), GPT().bfloat16()
twin.load_state_dict(model.state_dict())
for part in (*model.blocks, model):
    fully_shard(part, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
sums = [torch.zeros(p.shape) for p in twin.parameters()]
for last in (False, True):
    model.set_requires_gradient_sync(last)
    tokens, targets = (t[rank * 2 : rank * 2 + 2] for t in batch(last))
    loss_of(model, tokens, targets).backward()
    for each, g in zip(sums, torch.autograd.grad(loss_of(twin, tokens, targets), list(twin.parameters()))):
        each += g
for each, p in zip(sums, model.parameters()):
    dist.all_reduce(each)
    if size < 3:
        assert torch.equal(p.grad.full_tensor(), each / size)
    assert (p.grad.full_tensor() - each / size).abs().max() < 1e-6

# the next parameters are on their way before their turn, in the backward too; sums end after the backward
begun, gather, scatter = [], dist.all_gather_into_tensor, dist.reduce_scatter_tensor
dist.all_gather_into_tensor = lambda *args, **more: begun.append("early" if more["async_op"] else "now") or gather(
    *args, **more)
dist.reduce_scatter_tensor = lambda *args, **more: begun.append("sum") or scatter(*args, **more)
model.blocks[0].register_forward_hook(lambda *args: begun.append("block"))
seen, handle = [], model.norm.weight.register_hook(lambda g: seen.append((type(g), len(begun))))
if size > 1:
    for again in range(2):
        begun.clear()
        loss = loss_of(model, tokens, targets)
        assert begun == ["now", "early", "early", "block"], begun
        loss.backward()
        assert begun[4:] == ["now", "early", "sum", "sum", "sum"], begun
    assert seen == [(DTensor, 9)] * 2 and model.norm.weight.grad.placements == (Shard(0),)
    begun.clear()
    model.set_modules_to_forward_prefetch([])
    model.blocks[1].set_modules_to_backward_prefetch([])
    loss_of(model, tokens, targets).backward()
    assert begun == ["now", "now", "early", "block", "now", "sum", "now", "sum", "sum"], begun
    model.unshard(async_op=True).wait()
    assert not isinstance(model.norm.weight, DTensor) and begun[9:] == ["early"]
    model.reshard()
dist.all_gather_into_tensor, dist.reduce_scatter_tensor = gather, scatter
handle.remove()

# a backward that fails leaves nothing behind
params = list(model.parameters())


def gradients():
    for p in params:
        p.grad = None
    loss_of(model, tokens, targets).backward()
    return [p.grad.full_tensor() for p in params]


def refuse(*args):
    raise ZeroDivisionError


wanted = gradients()
handle = model.blocks[0].register_full_backward_pre_hook(refuse)
try:
    model(tokens).sum().backward()
    raise AssertionError
except ZeroDivisionError:
    handle.remove()
    assert all(isinstance(p, DTensor) for p in model.parameters()) and len(list(model.parameters())) == len(params)
assert all((a - b).abs().max() < 1e-6 for a, b in zip(wanted, gradients()))
assert isinstance(model.norm.weight, DTensor)

# an optimizer moves pieces as it would move a tensor, bit for bit; its state is DTensors that stay
torch.manual_seed(3)
for kind, options in ((torch.optim.SGD, {"momentum": 0.9}), (torch.optim.AdamW, {"amsgrad": True}),
        (torch.optim.RMSprop, {"centered": True, "momentum": 0.5}), (torch.optim.Adagrad, {}), (torch.optim.Rprop, {})):
    net, twin = nn.Linear(5, 7), nn.Linear(5, 7)
    twin.load_state_dict(net.state_dict())
    fully_shard(net)
    optimizers, kept = [kind(m.parameters(), lr=0.1, **options) for m in (net, twin)], []
    for step in range(3):
        for p, q in zip(net.parameters(), twin.parameters()):
            q.grad = torch.randn(q.shape, generator=torch.Generator().manual_seed(step))
            p.grad = distribute_tensor(q.grad, p.device_mesh, p.placements)
        version = net.weight._version
        for optimizer in optimizers:
            optimizer.step()
        assert net.weight._version > version
        kept.append({k: id(v) for k, v in optimizers[0].state[net.weight].items()})
    assert all(torch.equal(p.full_tensor(), q) for p, q in zip(net.parameters(), twin.parameters())), kind
    for name, value in optimizers[0].state[net.weight].items():
        assert isinstance(value, DTensor) == (name != "step"), name
        assert name == "step" or torch.equal(value.full_tensor(), optimizers[1].state[twin.weight][name])
    assert kept[0] == kept[-1]

# made without numbers, filled in pieces
with torch.device("meta"):
    net = nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 5))
for layer in (net[0], net[2], net):
    fully_shard(layer)
assert net[0].weight.is_meta
net.to_empty(device="cpu")
for layer in (net[0], net[2]):
    nn.init.constant_(layer.weight, 0.5)
    nn.init.zeros_(layer.bias)
assert torch.equal(net(torch.ones(1, 8)), torch.full((1, 5), 12.0))

# together until cut again, state dicts, frozen parameters
net.unshard()
assert not isinstance(net[0].weight, DTensor) or net[0].weight.shape == (6, 8)
net.reshard()
state = net.state_dict()
assert all(isinstance(v, DTensor) for v in state.values())
assert list(state) == ["0.weight", "0.bias", "2.weight", "2.bias"]
net.load_state_dict({k: v * 2 for k, v in state.items()})
assert torch.equal(net[2].weight.full_tensor(), torch.ones(5, 6))
frozen = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
frozen[0].requires_grad_(False)
fully_shard(frozen)
frozen(torch.ones(2, 4)).sum().backward()
assert frozen[0].weight.grad is None and frozen[1].weight.grad.placements == (Shard(0),)

# with tensor parallelism, on two dimensions
if size == 4:
    grid = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    torch.manual_seed(5)
    net, twin = (nn.Sequential(nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 8)).double() for _ in range(2))
    twin.load_state_dict(net.state_dict())
    parallelize_module(net, grid["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    fully_shard(net, mesh=grid["dp"])
    assert net[0].weight.device_mesh == grid and net[0].weight.to_local().shape == (3, 8)
    optimizers = [torch.optim.Adam(m.parameters(), lr=0.1) for m in (net, twin)]
    mine = grid["dp"].get_local_rank() * 2
    for step in range(3):
        x = torch.randn(4, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(step))
        net(x[mine : mine + 2]).pow(2).mean().backward()
        twin(x).pow(2).mean().backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
    for p, q in zip(net.parameters(), twin.parameters()):
        assert (p.full_tensor() - q).abs().max() < 1e-10

dist.destroy_process_group()
print(f"rank {rank} of {size} is done")

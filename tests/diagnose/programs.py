"""Programs that use the library in unusual ways: each gives numbers, which a diagnosis must not change."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import io
import pickle
import threading
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

import wengert as torch
from wengert import nn
from wengert.nn import functional as F

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAMS: dict[str, Callable[[], Any]] = {}


def program(f: Callable[[], Any]) -> Callable[[], Any]:
    PROGRAMS[f.__name__] = f
    return f


def mlp() -> Any:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


def train(model: Any, optimizer: Any, steps: int = 5, loss_of: Any = None) -> list[float]:
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        x = torch.randn(6, 4)
        loss = loss_of(model, x) if loss_of else F.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@program
def plain() -> Any:
    model = mlp()
    return train(model, torch.optim.Adam(model.parameters()), 25)


@program
def subclass() -> Any:
    class Named(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.randn(3, 4).as_subclass(Named).requires_grad_()
    y = (x * 2).relu().detach() + x
    y.sum().backward()
    model = mlp()
    return [x.grad.sum().item(), type(y).__name__, *train(model, torch.optim.SGD(model.parameters(), 0.1),
        loss_of=lambda m, x: m(x.as_subclass(Named)).pow(2).mean())]


@program
def dispatch_mode() -> Any:
    from wengert.utils._python_dispatch import TorchDispatchMode

    class Log(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    model = mlp()
    with Log() as log:
        losses = train(model, torch.optim.SGD(model.parameters(), 0.1))
    return [losses, log.names]


@program
def function_mode() -> Any:
    from wengert.overrides import TorchFunctionMode

    class Log(TorchFunctionMode):
        names: list[str] = []

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.names.append(getattr(func, "__name__", "?"))
            return func(*args, **(kwargs or {}))

    model = mlp()
    Log.names = []
    with Log():
        losses = train(model, torch.optim.SGD(model.parameters(), 0.1))
    return [losses, Log.names]


@program
def transforms() -> Any:
    from wengert.func import functional_call, grad, hessian, jacrev, jvp, vmap

    model = mlp()
    parameters = dict(model.named_parameters())
    x = torch.randn(5, 4)

    def loss(p: Any, row: Any) -> Any:
        return functional_call(model, p, (row[None],)).pow(2).sum()

    per_sample = vmap(grad(loss), in_dims=(None, 0))(parameters, x)
    h = hessian(lambda v: (v.sin() * v.detach()).sum())(torch.randn(3))
    _, t = jvp(torch.tanh, (torch.ones(3),), (torch.ones(3),))
    return [per_sample["0.weight"].tolist(), h.tolist(), t.tolist(),
        jacrev(lambda v: v.data * v)(torch.ones(2)).tolist()]


@program
def forward_mode() -> Any:
    import wengert.autograd.forward_ad as ad

    with ad.dual_level():
        x = ad.make_dual(torch.randn(3), torch.ones(3))
        return ad.unpack_dual(x.sin() * x.detach()).tangent.tolist()


@program
def grad_modes() -> Any:
    w = torch.ones(2, requires_grad=True)

    @torch.no_grad
    def bare() -> Any:
        return w * 2

    @torch.no_grad()
    def called() -> Any:
        return w * 2

    @torch.no_grad()
    def generator() -> Any:
        yield w * 2
        yield w * 3

    @torch.inference_mode()
    async def coroutine() -> Any:
        return w * 2

    @torch.set_grad_enabled(False)
    def switched() -> Any:
        return w * 2

    @contextlib.contextmanager
    def frozen() -> Any:
        with torch.no_grad():
            yield

    found = [bare().requires_grad, called().requires_grad, [t.requires_grad for t in generator()],
        asyncio.run(coroutine()).is_inference(), switched().requires_grad, (w * 2).requires_grad]
    with frozen(), contextlib.ExitStack() as stack:
        found.append((w * 2).requires_grad)
        stack.enter_context(torch.enable_grad())
        found.append((w * 2).requires_grad)
    torch.set_grad_enabled(False)
    found.append((w * 2).requires_grad)
    torch.set_grad_enabled(True)
    with torch.set_grad_enabled(False):
        found.append((w * 2).requires_grad)
        with torch.set_grad_enabled(True):
            found.append((w * 2).requires_grad)
    found.append((w * 2).requires_grad)
    with torch.inference_mode(False):
        found.append((w * 2).requires_grad)
    return found


@program
def anomaly() -> Any:
    model = mlp()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            return train(model, torch.optim.SGD(model.parameters(), 0.1))


@program
def profiled() -> Any:
    model = mlp()
    with torch.profiler.profile() as profile:
        losses = train(model, torch.optim.SGD(model.parameters(), 0.1))
    return [losses, sorted({e.key for e in profile.key_averages()})]


@program
def saved_hooks() -> Any:
    model = mlp()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(force=True), torch.from_numpy):
        return train(model, torch.optim.SGD(model.parameters(), 0.1))


@program
def checkpointed() -> Any:
    from wengert.utils.checkpoint import checkpoint, checkpoint_sequential

    model = mlp()
    model.insert(1, nn.Dropout(0.5))
    found = []
    for reentrant in (True, False):
        found += train(model, torch.optim.SGD(model.parameters(), 0.1), loss_of=lambda m, x:
            checkpoint(m, x.requires_grad_(), use_reentrant=reentrant).pow(2).mean())
    return found + train(model, torch.optim.SGD(model.parameters(), 0.1), loss_of=lambda m, x:
        checkpoint_sequential(m, 2, x.requires_grad_(), use_reentrant=False).pow(2).mean())


@program
def hooks() -> Any:
    model, seen = mlp(), []
    model[0].register_forward_hook(lambda m, a, out: out * 2)
    model[0].register_full_backward_hook(lambda m, i, o: seen.append(o[0].sum().item()))
    model[2].weight.register_hook(lambda g: g * 0.5)
    return [train(model, torch.optim.SGD(model.parameters(), 0.1)), seen]


@program
def step_in_backward() -> Any:
    model = mlp()
    optimizers = {p: torch.optim.SGD([p], 0.1) for p in model.parameters()}

    def act(p: Any) -> None:
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(act)
    losses = []
    for _ in range(20):
        loss = model(torch.randn(6, 4)).pow(2).mean()
        loss.backward()
        losses.append(loss.item())
    return losses


@program
def threads() -> Any:
    found: dict[int, Any] = {}

    def work(seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        with lock:
            model = mlp()
        optimizer = torch.optim.SGD(model.parameters(), 0.001)
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(torch.randn(p.shape, generator=generator))
        losses = []
        for _ in range(20):
            x = torch.randn(6, 4, generator=generator)
            loss = model(x).pow(2).mean()
            model.eval().train()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        found[seed] = losses

    lock = threading.Lock()
    workers = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for t in workers:
        t.start()
    for t in workers:
        t.join()
    return sorted(found.items())


@program
def tasks() -> Any:
    async def work(seed: int) -> Any:
        generator = torch.Generator().manual_seed(seed)
        w = torch.randn(4, 1, generator=generator).requires_grad_()
        optimizer = torch.optim.SGD([w], 0.1)
        losses = []
        for _ in range(15):
            with torch.no_grad():
                await asyncio.sleep(0)
                x = torch.randn(6, 4, generator=generator)
            loss = (x @ w).pow(2).mean()
            await asyncio.sleep(0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    async def main() -> Any:
        return await asyncio.gather(*map(work, range(3)))

    return asyncio.run(main())


@program
def copies() -> Any:
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters())
    losses = train(model, optimizer)
    file = io.BytesIO()
    torch.save({"model": model, "optimizer": optimizer.state_dict(), "whole": optimizer, "no": torch.no_grad()}, file)
    saved = file.getvalue()
    other = torch.load(io.BytesIO(saved), weights_only=False)["model"]
    third, fourth = copy.deepcopy(model), pickle.loads(pickle.dumps(optimizer))
    fourth.step()
    return [losses, train(other, torch.optim.SGD(other.parameters(), 0.1)),
        train(third, torch.optim.SGD(third.parameters(), 0.1)), b"_wg_site" in saved, b"_wg_modules" in saved]


@program
def unusual_modules() -> Any:
    from wengert.nn.utils import parametrizations, parametrize

    class Scaled(nn.Parameter):
        pass

    class Symmetric(nn.Module):
        def forward(self, w: Any) -> Any:
            return w.triu() + w.triu(1).T

    class Equal(nn.Module):
        """Equal to everything, as a program may define it."""

        def __init__(self) -> None:
            super().__init__()
            self.list, self.dict = nn.ParameterList([torch.randn(4)]), nn.ParameterDict({"b": torch.randn(1)})
            self.scale = Scaled(torch.ones(1))
            self.square = nn.Linear(4, 4)
            parametrize.register_parametrization(self.square, "weight", Symmetric())
            self.norm = parametrizations.weight_norm(nn.Linear(4, 4))
            self.lazy = nn.LazyLinear(4)

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = nn.Module.__hash__

        def forward(self, x: Any) -> Any:
            return (self.lazy(self.norm(self.square(x))) * self.list[0] + self.dict["b"]) * self.scale

    model = Equal()
    model(torch.randn(2, 4))
    return train(nn.Sequential(nn.Identity()).append(nn.Linear(4, 4)), torch.optim.SGD(model.parameters(), 0.01),
        loss_of=lambda m, x: model(m(x)).pow(2).mean())


@program
def wrapped_models() -> Any:
    model = nn.DataParallel(mlp())
    losses = train(model, torch.optim.SGD(model.parameters(), 0.1))
    compiled = torch.compile(mlp())
    return losses + train(compiled, torch.optim.SGD(compiled.parameters(), 0.1))


@program
def optimizers() -> Any:
    found = []
    model = mlp()
    x = torch.randn(6, 4)
    lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=4)

    def closure() -> Any:
        lbfgs.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        return loss

    found += [lbfgs.step(closure).item() for _ in range(4)]

    class Own(torch.optim.Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {"lr": 0.1})

        @torch.no_grad()
        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p.add_(p.grad, alpha=-group["lr"])

    class Derived(torch.optim.Adam):
        def step(self, closure: Any = None) -> Any:
            return super().step(closure)

    class Failing(Own):
        fails = True

        def step(self, closure: Any = None) -> None:
            Failing.fails = not Failing.fails
            if Failing.fails:
                raise ValueError("no step")
            super().step()

    for kind in (Own, Derived):
        model = mlp()
        found += train(model, kind(model.parameters()), 15)
    model = mlp()
    failing = Failing(model.parameters())
    for _ in range(8):
        with contextlib.suppress(ValueError):
            found += train(model, failing, 1)
    model = mlp()
    adam = torch.optim.Adam(model.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(adam, 2)
    for _ in range(5):
        found += train(model, adam, 1)
        scheduler.step()
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(5):
        adam.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(x).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(adam)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(adam)
        scaler.update()
        found.append(loss.item())
    averaged = torch.optim.swa_utils.AveragedModel(model)
    for _ in range(5):
        found += train(model, adam, 1)
        averaged.update_parameters(model)
    return [*found, averaged(x).sum().item()]


@program
def unusual_tensors() -> Any:
    found: list[Any] = []
    w = torch.randn(3, 3, requires_grad=True)
    s = torch.eye(3).to_sparse()
    torch.sparse.mm(s, w).sum().backward()
    e = nn.Embedding(10, 3, sparse=True)
    for _ in range(2):
        e(torch.tensor([1, 2])).sum().backward()
    optimizer = torch.optim.SparseAdam(e.parameters())
    optimizer.step()
    e(torch.tensor([1, 4])).sum().backward()
    optimizer.step()
    found.append(e.weight.sum().item())
    for dtype in (torch.complex64, torch.bfloat16, torch.float16, torch.float64):
        v = torch.randn(3, dtype=dtype, requires_grad=True)
        for _ in range(2):
            (v * 2).abs().sum().backward()
        (v * 1).abs().sum().detach().float().item()
        found.append(v.grad.abs().float().sum().item())
        torch.optim.SGD([v], 0.1).step()
        (v * 2).abs().sum().backward()
    z = torch.randn((), dtype=torch.complex64, requires_grad=True)
    (z * z.conj()).real.backward()
    with torch.inference_mode():
        i = torch.randn(3)
        i.add_(1)
        found += i.tolist()
    found.append(np.asarray(w.detach()).sum())
    meta = nn.Linear(3, 3, device="meta")
    meta(torch.randn(2, 3, device="meta"))
    n = torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)], requires_grad=True)
    (n * 2).detach()
    torch.nested.to_padded_tensor(n * 2, 0.0).sum().backward()
    return found


@program
def carried_state() -> Any:
    cell, head = nn.GRUCell(4, 8), nn.Linear(8, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], 0.1)
    h, losses = torch.zeros(6, 8), []
    for _ in range(30):
        h = cell(torch.randn(6, 4), h.detach())
        loss = head(h).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    return losses


@program
def custom_function() -> Any:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with torch.enable_grad():
                y = x.detach().requires_grad_()
                (ctx.g,) = torch.autograd.grad((y * y).sum(), y)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.g

    model = mlp()
    return train(model, torch.optim.SGD(model.parameters(), 0.1), loss_of=lambda m, x: Double.apply(m(x)).mean())


@program
def recursion() -> Any:
    def tree(x: Any, depth: int) -> Any:
        return x.tanh() if depth == 0 else tree(x, depth - 1) * tree(x + 1, depth - 1)

    w = torch.ones(2, requires_grad=True)
    tree(w, 6).sum().backward()
    x = w
    for _ in range(25_000):
        x = x * 1.0
    x.sum().backward()
    return w.grad.tolist()


@program
def caught_errors() -> Any:
    w = torch.ones(2, requires_grad=True)
    loss = w.exp().sum()
    loss.backward()
    found = []
    for bad in (loss.backward, lambda: w.add_(1), lambda: torch.ones(2).sum().backward(), lambda: w @ torch.ones(3),
            lambda: w.exp().backward(), lambda: w.numpy()):
        try:
            bad()
        except RuntimeError as error:
            found.append(str(error))
    return found


@program
def double_backward() -> Any:
    critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    def penalty(m: Any, x: Any) -> Any:
        x.requires_grad_()
        (g,) = torch.autograd.grad(m(x).sum(), x, create_graph=True)
        return (g.norm(2, dim=1) - 1).pow(2).mean()

    return train(critic, torch.optim.Adam(critic.parameters()), 15, penalty)


@program
def loaders() -> Any:
    from wengert.utils.data import DataLoader, TensorDataset

    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    data = TensorDataset(torch.randn(24, 4), torch.randn(24, 1))
    losses = []
    for x, y in DataLoader(data, batch_size=6, num_workers=2, shuffle=True):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses

"""What a type checker knows of a program: mypy reads this file, strictly; nothing runs it."""

from collections.abc import Callable
from typing import Any, assert_type

import wengert as torch
import wengert.nn.functional as F
from wengert import Tensor, nn
from wengert.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(8, 2))
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        hidden = F.gelu(self.first(x)) * self.scale
        assert_type(hidden, Tensor)
        assert_type(self.scale, nn.Parameter)
        assert_type(self.first, nn.Linear)
        y: Tensor = self.rest(hidden)
        return y


def train() -> float:
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    assert_type(optimizer, torch.optim.Adam)
    data = DataLoader(TensorDataset(torch.randn(32, 4), torch.randint(2, (32,))), batch_size=8, shuffle=True)
    total = 0.0
    for x, y in data:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        assert_type(loss, Tensor)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        assert_type(norm, Tensor)
        optimizer.step()
        total += float(loss)
    with torch.no_grad():
        total += float(model(torch.zeros(1, 4)).sum())
    return total


def tensors(x: Tensor) -> None:
    assert_type(torch.tensor([1.0, 2.0]), Tensor)
    assert_type(x.sum(), Tensor)
    assert_type(x.exp().log_(), Tensor)
    assert_type(torch.add(x, 1), Tensor)
    assert_type(x + 1, Tensor)
    assert_type(2 * x, Tensor)
    assert_type(x[0, ..., None], Tensor)
    assert_type(x > 0, Tensor)
    assert_type(x.T, Tensor)
    assert_type(x.view(-1), Tensor)
    assert_type(x.permute(1, 0), Tensor)
    assert_type(x.permute(dims=(1, 0)), Tensor)
    assert_type(x.to("cpu", torch.float64), Tensor)
    assert_type(x.float(), Tensor)
    assert_type(x.detach(), Tensor)
    assert_type(x.data, Tensor)
    assert_type(x.requires_grad_(), Tensor)
    assert_type(x.grad, Tensor | None)
    assert_type(x.shape, torch.Size)
    assert_type(x.size(), torch.Size)
    assert_type(x.size(0), int)
    assert_type(x.stride(), tuple[int, ...])
    assert_type(x.numel(), int)
    assert_type(x.dtype, torch.dtype)
    assert_type(x.device, torch.device)
    assert_type(x.is_floating_point(), bool)
    assert_type(x.type(), str)
    for row in x:
        assert_type(row, Tensor)


def several(x: Tensor, flag: bool) -> None:
    assert_type(x.max(), Tensor)
    assert_type(torch.max(x, x), Tensor)
    best = x.max(1)
    assert_type(best.values, Tensor)
    assert_type(best.indices, Tensor)
    values, indices = torch.topk(x, 2)
    assert_type(values, Tensor)
    assert_type(indices, Tensor)
    assert_type(torch.linalg.svd(x).Vh, Tensor)
    assert_type(x.split(2), tuple[Tensor, ...])
    assert_type(torch.where(x > 0), tuple[Tensor, ...])
    assert_type(torch.where(x > 0, x, 0.0), Tensor)
    assert_type(x.nonzero(), Tensor)
    assert_type(x.nonzero(as_tuple=True), tuple[Tensor, ...])
    assert_type(F.max_pool2d(x, 2), Tensor)
    assert_type(F.max_pool2d(x, 2, return_indices=True), tuple[Tensor, Tensor])
    assert_type(torch.std_mean(x), tuple[Tensor, Tensor])
    assert_type(torch.atleast_1d(x), Tensor)
    assert_type(torch.allclose(x, x), bool)
    assert_type(torch.equal(x, x), bool)


def differentiated(x: Tensor) -> None:
    y = (x * x).sum()
    assert_type(torch.autograd.grad(y, x), tuple[Tensor, ...])
    assert_type(torch.autograd.grad(y, {"x": x}), dict[str, Tensor])
    assert_type(torch.func.vmap(torch.sin), Callable[..., Any])
    assert_type(torch.linalg.norm(x), Tensor)
    assert_type(torch.fft.fft(x), Tensor)
    assert_type(torch.special.expit(x), Tensor)


@torch.no_grad()
def decorated(x: Tensor) -> Tensor:
    return x * torch.pi


assert_type(decorated(torch.ones(1)), Tensor)
assert_type(torch.float32, torch.dtype)
assert_type(torch.float, torch.dtype)
assert_type(torch.Generator().manual_seed(1), torch.Generator)

"""Memory that several processes see: share_memory_ of tensors, modules and storages, forked and spawned."""

from __future__ import annotations

import gc
import os
import pickle

import pytest

import wengert as torch
import wengert.multiprocessing as mp
from wengert import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)
        self.tied = self.last

    def forward(self, x):
        return self.last(self.norm(self.first(x)))


def train(index, model, counter):
    torch.manual_seed(index)
    assert counter.is_shared() and all(p.is_shared() for p in (*model.parameters(), *model.buffers()))
    assert model.tied.weight is model.last.weight
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(64, 3)
    for _ in range(20):
        optimizer.zero_grad()
        ((model(x) - x.sum(1, keepdim=True)) ** 2).mean().backward()
        optimizer.step()
    counter[index] += 1
    assert all(p.is_shared() for p in (*model.parameters(), *model.buffers()))


def loss_of(model):
    torch.manual_seed(7)
    x = torch.randn(256, 3)
    with torch.no_grad():
        return ((model(x) - x.sum(1, keepdim=True)) ** 2).mean().item()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_train_one_model(method):
    torch.manual_seed(0)
    model = Net()
    assert not any(p.is_shared() for p in model.parameters())
    before = {name: t.clone() for name, t in model.state_dict().items()}
    parameters = list(model.parameters())
    assert model.share_memory() is model and all(p is q for p, q in zip(parameters, model.parameters()))
    assert all(torch.equal(t, before[name]) and t.is_shared() for name, t in model.state_dict().items())
    counter, bad = torch.zeros(2, dtype=torch.int64).share_memory_(), loss_of(model)
    mp.start_processes(train, (model, counter), nprocs=2, start_method=method)
    assert counter.tolist() == [1, 1] and loss_of(model) < 0.5 * bad
    changed = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    assert changed >= before.keys() & dict(model.named_parameters()).keys() - {"first.bias"}  # the norm subtracts it
    assert model.norm.num_batches_tracked.item() >= 20


def write(connection):
    t = connection.recv()
    t[1] = 7.0
    connection.send((t.is_shared(), t.tolist(), t.stride(), t.requires_grad))
    connection.send(t)
    connection.recv()


KINDS = {
    "plain": lambda: torch.zeros(3).share_memory_(),
    "a part": lambda: torch.zeros(5).share_memory_()[1:4],
    "a column": lambda: torch.zeros(3, 2).share_memory_()[:, 1],
    "half": lambda: torch.zeros(3, dtype=torch.bfloat16).share_memory_(),
    "complex": lambda: torch.zeros(3, dtype=torch.complex64).share_memory_(),
}


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_another_process_writes_is_read_here(method, kind):
    if method == "spawn" and kind in ("half", "complex"):
        method = "fork"  # a new interpreter takes seconds, and the pickle is the same
    t = KINDS[kind]()
    context = mp.get_context(method)
    here, there = context.Pipe()
    process = context.Process(target=write, args=(there,))
    process.start()
    here.send(t)
    assert here.recv() == (True, [0, 7, 0], t.stride(), False) and t.tolist() == [0, 7, 0]
    back = here.recv()
    back[2] = 5
    assert t.tolist() == [0, 7, 5] and back.dtype == t.dtype
    here.send(None)
    process.join(60)
    assert process.exitcode == 0


def test_views_and_storages_move_along():
    t = torch.arange(6.0).reshape(2, 3)
    row, turned, data, storage = t[1], t.t(), t.detach(), t.untyped_storage()
    other = torch.ones(3)
    pointer, version = t.data_ptr(), t._version
    assert t.share_memory_() is t and t.data_ptr() != pointer and t._version == version
    for seen in (t, row, turned, data, storage, t.untyped_storage(), t[0]):
        assert seen.is_shared()
    row[0] = 10
    turned[0, 0] = 20
    assert t.tolist() == data.tolist() == [[20.0, 1.0, 2.0], [10.0, 4.0, 5.0]] and turned.stride() == (1, 3)
    assert not other.is_shared() and not (t + 1).is_shared() and not t.clone().is_shared()
    pointer = t.data_ptr()
    t.share_memory_()
    assert t.data_ptr() == pointer


def test_gradients_flow_through_shared_views():
    base = torch.ones(4, requires_grad=True)
    whole = base * 1
    part, flat = whole[1:], whole.view(2, 2)
    whole.share_memory_()
    part.mul_(3)
    assert flat.tolist() == [[1.0, 3.0], [3.0, 3.0]]
    (flat**2).sum().backward()
    assert base.grad.tolist() == [2.0, 18.0, 18.0, 18.0]


def test_gradients_flow_through_shared_views_of_another_type():
    base = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    whole = base * 1
    parts = torch.view_as_real(whole)
    whole.share_memory_()
    parts.mul_(3)
    assert whole.tolist() == [3, 3]
    whole.real.sum().backward()
    assert base.grad.tolist() == [3, 3]


def test_writes_in_place_stay_shared():
    t = torch.zeros(4).share_memory_()
    pointer = t.data_ptr()
    t.add_(1).mul_(2).copy_(torch.ones(4)).zero_().fill_(3).uniform_().clamp_(0, 1)
    t[0] = 1
    t += 1
    assert t.is_shared() and t.data_ptr() == pointer
    model = nn.Linear(2, 2).share_memory()
    model.load_state_dict(nn.Linear(2, 2).state_dict())
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad, torch.optim.RMSprop):
        optimizer = kind(model.parameters(), lr=0.1)
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        assert all(p.is_shared() for p in model.parameters())


def test_corner_cases():
    for t in (
        torch.ones(()),
        torch.ones(0),
        torch.ones(2, 0, 3),
        torch.ones(3)[:0],
        torch.ones(2, dtype=torch.complex64).conj(),
    ):
        shape, values = t.shape, t.tolist()
        assert t.share_memory_().is_shared() and t.shape == shape and t.tolist() == values
    assert nn.Parameter(torch.ones(2)).share_memory_().is_shared()
    with pytest.raises(RuntimeError, match="only available on CPU"):
        torch.ones(2, device="meta").share_memory_()
    with pytest.raises(RuntimeError, match="Can't share memory on an uninitialized parameter"):
        nn.LazyLinear(2).share_memory()
    assert not pickle.loads(pickle.dumps(torch.ones(2).share_memory_())).is_shared()
    storage = torch.ones(2).untyped_storage()
    assert (
        not storage.is_shared()
        and storage.share_memory_().is_shared()
        and torch.UntypedStorage._new_shared(8).is_shared()
    )


def test_a_storage_takes_its_tensors_along():
    t = torch.ones(4)
    storage, part = t.untyped_storage(), t[2:]
    storage.share_memory_()
    part.fill_(2)
    assert (
        t.is_shared() and part.is_shared() and t.tolist() == [1.0, 1.0, 2.0, 2.0] and storage.data_ptr() == t.data_ptr()
    )


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="it counts open files")
def test_memory_and_files_are_given_back():
    torch.ones(10).share_memory_()
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    kept = [torch.ones(10).share_memory_() for _ in range(20)]
    assert len(os.listdir("/proc/self/fd")) > before
    del kept
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="it counts open files")
def test_a_module_is_in_one_file():
    model = nn.Sequential(*[nn.Linear(3, 3) for _ in range(20)])
    before = len(os.listdir("/proc/self/fd"))
    model.share_memory()
    assert len(os.listdir("/proc/self/fd")) <= before + 2
    assert model[0].weight.untyped_storage().nbytes() == 36 and model[19].bias.untyped_storage().nbytes() == 12
    assert len({p.untyped_storage().data_ptr() for p in model.parameters()}) == 40
    model[3].weight.data.zero_()
    assert model[2].weight.ne(0).all() and model[3].bias.ne(0).all() and model[4].weight.ne(0).all()

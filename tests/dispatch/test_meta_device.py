"""Tensors of the device ``meta``: shapes without numbers, and where new tensors go."""

from __future__ import annotations

import copy
import importlib
import io
import pickle

import pytest


def looks(t):
    return tuple(t.shape), t.dtype, t.stride(), t.device.type, t.is_meta, t.is_cpu, t.requires_grad


MAKERS = {
    "ones": (2, 3), "zeros": (2, 3), "empty": (2, 3), "rand": (2, 3), "randn": (2, 3), "full": ((2, 3), 1.5),
    "arange": (5,), "linspace": (0, 1, 4), "logspace": (0, 1, 4), "eye": (3,), "randint": (4, (2, 3)), "randperm": (4,),
    "tensor": ([[1.0, 2.0]],), "as_tensor": ([1, 2],), "asarray": ([1.0],), "empty_strided": ((2, 3), (1, 2)),
    "tril_indices": (3, 3), "triu_indices": (3, 3), "hann_window": (4,), "normal": (0.0, 1.0, (3,)),
    "scalar_tensor": (2.0,), "empty_permuted": ((2, 3, 4), (0, 2, 1)),
}


@pytest.mark.parametrize("name", MAKERS)
def test_factories(torch, name):
    there, here = getattr(torch, name)(*MAKERS[name], device="meta"), getattr(torch, name)(*MAKERS[name])
    assert looks(there) == (*looks(here)[:3], "meta", True, False, False)
    assert there.device == torch.device("meta") and type(there) is torch.Tensor


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like", "rand_like", "randn_like"])
def test_factories_by_example(torch, name):
    make = getattr(torch, name)
    x, y = torch.ones(2, 3, device="meta"), torch.ones(2, 3)
    assert make(x).is_meta and make(y, device="meta").is_meta
    assert not make(x, device="cpu").is_meta and make(x, device="cpu").shape == (2, 3)
    assert (x.new_zeros(3).is_meta and y.new_ones(3, device="meta").is_meta and x.new_full((2,), 1.0).is_meta
        and x.new_tensor([1.0]).is_meta)


def test_no_numbers_come_out(torch):
    x, one = torch.ones(2, 3, device="meta"), torch.ones((), device="meta")
    for read in (lambda: one.item(), lambda: bool(one), lambda: float(one), lambda: torch.allclose(x, x)):
        with pytest.raises(RuntimeError, match=r"Tensor.item\(\) cannot be called on meta tensors"):
            read()
    for read in (lambda: x.cpu(), lambda: x.to("cpu"), lambda: x.tolist(), lambda: torch.ones(2, 3).copy_(x)):
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
            read()
    with pytest.raises(TypeError, match="can't convert meta device type tensor to numpy"):
        x.numpy()
    for find in (lambda: torch.equal(x, x), lambda: x.nonzero(), lambda: x.unique(), lambda: x[x > 0]):
        with pytest.raises(NotImplementedError):
            find()
    with pytest.raises(RuntimeError, match="device"):
        x + torch.ones(2, 3)
    assert (x + torch.tensor(1.0)).is_meta


def test_text(torch):
    assert repr(torch.ones(2, 3, device="meta")) == "tensor(..., device='meta', size=(2, 3))"
    x = torch.ones(2, device="meta", requires_grad=True)
    assert repr(x) == "tensor(..., device='meta', size=(2,), requires_grad=True)"
    assert repr(x * 2) == "tensor(..., device='meta', size=(2,), grad_fn=<MulBackward0>)"
    assert (repr(torch.ones(2, device="meta", dtype=torch.int64)) == "tensor(..., device='meta', size=(2,), "
        "dtype=torch.int64)")


def test_moves(torch):
    x = torch.ones(3, 2, dtype=torch.float64).t()
    there = x.to("meta")
    assert there.stride() == x.stride() and there.dtype == torch.float64 and there.to("meta") is there
    assert torch.ones(2).to(there).is_meta and torch.ones(2).to("meta", torch.float16).dtype == torch.float16
    leaf = torch.ones(2, requires_grad=True)
    assert leaf.to("meta").grad_fn is not None
    assert (there.data_ptr() == 0 and there.untyped_storage().nbytes() == 48
        and there.untyped_storage().device.type == "meta")
    assert there.copy_(x) is there and there._version == 1


def test_in_place_and_out(torch):
    x = torch.ones(2, 3, device="meta")
    assert x.add_(1) is x and x.zero_() is x and x.normal_() is x and x.clone().relu_().is_meta
    x[0] = 1.0
    assert x._version == 4
    y = torch.empty(0, device="meta")
    assert torch.add(x, x, out=y) is y and y.shape == (2, 3)


def test_random_numbers_are_not_drawn(torch):
    torch.manual_seed(0)
    first = torch.rand(1)
    torch.manual_seed(0)
    x = torch.rand(4, device="meta")
    (torch.nn.functional.dropout(x), x.uniform_(), torch.randperm(4, device="meta"), torch.bernoulli(x),
        torch.randn_like(x))
    assert torch.equal(torch.rand(1), first)


def test_memory_is_not_asked_for(torch):
    x = torch.empty(10**12, device="meta")
    assert (x + 1).numel() == 10**12 and x.view(10**6, 10**6).t().stride() == (1, 10**6)
    big = torch.nn.Linear(10**5, 10**6, device="meta")
    assert big(torch.ones(1, 10**5, device="meta")).shape == (1, 10**6)


def test_backward(torch):
    F = torch.nn.functional
    x, w = torch.ones(2, 3, device="meta", requires_grad=True), torch.ones(4, 3, device="meta", requires_grad=True)
    loss = (F.linear(x, w).relu().exp() * 2).softmax(-1).sum()
    loss.backward()
    assert looks(x.grad) == ((2, 3), torch.float32, (3, 1), "meta", True, False, False) and w.grad.shape == (4, 3)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (gg,) = torch.autograd.grad(g.sum(), x)
    assert g.requires_grad and gg.is_meta and gg.shape == (2, 3)
    with pytest.raises(RuntimeError):
        x @ x


def test_a_module_without_numbers(torch):
    nn = torch.nn
    with torch.device("meta"):
        net = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(),
            nn.Linear(64, 2)
        )
    assert (all(p.is_meta and type(p) is nn.Parameter for p in net.parameters())
        and all(b.is_meta for b in net.buffers()))
    y = net(torch.ones(5, 3, 8, 8, device="meta"))
    assert y.shape == (5, 2) and y.is_meta and y.requires_grad
    optimizer = torch.optim.Adam(net.parameters())
    y.sum().backward()
    optimizer.step()
    assert all(p.grad.is_meta for p in net.parameters())
    with pytest.raises(NotImplementedError,
            match=r"Please use torch.nn.Module.to_empty\(\) instead of torch.nn.Module.to\(\)"):
        net.to("cpu")
    assert net.to_empty(device="cpu") is net and not any(p.is_meta for p in net.parameters())
    assert net(torch.ones(5, 3, 8, 8)).shape == (5, 2)


@pytest.mark.parametrize("make", ["LSTM", "GRU", "TransformerEncoderLayer", "MultiheadAttention"])
def test_large_modules(torch, make):
    nn = torch.nn
    args = {"TransformerEncoderLayer": (8, 2), "MultiheadAttention": (8, 2)}.get(make, (8, 4))
    net = getattr(nn, make)(*args, device="meta")
    x = torch.ones(5, 3, 8, device="meta")
    y = net(x, x, x)[0] if make == "MultiheadAttention" else net(x)
    y = y[0] if isinstance(y, tuple) else y
    assert y.is_meta and y.shape == (5, 3, 4 if args == (8, 4) else 8)


def test_state_dicts(torch):
    net, source = torch.nn.Linear(3, 4, device="meta"), torch.nn.Linear(3, 4)
    with pytest.warns(UserWarning,
            match="for weight: copying from a non-meta parameter in the checkpoint to a meta parameter"):
        net.load_state_dict(source.state_dict())
    assert net.weight.is_meta
    net.load_state_dict(source.state_dict(), assign=True)
    assert (net.weight.data_ptr() == source.weight.data_ptr() and net.weight.requires_grad
        and type(net.weight) is torch.nn.Parameter)
    moved = torch.nn.Linear(3, 4).to("meta")
    assert moved.weight.is_meta and moved.weight.requires_grad and type(moved.weight) is torch.nn.Parameter


def test_copies_and_files(torch):
    x = torch.ones(3, 2, device="meta").t()
    buffer = io.BytesIO()
    torch.save({"x": x, "p": torch.nn.Parameter(x)}, buffer)
    buffer.seek(0)
    found = torch.load(buffer)
    assert type(found["p"]) is torch.nn.Parameter
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), found["x"]):
        assert looks(y) == looks(x)
    buffer = io.BytesIO()
    torch.save(torch.ones(2, 3), buffer)
    buffer.seek(0)
    assert torch.load(buffer, map_location="meta").is_meta


def test_devices_around(torch):
    with torch.device("meta"):
        assert torch.ones(2).is_meta and torch.tensor([1.0]).is_meta and not torch.ones(2, device="cpu").is_meta
        assert torch.get_default_device().type == "meta" and not torch.zeros_like(torch.ones(2, device="cpu")).is_meta
        with torch.device("cpu"):
            assert not torch.ones(2).is_meta
        assert torch.ones(2).is_meta
    assert not torch.ones(2).is_meta and torch.get_default_device().type == "cpu"


def test_default_device(torch):
    length = importlib.import_module(f"{torch.__name__}._C")._len_torch_function_stack
    before = length()
    torch.set_default_device("meta")
    try:
        assert length() == before + 1 and torch.get_default_device().type == "meta"
        x = torch.ones(2) * torch.arange(2)
        assert x.is_meta and torch.rand(3).is_meta and not torch.rand(3, device="cpu").is_meta
        torch.set_default_device("cpu")
        assert length() == before + 1 and not torch.ones(2).is_meta
    finally:
        torch.set_default_device(None)
    assert length() == before and not torch.ones(2).is_meta


def test_device_contexts_among_other_modes(torch):
    overrides = importlib.import_module(f"{torch.__name__}.overrides")
    device = importlib.import_module(f"{torch.__name__}.utils._device")

    class Names(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func.__name__, dict(kwargs or {})))
            return func(*args, **(kwargs or {}))

    def stack():
        return [type(mode) for mode in overrides._get_current_function_mode_stack()]

    seen = []
    meta = torch.device("meta")
    with Names(), device.DeviceContext(meta):  # below the others
        assert torch.ones(2).is_meta and ("ones", {}) in seen
        assert stack() == [device.DeviceContext, Names]
    with Names(), meta:  # as it comes
        assert torch.ones(3).is_meta and ("ones", {"device": meta}) in seen
        assert stack() == [Names, device.DeviceContext]
        with torch.device("cpu"):
            assert not torch.ones(3).is_meta and stack() == [Names, device.DeviceContext, device.DeviceContext]
    with device.DeviceContext(meta), device.DeviceContext(torch.device("cpu")):
        assert stack() == [device.DeviceContext] and not torch.ones(1).is_meta
    assert stack() == []


def test_wrapper_says_where_it_is(torch):
    class There(torch.Tensor):
        @staticmethod
        def __new__(cls, device):
            return torch.Tensor._make_wrapper_subclass(cls, (10**12,), dtype=torch.float32, device=device)

        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise NotImplementedError

    assert There("meta").is_meta and There("cpu").device.type == "cpu" and There("meta").shape == (10**12,)


def test_copies_of_modules(torch):
    net = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, device="meta"), 2)
    assert all(p.is_meta and p.requires_grad for p in copy.deepcopy(net).parameters())
    assert copy.deepcopy(net)(torch.ones(3, 2, 4, device="meta")).shape == (3, 2, 4)


def test_bags_and_dropout_and_conjugates(torch):
    nn = torch.nn
    bags = nn.EmbeddingBag(5, 3, device="meta")(torch.zeros(2, 4, dtype=torch.int64, device="meta"))
    assert bags.is_meta and bags.shape == (2, 3) and bags.requires_grad
    assert nn.AlphaDropout()(torch.ones(2, 3, device="meta")).is_meta
    assert torch.ones(3, dtype=torch.complex64, device="meta").conj().is_meta


@pytest.mark.parametrize("name",
    ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop"])
def test_optimizers(torch, name):
    p = torch.nn.Parameter(torch.ones(3, 4, device="meta"))
    optimizer = getattr(torch.optim, name)([p])
    for _ in range(2):
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
    assert p.is_meta and p.grad.shape == (3, 4)


def test_transforms(torch):
    x = torch.ones(3, device="meta")
    assert torch.func.grad(lambda x: (x * x).sum())(x).is_meta
    assert torch.func.jacrev(lambda x: x * x)(x).shape == (3, 3) and torch.func.vmap(lambda x: x * 2)(x).is_meta
    value, tangent = torch.func.jvp(torch.sin, (x,), (x,))
    assert value.is_meta and tangent.is_meta
    net = torch.nn.Linear(3, 4)
    named = {"weight": torch.ones(4, 3, device="meta"), "bias": torch.ones(4, device="meta")}
    assert torch.func.functional_call(net, named, (torch.ones(2, 3, device="meta"),)).is_meta


def test_apply_does_nothing_to_a_tensor_without_values(torch):
    x = torch.ones(2, device="meta")
    assert x.apply_(lambda v: 1 / 0) is x


def test_lazy_parameters_are_converted_under_a_default_device(torch):
    with torch.device("meta"):
        layer = torch.nn.LazyConv1d(4, 3).to(torch.float64)
    assert layer.weight.dtype == torch.float64

"""Tensors on a CUDA device, from their making to files: run in a process of its own by ``test_device.py``.

The device is strict arrays (``fake``), or with ``WENGERT_CUDA=real`` CuPy's on a GPU.
"""

from __future__ import annotations

import copy
import io
import os
import pickle

import numpy as np
import pytest

import wengert as torch
from tests.cuda import fake

REAL = os.environ.get("WENGERT_CUDA") == "real"
if not REAL:
    fake.install()
SAME = "Expected all tensors to be on the same device, but "
two = pytest.mark.skipif(REAL and torch.cuda.device_count() < 2, reason="needs two devices")


def on(t, where="cuda:0"):
    """The elements of ``t``, which must be on that device."""
    assert str(t.device) == where and t.is_cuda == where.startswith("cuda"), t.device
    return t.tolist()


def leaf(values, where="cuda"):
    return torch.tensor(values, device=where, requires_grad=True)


# -- making -----------------------------------------------------------------------------------------------------------

FACTORIES = {
    "zeros": lambda d: torch.zeros(2, 3, device=d), "ones": lambda d: torch.ones(2, 3, device=d),
    "full": lambda d: torch.full((2, 3), 4.0, device=d), "full_int": lambda d: torch.full((2,), 7, device=d),
    "arange": lambda d: torch.arange(5, device=d), "linspace": lambda d: torch.linspace(0, 1, 5, device=d),
    "logspace": lambda d: torch.logspace(0, 1, 5, device=d), "eye": lambda d: torch.eye(3, device=d),
    "tensor": lambda d: torch.tensor([[1.0, 2.0]], device=d), "scalar": lambda d: torch.scalar_tensor(3, device=d),
    "as_tensor": lambda d: torch.as_tensor([1, 2], device=d), "asarray": lambda d: torch.asarray([1.0], device=d),
    "tril_indices": lambda d: torch.tril_indices(3, 3, device=d), "hann": lambda d: torch.hann_window(5, device=d),
    "fftfreq": lambda d: torch.fft.fftfreq(4, device=d), "like": lambda d: torch.ones_like(torch.zeros(2, device=d)),
    "like_there": lambda d: torch.zeros_like(torch.ones(2), device=d),
    "full_like": lambda d: torch.full_like(torch.ones(2, device=d), 3), "new_ones": lambda d:
    torch.ones(1, device=d).new_ones(3), "new_full": lambda d: torch.ones(1, device=d).new_full((2,), 5.0),
    "new_tensor": lambda d: torch.ones(1, device=d).new_tensor([1, 2]),
    "channels_last": lambda d: torch.ones(1, 2, 3, 4, device=d, memory_format=torch.channels_last),
    "complex": lambda d: torch.zeros(2, dtype=torch.complex64, device=d), "bool": lambda d:
    torch.ones(2, dtype=torch.bool, device=d), "half": lambda d: torch.ones(2, dtype=torch.float16, device=d),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories(name):
    there, here = FACTORIES[name]("cuda"), FACTORIES[name]("cpu")
    assert on(there) == here.tolist()
    assert (there.dtype, there.shape, there.stride()) == (here.dtype, here.shape, here.stride())


def test_uninitialised_memory():
    assert torch.empty(2, 3, device="cuda").shape == (2, 3)
    assert torch.empty_strided((2, 3), (1, 2), device="cuda").stride() == (1, 2)
    assert torch.empty_permuted((2, 3, 4), (0, 2, 1), device="cuda").stride() == (12, 1, 3)
    assert torch.empty_like(torch.ones(2, device="cuda")).is_cuda and torch.ones(1, device="cuda").new_empty(2).is_cuda


def test_names_of_devices():
    for where in ("cuda", "cuda:0", torch.device("cuda"), torch.device("cuda", 0), 0):
        assert on(torch.ones(1, device=where)) == [1]
    x = torch.ones(1, device="cuda")
    assert (x.get_device(), x.is_cpu, x.is_meta, x.type()) == (0, False, False, "torch.cuda.FloatTensor")
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.ones(1, device="cuda:99")
    with pytest.raises(AssertionError, match="not compiled with XPU"):
        x.to("xpu")


@two
def test_a_second_device():
    x = torch.ones(2, device="cuda:1")
    assert on(x + 1, "cuda:1") == [2, 2] and on(x.to("cuda:0")) == [1, 1] and on(torch.ones_like(x), "cuda:1") == [1, 1]
    with torch.cuda.device(1):
        assert torch.cuda.current_device() == 1 and torch.ones(1, device="cuda").get_device() == 1
    assert torch.cuda.current_device() == 0
    with pytest.raises(RuntimeError, match=f"^{SAME}found at least two devices, cuda:[01] and cuda:[01]!$"):
        x + torch.ones(2, device="cuda:0")


def test_default_device():
    with torch.device("cuda"):
        made = [torch.ones(2), torch.rand(2), torch.arange(2), torch.tensor([1.0]), torch.nn.Linear(2, 2).weight]
        assert all(t.is_cuda for t in made) and torch.ones(2, device="cpu").is_cpu
    torch.set_default_device("cuda")
    try:
        assert torch.zeros(2).is_cuda and torch.get_default_device() == torch.device("cuda")
    finally:
        torch.set_default_device(None)
    assert torch.zeros(2).is_cpu


def test_printing():
    x = torch.tensor([1.5, 2.0], device="cuda")
    assert repr(x) == "tensor([1.5000, 2.0000], device='cuda:0')"
    assert repr(x.double().requires_grad_()) == (
        "tensor([1.5000, 2.0000], device='cuda:0', dtype=torch.float64,\n       requires_grad=True)")
    assert repr(leaf([1.0]) * 2) == "tensor([2.], device='cuda:0', grad_fn=<MulBackward0>)"


# -- moving -----------------------------------------------------------------------------------------------------------


def test_moves():
    c = torch.arange(6.0).reshape(2, 3).T
    for there in (c.cuda(), c.to("cuda"), c.to("cuda:0", non_blocking=True), c.to(torch.ones(1, device="cuda")),
            c.cuda(0), c.to(0), c.to(device="cuda"), c.type("torch.cuda.FloatTensor"), c.pin_memory().cuda()):
        assert on(there) == c.tolist() and there.stride() == c.stride()
        assert there.cuda() is there and there.to("cuda") is there and there.to("cuda", copy=True) is not there
    x = c.cuda()
    assert on(x.cpu(), "cpu") == c.tolist() and c.cpu() is c and x.cpu().stride() == c.stride()
    assert on(x.to("cpu", torch.float64), "cpu") == c.tolist() and x.to("cuda", torch.half).dtype is torch.half
    assert x.to(torch.int64).is_cuda and x.type("torch.cuda.DoubleTensor").dtype is torch.float64
    assert x.to("meta").is_meta
    with pytest.raises(ValueError, match="must be cuda device"):
        c.cuda("cpu")


def test_numbers_that_are_read():
    x = torch.tensor([[1.5, 2.0]], device="cuda")
    assert x.sum().item() == 3.5 and x.tolist() == [[1.5, 2.0]] and float(x.sum()) == 3.5 and bool(x.sum() > 3)
    assert int(torch.tensor(3, device="cuda")) == 3 and [1, 2, 3][torch.tensor(1, device="cuda")] == 2
    assert f"{torch.tensor(2.5, device='cuda'):.1f}" == "2.5" and torch.equal(x, x.clone()) and x.allclose(x + 1e-9)
    with pytest.raises(TypeError, match="^can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu\\(\\) to "
            "copy the tensor to host memory first.$"):
        x.numpy()
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        np.asarray(x)
    assert x.numpy(force=True).tolist() == x.cpu().numpy().tolist() == [[1.5, 2.0]]


def test_copies():
    c, x = torch.arange(3.0), torch.zeros(3, device="cuda")
    assert on(x.copy_(c)) == [0, 1, 2] and on(torch.zeros(3).copy_(x), "cpu") == [0, 1, 2]
    x[1:].copy_(torch.tensor([7, 8]), non_blocking=True)
    assert on(x) == [0, 7, 8] and on(x.clone()) == on(copy.deepcopy(x)) == on(copy.copy(x)) == [0, 7, 8]
    x[0] = torch.tensor(5.0)
    x[1:] = c[1:]
    assert on(x) == [5, 1, 2]


# -- several devices --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [lambda x, c: x + c, lambda x, c: c + x, lambda x, c: c * x, lambda x, c: x.add_(c),
    lambda x, c: c.add_(x), lambda x, c: torch.where(x > 0, x, c), lambda x, c: torch.lerp(x, c, 0.5),
    lambda x, c: torch.maximum(c, x), lambda x, c: x == c])
def test_mixed_devices(f):
    x, c = torch.ones(3, device="cuda"), torch.ones(3)
    with pytest.raises(RuntimeError, match=f"^{SAME}found at least two devices, cuda:0 and cpu!$"):
        f(x, c)
    assert on(x) == [1, 1, 1] and on(c, "cpu") == [1, 1, 1]


@pytest.mark.parametrize(("f", "text"), [
    (lambda x, c: x @ c, "got mat2 is on cpu, different from other tensors on cuda:0 (when checking argument in method "
        "wrapper_CUDA_mm)"),
    (lambda x, c: torch.nn.functional.linear(c, x), "got mat1 is on cpu, different from other tensors on cuda:0 (when "
        "checking argument in method wrapper_CUDA_addmm)"),
    (lambda x, c: torch.nn.functional.embedding(torch.tensor([0]), x), "got index is on cpu, different from other "
        "tensors on cuda:0 (when checking argument in method wrapper_CUDA__index_select)"),
    (lambda x, c: torch.cat([x, c]), "got tensors is on cpu, different from other tensors on cuda:0 (when checking "
        "argument in method wrapper_CUDA_cat)"),
    (lambda x, c: torch.nn.functional.nll_loss(x, torch.tensor([0, 1, 2])), "got target is on cpu, different from "
        "other tensors on cuda:0 (when checking argument in method wrapper_CUDA_nll_loss_forward)"),
])
def test_mixed_devices_by_argument(f, text):
    with pytest.raises(RuntimeError) as caught:
        f(torch.ones(3, 3, device="cuda"), torch.ones(3, 3))
    assert str(caught.value) == SAME + text


def test_numbers_may_be_on_the_cpu():
    x = torch.ones(2, device="cuda")
    assert on(x * torch.tensor(3.0)) == on(torch.tensor(3.0) * x) == [3, 3] and on(x.add_(torch.tensor(1.0))) == [2, 2]
    assert on(torch.where(x > 0, x, torch.tensor(0.0))) == [2, 2] and on(torch.tensor(1.0) - x) == [-1, -1]
    assert (torch.tensor(1) + torch.ones(2, dtype=torch.int32, device="cuda")).dtype is torch.int32


def test_indices_may_be_on_the_cpu():
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    for i in (torch.tensor([1, 0]), torch.tensor([1, 0], device="cuda"), [1, 0], np.array([1, 0])):
        assert on(x[i]) == [[3, 4, 5], [0, 1, 2]] and on(x[:, i]) == [[1, 0], [4, 3]]
    assert on(x[x > 3]) == [4, 5] and on(x[0, 1]) == 1 and on(x[..., None].squeeze(-1)[1]) == [3, 4, 5]
    assert on(x[x.cpu() > 3]) == [4, 5] and on(x[torch.tensor(1)]) == [3, 4, 5]
    x[torch.tensor([0])] = 9.0
    x[:, torch.tensor([0], device="cuda")] = torch.tensor(1.0)
    x[x > 8] = 2
    assert on(x) == [[1, 2, 2], [1, 4, 5]]
    with pytest.raises(RuntimeError, match="indices should be either on cpu or on the same device as the indexed"):
        x.cpu()[torch.tensor([0], device="cuda")]


def test_out():
    x = torch.ones(2, device="cuda")
    assert on(torch.add(x, x, out=torch.empty(0, device="cuda"))) == [2, 2]
    assert on(torch.zeros(2, out=torch.ones(3, device="cuda"))) == [0, 0]
    with pytest.raises(RuntimeError, match=SAME):
        torch.add(x, x, out=torch.empty(2))


# -- autograd ---------------------------------------------------------------------------------------------------------


def test_gradients_come_back():
    c = torch.tensor([1.0, 2.0], requires_grad=True)
    x = c.cuda()
    assert x.requires_grad and not x.is_leaf and x.grad_fn.name() == "ToCopyBackward0"
    seen = []
    x.register_hook(lambda g: seen.append(str(g.device)))
    (x * x).sum().backward()
    assert on(c.grad, "cpu") == [2, 4] and seen == ["cuda:0"]
    (c.to("cuda", torch.float64) ** 2).sum().backward()
    assert on(c.grad, "cpu") == [4, 8] and c.grad.dtype is torch.float32
    y = leaf([1.0, 2.0])
    (y.cpu() * torch.tensor([3.0, 4.0])).sum().backward()
    assert on(y.grad) == [3, 4]


def test_gradients_of_higher_order():
    c = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad((c.cuda() ** 3).sum(), c, create_graph=True)
    assert on(g, "cpu") == [3, 12]
    (h,) = torch.autograd.grad(g.sum(), c)
    assert on(h, "cpu") == [6, 12]


def test_gradients_of_copies_and_numbers():
    c, x = torch.ones(2, requires_grad=True), torch.zeros(2, device="cuda")
    y = x.clone()
    y.copy_(c * 3)
    (y * 2).sum().backward()
    assert on(c.grad, "cpu") == [6, 6]
    s = torch.tensor(2.0, requires_grad=True)
    (torch.ones(3, device="cuda") * s).sum().backward()
    assert on(s.grad, "cpu") == 3
    v = torch.ones(2, requires_grad=True)
    (torch.ones(3, device="cuda") * (v * v).sum()).sum().backward()
    assert on(v.grad, "cpu") == [6, 6]
    w = leaf([[1.0, 2.0], [3.0, 4.0]])
    w[torch.tensor([1])].sum().backward()
    assert on(w.grad) == [[0, 0], [1, 1]]


def test_leaves_on_the_device():
    x = leaf([1.0, 2.0])
    for _ in range(2):
        (x.exp() * x).sum().backward()
    assert on(x.grad) == pytest.approx((2 * (x.detach() + 1) * x.detach().exp()).tolist())
    assert torch.autograd.gradcheck(lambda t: (t.sin() @ t), (torch.rand(3, 3, dtype=torch.float64, device="cuda",
        requires_grad=True),))
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.add_(1)


def test_graphs_keep_working_there():
    x = leaf([1.0, 2.0, 3.0])
    with torch.autograd.graph.save_on_cpu():
        y = x * x
    y.sum().backward()
    assert on(x.grad) == [2, 4, 6]
    x = leaf([[1.0, 2.0, 3.0, 4.0]] * 8)
    z = torch.utils.checkpoint.checkpoint(lambda t: torch.nn.functional.dropout(t, 0.5) * t, x, use_reentrant=False)
    torch.rand(3, device="cuda")
    z.sum().backward()  # drops again what it dropped
    assert np.allclose(on(x.grad * x), (2 * z).tolist())
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t)
            return t * 2

        @staticmethod
        def backward(ctx, g):
            assert ctx.saved_tensors[0].is_cuda and g.is_cuda
            return g * 2

    w = leaf([1.0])
    Double.apply(w).backward()
    assert on(w.grad) == [2]
    assert on(torch.func.vmap(lambda a: a * 2)(torch.ones(2, 2, device="cuda"))) == [[2, 2], [2, 2]]
    assert on(torch.func.grad(lambda a: (a * a).sum())(torch.ones(2, device="cuda"))) == [2, 2]
    assert on(torch.func.jvp(torch.sin, (torch.zeros(2, device="cuda"),), (torch.ones(2, device="cuda"),))[1]) == [1, 1]


# -- random numbers ---------------------------------------------------------------------------------------------------

RAND = [0.3990, 0.5167, 0.0249, 0.9401, 0.9459]  # what PyTorch prints on any GPU
RANDN = [-0.9247, -0.4253, -2.6438, 0.1452, -0.1209]


def test_numbers_of_pytorch():
    torch.manual_seed(0)
    assert on(torch.rand(5, device="cuda")) == pytest.approx(RAND, abs=5e-5)
    assert on(torch.manual_seed(0) and torch.randn(5, device="cuda")) == pytest.approx(RANDN, abs=5e-5)
    torch.cuda.manual_seed(0)
    assert on(torch.empty(5, device="cuda").uniform_()) == pytest.approx(RAND, abs=5e-5)
    g = torch.Generator("cuda").manual_seed(0)
    assert on(torch.randn(5, device="cuda", generator=g)) == pytest.approx(RANDN, abs=5e-5)
    assert str(g.device) == "cuda:0" and g.initial_seed() == 0 and g.get_state().shape == (16,)
    torch.manual_seed(0)
    assert torch.rand(2).tolist() == pytest.approx([0.4963, 0.7682], abs=5e-5)  # the CPU's own


def test_streams_of_devices():
    for text, f in (("'cuda' device type for generator but found 'cpu'", lambda: torch.rand(2, device="cuda",
            generator=torch.Generator())), ("'cpu' device type for generator but found 'cuda'",
            lambda: torch.rand(2, generator=torch.Generator("cuda")))):
        with pytest.raises(RuntimeError, match=text):
            f()
    state = torch.cuda.get_rng_state()
    a = torch.rand(3, device="cuda").tolist()
    torch.cuda.set_rng_state(state)
    assert torch.rand(3, device="cuda").tolist() == a
    with torch.random.fork_rng():
        b = torch.rand(3, device="cuda").tolist()
    assert torch.rand(3, device="cuda").tolist() == b
    assert len(torch.cuda.get_rng_state_all()) == torch.cuda.device_count() == len(torch.cuda.default_generators)
    torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
    torch.cuda.manual_seed_all(3)
    assert torch.cuda.initial_seed() == 3
    kept = pickle.loads(pickle.dumps(torch.Generator("cuda").manual_seed(5)))
    assert kept.device.type == "cuda" and kept.initial_seed() == 5


def test_draws_land_on_the_device():
    x, p = torch.ones(3, 4, device="cuda"), torch.full((3, 4), 0.5, device="cuda")
    F = torch.nn.functional
    made = [torch.randint(3, (2,), device="cuda"), torch.randperm(5, device="cuda"), torch.rand_like(x),
        torch.randn_like(x), torch.randint_like(x, 5), torch.bernoulli(p), torch.normal(x, p), torch.normal(x, 1.0),
        torch.normal(0.0, 1.0, (2,), device="cuda"), torch.poisson(x), torch.multinomial(p, 2), F.dropout(x),
        F.alpha_dropout(x, 0.5, True), F.feature_alpha_dropout(x, 0.5, True), F.gumbel_softmax(x),
        F.rrelu(x - 2, training=True), F.dropout2d(x.expand(2, 3, 3, 4)), torch.binomial(x, p),
        F.fractional_max_pool2d(torch.rand(1, 1, 6, 6, device="cuda"), 2, 3), x.clone().normal_(), x.clone().random_(),
        x.clone().random_(3), x.clone().bernoulli_(p), x.clone().bernoulli_(0.3), x.clone().exponential_(),
        x.clone().cauchy_(), x.clone().log_normal_(), x.clone().geometric_(0.5), x.T.clone().T.uniform_(),
        torch.rand(0, device="cuda"), torch.randn(3, dtype=torch.complex64, device="cuda"),
        torch.randn(3, dtype=torch.half, device="cuda"), torch.distributions.Normal(x, p).sample(),
        torch.distributions.Categorical(p).sample(), torch.nn.init.xavier_uniform_(x.clone())]
    assert all(t.is_cuda for t in made), [t.device for t in made]


# -- memory, files, other libraries -----------------------------------------------------------------------------------


def test_storages():
    x = torch.arange(6.0, device="cuda")
    s = x.untyped_storage()
    assert str(s.device) == "cuda:0" and s.is_cuda and s.nbytes() == 24 and s is x[2:].untyped_storage()
    assert x[2:].storage_offset() == 2 and x[2:].data_ptr() - x.data_ptr() == 8 and x.reshape(2, 3).T.stride() == (1, 3)
    assert s.cpu().tolist() == x.cpu().untyped_storage().tolist() and s.cpu().cuda().is_cuda and s.cuda() is s
    y = torch.empty(0, device="cuda").set_(s, 2, (2, 2), (1, 2))
    assert on(y) == [[2, 4], [3, 5]]
    y.zero_()
    assert on(x) == [0, 1, 0, 0, 0, 0] and on(x.as_strided((2,), (3,), 1)) == [1, 0]
    assert torch.UntypedStorage(4, device="cuda").is_cuda and x.storage().tolist() == [0, 1, 0, 0, 0, 0]
    a, b = copy.deepcopy([x, x[1:3]])
    b.fill_(7)
    assert on(a) == [0, 7, 7, 0, 0, 0]


@pytest.mark.parametrize("zip_file", [True, False])
def test_files(zip_file):
    x = torch.arange(6.0, device="cuda")
    saved = {"x": x, "view": x[2:4], "p": torch.nn.Parameter(x.clone()), "c": torch.ones(2)}
    file = io.BytesIO()
    torch.save(saved, file, _use_new_zipfile_serialization=zip_file)

    def load(**options):
        file.seek(0)
        return torch.load(file, **options)

    found = load()
    assert on(found["x"]) == on(x) and on(found["view"]) == [2, 3] and found["p"].is_cuda and found["c"].is_cpu
    found["view"].zero_()
    assert on(found["x"]) == [0, 1, 0, 0, 4, 5]
    for place in ("cpu", torch.device("cpu"), {"cuda:0": "cpu"}, lambda s, at: s.cpu()):
        assert all(t.is_cpu for t in load(map_location=place).values())
    assert all(t.is_cuda for t in load(map_location="cuda").values())
    places = []
    load(map_location=lambda s, at: places.append(at))
    assert set(places) == {"cuda:0", "cpu"}
    kept = pickle.loads(pickle.dumps(x[2:]))
    assert on(kept) == [2, 3, 4, 5]


def test_dlpack():
    x = torch.arange(3.0, device="cuda")
    assert x.__dlpack_device__() == (2, 0)
    y = torch.from_dlpack(x)
    y.add_(1)
    assert on(x) == [1, 2, 3] and y.data_ptr() == x.data_ptr()
    class Other:
        def __dlpack__(self, **options):
            return x.__dlpack__(**options)

        def __dlpack_device__(self):
            return x.__dlpack_device__()

        _wg_data = x._wg_data

    z = torch.from_dlpack(Other())
    assert on(z) == [1, 2, 3] and z.data_ptr() == x.data_ptr()


# -- modules ----------------------------------------------------------------------------------------------------------


def test_modules():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Dropout(0.1))
    weight = model[0].weight
    assert model.cuda() is model and model[0].weight is weight and weight.is_cuda and model[1].running_mean.is_cuda
    out = model(torch.ones(5, 3, device="cuda"))
    out.sum().backward()
    assert out.is_cuda and weight.grad.is_cuda
    state = model.state_dict()
    assert all(t.is_cuda for t in state.values())
    model.cpu()
    assert weight.is_cpu and weight.grad.is_cpu
    model.load_state_dict(state)  # copies across devices
    assert weight.is_cpu and model.to("cuda", torch.float64)[0].weight.dtype is torch.float64
    assert torch.nn.Linear(2, 2, device="cuda").weight.is_cuda


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_recurrent_modules(kind):
    torch.manual_seed(0)
    here = getattr(torch.nn, kind)(3, 4, 2, batch_first=True)
    there, x = copy.deepcopy(here).cuda(), torch.rand(2, 5, 3)
    a, b = here(x)[0], there(x.cuda())[0]  # their initial states are made where the input is
    assert np.allclose(on(b), a.tolist(), atol=1e-6)
    b.sum().backward()
    assert all(p.grad.is_cuda for p in there.parameters())
    assert getattr(torch.nn, f"{kind}Cell")(3, 4).cuda()(torch.ones(2, 3, device="cuda")) is not None


MODULES = {
    "conv": (lambda: torch.nn.Conv2d(2, 3, 3, padding=1), (1, 2, 5, 5)),
    "pool": (lambda: torch.nn.MaxPool2d(2), (1, 2, 4, 4)),
    "avg": (lambda: torch.nn.AdaptiveAvgPool2d(1), (1, 2, 4, 4)), "bn": (lambda: torch.nn.BatchNorm2d(2), (2, 2, 3, 3)),
    "ln": (lambda: torch.nn.LayerNorm(4), (2, 4)), "gn": (lambda: torch.nn.GroupNorm(2, 4), (2, 4, 3)),
    "gelu": (lambda: torch.nn.GELU(), (3, 4)), "softmax": (lambda: torch.nn.Softmax(-1), (3, 4)),
    "attention": (lambda: torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), (2, 3, 8)),
    "convT": (lambda: torch.nn.ConvTranspose1d(2, 3, 3), (1, 2, 5)), "upsample": (lambda: torch.nn.Upsample(
        scale_factor=2), (1, 2, 3, 3)), "prelu": (lambda: torch.nn.PReLU(), (2, 3)),
    "bilinear": (lambda: torch.nn.Upsample(scale_factor=2, mode="bilinear"), (1, 2, 3, 3)),
    "instance": (lambda: torch.nn.InstanceNorm1d(2), (1, 2, 5)),
    "pad": (lambda: torch.nn.ReflectionPad1d(1), (1, 2, 5)),
}


@pytest.mark.parametrize("name", MODULES)
def test_the_cpu_s_numbers(name):
    torch.manual_seed(0)
    make, shape = MODULES[name]
    here = make().double()
    there, x = copy.deepcopy(here).cuda(), torch.rand(shape, dtype=torch.float64)
    a, b = x.clone().requires_grad_(), x.cuda().requires_grad_()
    y, z = here(a), there(b)
    (y * y).sum().backward()
    (z * z).sum().backward()
    assert np.allclose(on(z), y.tolist()) and np.allclose(on(b.grad), a.grad.tolist())
    for p, q in zip(here.parameters(), there.parameters()):
        assert np.allclose(on(q.grad), p.grad.tolist())


LOSSES = {
    "cross_entropy": lambda x, t: torch.nn.functional.cross_entropy(x, t), "smoothed": lambda x, t:
    torch.nn.functional.cross_entropy(x, t, label_smoothing=0.1, weight=x.new_ones(4)),
    "mse": lambda x, t: torch.nn.functional.mse_loss(x, x.detach() * 2), "bce": lambda x, t:
    torch.nn.functional.binary_cross_entropy_with_logits(x, x.detach().sigmoid()), "nll": lambda x, t:
    torch.nn.functional.nll_loss(x.log_softmax(-1), t, ignore_index=0), "smooth": lambda x, t:
    torch.nn.functional.smooth_l1_loss(x, x.detach() + 1), "embedding": lambda x, t:
    torch.nn.functional.embedding(t, x).sum(), "kl": lambda x, t: torch.nn.functional.kl_div(x.log_softmax(-1),
    x.detach().softmax(-1), reduction="batchmean"), "attention": lambda x, t:
    torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True).sum(),
    "one_hot": lambda x, t: (torch.nn.functional.one_hot(t, 4) * x).sum(), "sorted": lambda x, t:
    (x.sort(-1).values * torch.arange(4.0, device=x.device)).sum(), "scatter": lambda x, t:
    torch.zeros_like(x).scatter(1, t[:, None], x).sum(), "unique": lambda x, t: x.sum() * len(torch.unique(t)),
    "topk": lambda x, t: x.topk(2, -1).values.sum(), "masked": lambda x, t: x.masked_fill(x > 0.5, 0.0).sum(),
    "norm": lambda x, t: torch.linalg.norm(x) + x.norm(dim=-1).sum(), "einsum": lambda x, t:
    torch.einsum("ij,kj->", x, x), "cdist": lambda x, t: torch.cdist(x, x.detach() + 1).sum(), "pad": lambda x, t:
    torch.nn.functional.pad(x, (1, 1)).sum(), "cosine": lambda x, t:
    torch.nn.functional.cosine_similarity(x, x.flip(0)).sum(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_functions(name):
    torch.manual_seed(0)
    c, t = torch.rand(4, 4, dtype=torch.float64), torch.tensor([0, 1, 3, 2])
    c = c if name not in ("sorted",) else c.float()
    a, b = c.clone().requires_grad_(), c.cuda().requires_grad_()
    y, z = LOSSES[name](a, t), LOSSES[name](b, t.cuda())
    y.backward()
    z.backward()
    assert np.allclose(on(z), y.tolist()) and np.allclose(on(b.grad), a.grad.tolist())


OPTIMIZERS = ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop",
    "LBFGS", "Adafactor"]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    kind = getattr(torch.optim, name)
    options = {"momentum": 0.9} if name == "SGD" else {}

    def run(where):
        p = torch.tensor([[1.0, -2.0], [0.5, 3.0]], device=where, requires_grad=True)
        optimizer = kind([p], lr=0.1, **options)
        for _ in range(3):
            def closure():
                optimizer.zero_grad()
                loss = (p * p).sum()
                loss.backward()
                return loss

            optimizer.step(closure)
        return p, optimizer

    (here, _), (there, optimizer) = run("cpu"), run("cuda")
    assert np.allclose(on(there), here.tolist(), atol=1e-6)
    row = optimizer.state[there]
    assert any(isinstance(v, torch.Tensor) for v in row.values()) or name == "LBFGS"
    assert all(v.is_cuda for v in row.values() if isinstance(v, torch.Tensor) and v.ndim)
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    q = there.detach().clone().requires_grad_()
    fresh = kind([q], lr=0.1, **options)
    fresh.load_state_dict(torch.load(file, map_location="cpu"))  # goes where the parameter is
    assert all(v.is_cuda for v in fresh.state[q].values() if isinstance(v, torch.Tensor) and v.ndim)


def test_clipping_and_schedules():
    p = leaf([3.0, 4.0])
    p.grad = torch.tensor([3.0, 4.0], device="cuda")
    assert torch.nn.utils.clip_grad_norm_([p], 1.0).item() == pytest.approx(5)
    assert np.allclose(on(p.grad), [0.6, 0.8], atol=1e-4)
    torch.nn.utils.clip_grad_value_([p], 0.7)
    assert np.allclose(on(p.grad), [0.6, 0.7], atol=1e-4)
    with pytest.raises(RuntimeError, match="device"):
        p.grad = torch.tensor([3.0, 4.0])
    vector = torch.nn.utils.parameters_to_vector([p])
    assert vector.is_cuda


def test_mixed_precision():
    model, x = torch.nn.Linear(4, 4, device="cuda"), torch.rand(2, 4, device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        assert torch.is_autocast_enabled("cuda")
        y = model(x)
        assert y.dtype is torch.float16 and y.is_cuda and y.float().softmax(-1).dtype is torch.float32
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32  # not on the CPU
    assert model(x).dtype is torch.float32
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cuda", init_scale=8.0)
    before = model.weight.tolist()
    scaler.scale(y.float().sum()).backward()
    assert model.weight.grad.is_cuda
    scaler.step(optimizer)
    scaler.update()
    assert model.weight.tolist() != before and scaler.get_scale() == 8.0
    optimizer.zero_grad()
    scaler.scale((model(x) * float("inf")).sum()).backward()
    before = model.weight.tolist()
    scaler.step(optimizer)
    scaler.update()
    assert model.weight.tolist() == before and scaler.get_scale() == 4.0


def test_loaders():
    data = torch.utils.data.TensorDataset(torch.arange(4.0), torch.arange(4))
    loader = torch.utils.data.DataLoader(data, 2, pin_memory=True)
    batches = [(a.cuda(non_blocking=True), b.to("cuda")) for a, b in loader]
    assert [on(a) for a, _ in batches] == [[0, 1], [2, 3]] and batches[0][1].is_cuda


# -- torch.cuda -------------------------------------------------------------------------------------------------------


def test_queries():
    cuda = torch.cuda
    assert cuda.is_available() and cuda.device_count() >= 1 and cuda.current_device() == 0 and cuda.is_initialized()
    found = cuda.get_device_properties(0)
    assert found.name == cuda.get_device_name() and (found.major, found.minor) == cuda.get_device_capability("cuda:0")
    assert found.total_memory > 0 and found.multi_processor_count >= 1
    assert cuda.is_bf16_supported() == (found.major >= 8)
    assert cuda.mem_get_info()[1] > 0 and cuda.memory_allocated() >= 0 and cuda.max_memory_allocated() >= 0
    assert cuda.memory_reserved() >= 0 and "allocated_bytes.all.peak" in cuda.memory_stats()
    assert "memory of cuda:0" in cuda.memory_summary()
    for f in (cuda.reset_peak_memory_stats, cuda.empty_cache, cuda.synchronize, cuda.init):
        assert f() is None
    with pytest.raises(AssertionError, match="Invalid device id"):
        cuda.get_device_properties(99)
    with pytest.raises(ValueError, match="Expected a cuda device"):
        cuda.synchronize("cpu")
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        cuda.set_device(99)
    with cuda.device_of(torch.ones(1, device="cuda")), cuda.device("cuda:0"), cuda.device(-1):
        assert cuda.current_device() == 0
    assert torch.accelerator.is_available() and torch.accelerator.current_accelerator() == torch.device("cuda")


def test_integers_are_checked_when_something_is_read():
    """As in PyTorch: an operator starts no read, and what it found is an error of the next one."""
    from wengert.arrays.foreign import check_range

    index = torch.tensor([0, 5, 2], device="cuda")
    check_range(index._wg_data, 0, 6)
    check_range(index._wg_data, 0, 6)  # looked at together with the first
    assert on(index) == [0, 5, 2]
    for read in (torch.cuda.synchronize, index.tolist, index.sum().item, lambda: bool((index > 0).all())):
        check_range(index._wg_data, 0, 5, "Target {} is out of bounds.")
        with pytest.raises(IndexError, match="Target 5 is out of bounds"):
            read()
        assert on(index) == [0, 5, 2]


def test_streams_and_events():
    cuda = torch.cuda
    start, end, stream = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True), cuda.Stream()
    start.record()
    with cuda.stream(stream):
        assert cuda.current_stream() == stream and cuda.current_stream() != cuda.default_stream()
        x = torch.ones(3, device="cuda") * 2
    stream.synchronize()
    assert cuda.current_stream() == cuda.default_stream() and on(x) == [2, 2, 2]
    cuda.current_stream().wait_stream(stream)
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0 and start.query() and stream.query() and str(stream.device) == "cuda:0"
    with pytest.raises(ValueError, match="enable_timing=True"):
        start.elapsed_time(cuda.Event())

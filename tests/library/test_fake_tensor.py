"""Tensors without numbers that say they are somewhere: shapes, types and devices of what a program would make."""

import copy
import importlib

import pytest


@pytest.fixture
def fake(torch):
    return importlib.import_module(f"{torch.__name__}._subclasses.fake_tensor")


@pytest.fixture
def mode(fake):
    return fake.FakeTensorMode()


# what is made, with ``a`` of shape (2, 3), and how it prints
MADE = {
    "a": "FakeTensor(..., size=(2, 3))",
    "torch.ones(2) + 1": "FakeTensor(..., size=(2,))",
    "torch.empty(2, device='cuda')": "FakeTensor(..., device='cuda:0', size=(2,))",
    "torch.tensor([1.0, 2.0])": "FakeTensor(..., size=(2,))",
    "torch.arange(4)": "FakeTensor(..., size=(4,), dtype=torch.int64)",
    "a > 0": "FakeTensor(..., size=(2, 3), dtype=torch.bool)",
    "a.double().t()": "FakeTensor(..., size=(3, 2), dtype=torch.float64)",
    "torch.nn.Linear(3, 4)(a)": "FakeTensor(..., size=(2, 4), grad_fn=<AddmmBackward0>)",
    "torch.nn.Linear(3, 4).weight": "Parameter(FakeTensor(..., size=(4, 3), requires_grad=True))",
    "a.to('meta')": "FakeTensor(..., device='meta', size=(2, 3))",
    "a.new_zeros(3)": "FakeTensor(..., size=(3,))",
    "torch.zeros(3)[torch.tensor(1)]": "FakeTensor(..., size=())",
    "torch.randn(2) + a[0, :2]": "FakeTensor(..., size=(2,))",
    "torch.nn.functional.conv2d(torch.empty(1, 3, 8, 8), torch.empty(4, 3, 3, 3))": "FakeTensor(..., size=(1, 4, 6, "
    "6))",
    "torch.nn.functional.layer_norm(a, (3,))": "FakeTensor(..., size=(2, 3))",
    "torch.nn.functional.cross_entropy(a, torch.tensor([0, 1]))": "FakeTensor(..., size=())",
    "torch.linalg.inv(torch.empty(3, 3))": "FakeTensor(..., size=(3, 3))",
    "torch.nn.LSTM(3, 4)(torch.empty(5, 2, 3))[0].detach()": "FakeTensor(..., size=(5, 2, 4))",
    "a.unbind(0)[0]": "FakeTensor(..., size=(3,))",
    "torch.einsum('ij,kj->ik', a, a)": "FakeTensor(..., size=(2, 2))",
    "torch.where(a > 0, a, 0.0)": "FakeTensor(..., size=(2, 3))",
    "a.narrow(1, -2, 2)": "FakeTensor(..., size=(2, 2))",
    "torch.masked.sum(a, 0, mask=a > 0)": "FakeTensor(..., size=(3,))",
    "torch.nn.functional.scaled_dot_product_attention(a[None], a[None], a[None], is_causal=True)":
    "FakeTensor(..., size=(1, 2, 3))",
    "torch.nn.functional.multi_margin_loss(a, torch.tensor([0, 1]))": "FakeTensor(..., size=())",
    "torch.nn.functional.max_unpool1d(a[None], torch.zeros(1, 2, 3, dtype=torch.long), 2)": "FakeTensor(..., size=(1, "
    "2, 6))",
    "a.add_(1)": "FakeTensor(..., size=(2, 3))",
    "torch.empty_like(a, device='cuda')": "FakeTensor(..., device='cuda:0', size=(2, 3))",
}


@pytest.mark.parametrize("expression", MADE)
def test_what_is_made(torch, mode, expression):
    with mode:
        assert repr(eval(expression, {"torch": torch, "a": torch.empty(2, 3)})) == MADE[expression]


REFUSED = {
    "a.sum().item()": ("DataDependentOutputException", "aten._local_scalar_dense.default"),
    "bool(a.sum() > 0)": ("DataDependentOutputException", "aten._local_scalar_dense.default"),
    "a.tolist()": ("DataDependentOutputException", "aten._local_scalar_dense.default"),
    "torch.equal(a, a)": ("DataDependentOutputException", "aten.equal.default"),
    "a.nonzero()": ("DynamicOutputShapeException", "aten.nonzero.default"),
    "a[a > 0]": ("DynamicOutputShapeException", "aten.nonzero.default"),
    "a.masked_select(a > 0)": ("DynamicOutputShapeException", "aten.masked_select.default"),
    "torch.unique(a)": ("DynamicOutputShapeException", "aten._unique2.default"),
    "torch.bincount(torch.tensor([1, 2]))": ("DynamicOutputShapeException", "aten.bincount.default"),
    "a.repeat_interleave(torch.tensor([1, 2]), 0)": ("DynamicOutputShapeException", "aten.repeat_interleave.Tensor"),
    "a.numpy()": ("RuntimeError", ".numpy() is not supported for tensor subclasses."),
    "a + real": ("AssertionError",
        "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with 'allow_non_fake_inputs'"),
    "a + torch.empty(2, 3, device='cuda')": (
        "FakeTensorDeviceMismatchError",
        "Expected all tensors to be on the same device, but found at least two devices"),
}


@pytest.mark.parametrize("expression", REFUSED)
def test_what_needs_numbers_is_refused(torch, mode, expression):
    kind, message = REFUSED[expression]
    real = torch.ones(2, 3)
    with mode:
        with pytest.raises(Exception) as caught:
            eval(expression, {"torch": torch, "a": torch.empty(2, 3), "real": real})
    assert type(caught.value).__name__ == kind and message in str(caught.value)


def test_numbers_that_the_program_wrote_down(torch, mode):
    with mode:
        assert torch.tensor(3).item() == 3 and (torch.tensor(3) + 1).item() == 4 and torch.tensor([3]).item() == 3
        counter = torch.tensor(0.0)
        counter += 1
        assert counter.item() == 1 and [10, 20, 30][torch.tensor(2)] == 30


def test_fakes_of_real_tensors(torch, fake, mode):
    x = torch.empty(4, 6)[1:3, ::2]
    f = mode.from_tensor(x)
    assert mode.from_tensor(x) is f and fake.is_fake(f) and not fake.is_fake(x)
    assert (f.shape == x.shape and f.stride() == x.stride() and f.storage_offset() == x.storage_offset()
        and f.fake_mode is mode)
    p = mode.from_tensor(torch.nn.Parameter(torch.ones(2)))
    assert isinstance(p, torch.nn.Parameter) and isinstance(p, fake.FakeTensor) and p.requires_grad
    assert fake.is_fake(f + 1) and fake.is_fake(copy.deepcopy(f))  # outside of the mode too
    with pytest.raises(AssertionError, match="Mixing fake modes NYI"):
        fake.FakeTensorMode().from_tensor(x) + f
    with pytest.raises(AssertionError, match="elem.device.type must be 'meta', got cpu"):
        fake.FakeTensor(mode, torch.empty(2), torch.device("cpu"))


def test_real_tensors_that_may_meet_fakes(torch, fake):
    mode, net = fake.FakeTensorMode(allow_non_fake_inputs=True), torch.nn.Linear(3, 4)
    with mode:
        y = net(mode.from_tensor(torch.ones(2, 3)))
        assert fake.is_fake(y) and y.shape == (2, 4) and fake.is_fake(torch.ones(2) + 1)


def test_devices_that_are_not_there(torch, fake, mode):
    c = fake.FakeTensor(mode, torch.empty(2, 3, device="meta"), torch.device("cuda:0"))
    assert c.is_cuda and c.device == torch.device("cuda", 0) and (c + 1).is_cuda and c.t().is_cuda
    assert c.cpu().device.type == "cpu" and c.to("cpu").device.type == "cpu"
    with mode:
        assert (c + torch.tensor(1.0)).is_cuda and c.new_empty(2).is_cuda and torch.zeros_like(c).is_cuda
        assert torch.empty(2, 3).copy_(c).device.type == "cpu"
        assert torch.nn.functional.linear(c, torch.empty(4, 3, device="cuda")).is_cuda


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "RAdam", "Muon"])
def test_a_step_of_training(torch, fake, mode, name):
    with mode:
        net = torch.nn.Sequential(torch.nn.Linear(3, 4, bias=False), torch.nn.ReLU(), torch.nn.Linear(4, 2, bias=False))
        optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.1)
        loss = torch.nn.functional.cross_entropy(net(torch.randn(5, 3)), torch.randint(0, 2, (5,)))
        loss.backward()
        optimizer.step()
        for p in net.parameters():
            assert fake.is_fake(p.grad) and p.grad.shape == p.shape
            assert all(fake.is_fake(v) for v in optimizer.state[p].values() if isinstance(v, torch.Tensor))


def test_an_image_classifier(torch, fake, mode):
    with mode:
        net = torch.nn.Sequential(
            torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Flatten(), torch.nn.Linear(36, 3)
        )
        net(torch.randn(2, 1, 8, 8)).square().mean().backward()
        assert [tuple(p.grad.shape) for p in net.parameters()] == [tuple(p.shape) for p in net.parameters()]


def test_views_writes_and_second_derivatives(torch, mode):
    with mode:
        a = torch.zeros(2, 3, requires_grad=True)
        b = a * 1
        b[0] = 1
        b[:, 1].mul_(2)
        b.sum().backward()
        assert a.grad.shape == (2, 3)
        x = torch.zeros(3, requires_grad=True)
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        g.sum().backward()
        assert x.grad.shape == (3,)
        assert torch.func.jacrev(lambda x: x * 2)(torch.ones(3)).shape == (3, 3)
        assert torch.vmap(lambda x: x.sin().sum())(torch.ones(4, 3)).shape == (4,)


def test_operators_of_ones_own(torch, fake, mode):
    library = importlib.import_module(f"{torch.__name__}.library")

    @library.custom_op("wengert_fakes::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @twice.register_fake
    def _(x):
        return torch.empty_like(x)

    @library.custom_op("wengert_fakes::places", mutates_args=())
    def places(x: torch.Tensor) -> torch.Tensor:
        return x.nonzero()

    @places.register_fake
    def _(x):
        return x.new_empty([library.get_ctx().new_dynamic_size(), x.dim()], dtype=torch.long)

    with mode:
        assert fake.is_fake(twice(torch.ones(2)))
        with pytest.raises(fake.DynamicOutputShapeException, match="wengert_fakes.places.default"):
            places(torch.ones(2))


def test_contexts(torch, fake, mode):
    guards = importlib.import_module(f"{torch.__name__}._guards")
    with mode:
        assert guards.detect_fake_mode([]) is mode
        with fake.unset_fake_temporarily() as before:
            assert before is mode and type(torch.ones(2)) is torch.Tensor
        with mode:
            assert fake.is_fake(torch.ones(2))
        assert fake.is_fake(torch.ones(2))
    assert type(torch.ones(2)) is torch.Tensor and guards.detect_fake_mode([mode.from_tensor(torch.ones(1))]) is mode

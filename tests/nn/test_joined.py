"""A convolution, a batch norm in evaluation and an activation in a ``Sequential``: one pass, and what they give."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as torch

nn = torch.nn

ACTIVATIONS = [nn.ReLU(), nn.ReLU(True), nn.ReLU6(), nn.SiLU(), nn.Hardswish(), nn.GELU(), nn.Identity()]
SHAPES = [(3, 4, 5, 6), (2, 4, 40, 40), (3, 4), (2, 4, 9), (1, 4, 2, 3, 3), (0, 4, 3, 3), (2, 4, 1, 1)]


def norm_for(shape, **options):
    kind = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}[len(shape)]
    norm = kind(shape[1], **options).eval()
    with torch.no_grad():
        for t in (norm.running_mean, norm.running_var, norm.weight, norm.bias):
            if t is not None:
                t.copy_(torch.rand(t.shape) + 0.5)
    return norm


def apart(modules, x):
    for module in modules:
        x = module(x)
    return x


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.parametrize("options", [{}, dict(affine=False), dict(bias=False)], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_they_give_what_the_modules_give(shape, options, mode, dtype):
    x = (4 * torch.randn(shape, dtype=torch.float64)).to(dtype)
    if x.numel():
        x.view(-1)[0], x.view(-1)[-1] = float("nan"), float("inf")
    images = [x] if x.ndim != 4 else [x, x.contiguous(memory_format=torch.channels_last), x.transpose(2, 3)]
    for activation in ACTIVATIONS:
        norm = norm_for(shape, **options).to(dtype)
        model = nn.Sequential(nn.Identity(), norm, activation, norm, norm)
        for image in images:
            before = image.clone()
            with mode():
                expected, found = apart(model, image), model(image)
            assert found.stride() == expected.stride()
            assert found.dtype == expected.dtype
            assert found.is_inference() == expected.is_inference()
            assert (found.grad_fn is None) == (expected.grad_fn is None)
            np.testing.assert_array_equal(found.detach().double().numpy(), expected.detach().double().numpy())
            np.testing.assert_array_equal(image.double().numpy(), before.double().numpy())


CONVOLUTIONS = {
    "pointwise": ((4, 8, 12, 12), dict(out_channels=16, kernel_size=1, bias=False)),
    "depthwise": ((3, 8, 24, 24), dict(out_channels=8, kernel_size=3, padding=1, groups=8)),
    "depthwise in steps": ((3, 8, 25, 23), dict(out_channels=16, kernel_size=3, padding=1, stride=2, groups=8)),
    "short rows, an odd number of images": ((5, 6, 4, 4), dict(out_channels=6, kernel_size=3, padding=1, groups=6)),
    "by products": ((2, 3, 33, 35), dict(out_channels=24, kernel_size=3, padding=1, stride=2)),
    "by Winograd": ((4, 32, 20, 20), dict(out_channels=32, kernel_size=3, padding=1)),
    "few filters": ((2, 4, 9, 9), dict(out_channels=2, kernel_size=5, dilation=2, padding=4)),
    "few results": ((2, 8, 3, 3), dict(out_channels=8, kernel_size=2)),
    "one result": ((2, 4, 3, 3), dict(out_channels=8, kernel_size=3)),
    "same": ((2, 4, 9, 9), dict(out_channels=4, kernel_size=3, padding="same")),
    "reflected": ((2, 4, 9, 9), dict(out_channels=4, kernel_size=3, padding=1, padding_mode="reflect")),
    "one image": ((4, 9, 9), dict(out_channels=4, kernel_size=3)),
    "no images": ((0, 4, 9, 9), dict(out_channels=4, kernel_size=3)),
    "a series": ((2, 4, 40), dict(out_channels=8, kernel_size=5, padding=2)),
    "volumes": ((2, 4, 5, 6, 7), dict(out_channels=6, kernel_size=3, padding=1)),
}


def convolution_for(shape, options):
    kind = {3: nn.Conv1d, 4: nn.Conv2d, 5: nn.Conv3d}[4 if shape == (4, 9, 9) else len(shape)]
    return kind(shape[-3] if shape == (4, 9, 9) else shape[1], **options)


@pytest.mark.parametrize("mode, dtype, threads", [
    (torch.no_grad, torch.float32, 1), (torch.no_grad, torch.float64, 2), (torch.no_grad, torch.bfloat16, 1),
    (torch.inference_mode, torch.float32, 2), (torch.enable_grad, torch.float32, 1)])
@pytest.mark.parametrize("shape, options", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_so_do_convolutions_before_them(shape, options, dtype, mode, threads):
    torch.manual_seed(0)
    x, conv = torch.randn(shape, dtype=torch.float64).to(dtype), convolution_for(shape, options).to(dtype)
    norms = [] if x.ndim < 4 and shape == (4, 9, 9) else [
        norm_for((2, conv.out_channels, *shape[2:]), **o).to(dtype) for o in ({}, dict(affine=False))]
    activations = [nn.ReLU(True), nn.ReLU6(), nn.SiLU(), nn.GELU()]
    models = [nn.Sequential(conv, activation) for activation in activations] + [nn.Sequential(nn.ReLU(), conv)]
    models += [nn.Sequential(conv, norm, *([activation] if activation else []), nn.Identity())
        for norm in norms for activation in (*activations, None)]
    images, filters = [x], [conv.weight.detach()]
    if x.numel():
        images += [torch.where(x > 2, torch.tensor(value, dtype=dtype), x) for value in (float("nan"), float("inf"))]
        images.append(torch.zeros_like(x))
    if x.ndim == 4:
        images.append(x.contiguous(memory_format=torch.channels_last))
        filters.append(filters[0].contiguous(memory_format=torch.channels_last))
        images.append(x.transpose(-1, -2).contiguous().transpose(-1, -2))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for model in models:
            for weight, image in zip(filters * len(images), images, strict=False):
                conv.weight.data = weight
                with mode():
                    expected, found = apart(model, image), model(image)
                assert found.stride() == expected.stride()
                assert (found.is_inference(), found.dtype) == (expected.is_inference(), expected.dtype)
                assert (found.grad_fn is None) == (expected.grad_fn is None)
                found, expected = (t.detach().double().numpy() for t in (found, expected))
                np.testing.assert_array_equal(found, expected)
                np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    finally:
        torch.set_num_threads(before)


def test_replaced_convolutions_are_called(monkeypatch):
    x, conv, seen = torch.randn(2, 4, 9, 9), nn.Conv2d(4, 4, 3), []
    model = nn.Sequential(conv, norm_for((2, 4, 7, 7)), nn.ReLU())
    with torch.no_grad():
        expected = model(x)
        handle = conv.register_forward_hook(lambda module, given, out: seen.append(out.shape))
        assert torch.equal(model(x), expected)
        handle.remove()
        assert seen == [(2, 4, 7, 7)]
        with monkeypatch.context() as m:
            m.setattr(nn.functional, "conv2d", lambda input, *args: input * 0 + 5)
            assert model(x).shape == x.shape
        with monkeypatch.context() as m:
            m.setattr(conv, "_conv_forward", lambda input, weight, bias: input * 0 + 5, raising=False)
            assert model(x).shape == x.shape
        nn.utils.parametrizations.weight_norm(conv)
        torch.testing.assert_close(model(x), expected)
        conv.parametrizations.weight.original0.mul_(0)
        assert torch.equal(model(x), apart(model, x))


def test_errors_of_convolutions_are_the_modules():
    conv = nn.Conv2d(4, 4, 3)
    for x, norm in ((torch.randn(2, 3, 9, 9), nn.BatchNorm2d(4)), (torch.randn(2, 4, 2, 2), nn.BatchNorm2d(4)),
            (torch.randn(2, 4, 9, 9), nn.BatchNorm2d(3)), (torch.randn(2, 4, 9, 9), nn.BatchNorm1d(4)),
            (torch.randn(2, 4, 9, 9, dtype=torch.float64), nn.BatchNorm2d(4)), (torch.randn(4), nn.BatchNorm2d(4))):
        model = nn.Sequential(conv, norm.eval(), nn.ReLU())
        with torch.no_grad(), pytest.raises(Exception) as expected:
            apart(model, x)
        with torch.no_grad(), pytest.raises(type(expected.value)) as found:
            model(x)
        assert str(found.value) == str(expected.value)


def test_in_training_the_statistics_are_the_batch_s():
    norm = nn.BatchNorm2d(3)
    model, x = nn.Sequential(norm, nn.ReLU()), torch.randn(4, 3, 5, 5) + 7
    with torch.no_grad():
        y = model(x)
    assert norm.num_batches_tracked == 1
    assert norm.running_mean.min() > 0.5
    assert abs(float(y.mean()) - 0.4) < 0.1


def test_hooks_see_each_module():
    norm, x, seen = norm_for((2, 4, 5, 5)), torch.randn(2, 4, 5, 5), []
    for number, place in ((0, "module"), (1, "module"), (0, "everywhere")):
        model = nn.Sequential(norm, nn.ReLU())
        hook = lambda module, given, out: seen.append(type(module))  # noqa: E731
        handle = (model[number].register_forward_hook(hook) if place == "module"
            else nn.modules.module.register_module_forward_hook(hook))
        with torch.no_grad():
            model(x)
        handle.remove()
    assert seen == [nn.BatchNorm2d, nn.ReLU, nn.BatchNorm2d, nn.ReLU, nn.Sequential]


def test_what_was_replaced_is_called(monkeypatch):
    norm, x = norm_for((2, 4, 5, 5)), torch.randn(2, 4, 5, 5)
    model = nn.Sequential(norm, nn.ReLU())

    class Other(nn.ReLU):
        def forward(self, input):
            return input * 0 + 3

    with torch.no_grad():
        assert torch.equal(nn.Sequential(norm, Other())(x), torch.full_like(x, 3))
        model[1].forward = lambda input: input * 0 + 4
        assert torch.equal(model(x), torch.full_like(x, 4))
        del model[1].forward
        with monkeypatch.context() as m:
            m.setattr(nn.functional, "relu", lambda input, inplace=False: input * 0 + 5)
            assert torch.equal(model(x), torch.full_like(x, 5))
        with monkeypatch.context() as m:
            m.setattr(nn.functional, "batch_norm", lambda *args: args[0] * 0 + 6)
            assert torch.equal(model(x), torch.full_like(x, 6))
        with monkeypatch.context() as m:
            m.setattr(nn.Module, "__call__", lambda self, *args: torch.full_like(x, 7))
            assert torch.equal(nn.Sequential.forward(model, x), torch.full_like(x, 7))
        assert float(model(x).max()) < 50


def test_errors_are_the_modules():
    norm = norm_for((2, 4, 5, 5))
    for x in (torch.randn(2, 4, 5), torch.randn(2, 3, 5, 5), torch.randint(0, 5, (2, 4, 5, 5))):
        with torch.no_grad(), pytest.raises(Exception) as expected:
            nn.ReLU()(norm(x))
        with torch.no_grad(), pytest.raises(type(expected.value)) as found:
            nn.Sequential(norm, nn.ReLU())(x)
        assert str(found.value) == str(expected.value)


def test_watchers_see_the_functions():
    model, x = nn.Sequential(norm_for((2, 4, 5, 5)), nn.ReLU6()), torch.randn(2, 4, 5, 5)
    with torch.no_grad(), torch.profiler.profile() as profile:
        model(x)
    names = " ".join(e.key for e in profile.key_averages())
    assert "batch_norm" in names
    assert "hardtanh" in names or "relu6" in names
    with torch.no_grad():
        torch.testing.assert_close(torch.vmap(model)(x[None]), apart(model, x)[None])
    assert [n.op for n in torch.fx.symbolic_trace(model).graph.nodes] == [
        "placeholder", "call_module", "call_module", "output"]

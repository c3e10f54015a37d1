"""A batch norm in evaluation and the activation behind it in a ``Sequential``: one pass, and what the two give."""

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

"""Images whose channels lie innermost are worked on as they lie, with the results of those that do not."""

import pytest

import wengert as torch

F = torch.nn.functional


def _both(f, x, *rest):
    """The result of ``f``, its gradients, and those for the same numbers with channels innermost."""
    found = []
    for x_ in (x, x.to(memory_format=torch.channels_last)):
        given = [a.detach().clone().requires_grad_() for a in (x_, *rest)]
        y = f(*given)
        (y * torch.arange(y.numel()).reshape(y.shape).to(y.dtype)).sum().backward()
        found.append([y.detach(), *(a.grad for a in given)])
    return found


@pytest.mark.parametrize("bias", [True, False])
def test_single_pixels(bias):
    torch.manual_seed(0)
    x, w, b = torch.randn(2, 3, 4, 5).double(), torch.randn(6, 3, 1, 1).double(), torch.randn(6).double()
    rows, inside = _both(F.conv2d, x, w, *([b] if bias else []))
    for a, b in zip(rows, inside, strict=True):
        torch.testing.assert_close(a, b)
    assert inside[0].is_contiguous(memory_format=torch.channels_last)
    rows, inside = _both(lambda x, w: F.conv_transpose2d(x, w), x, w.transpose(0, 1).contiguous())
    for a, b in zip(rows, inside, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("how", [dict(size=(7, 2)), dict(scale_factor=2), dict(size=(7, 2), mode="bilinear"),
    dict(size=(9, 11), mode="bicubic", align_corners=True), dict(size=(3, 11), mode="bilinear", antialias=True)])
def test_interpolation(how):
    torch.manual_seed(0)
    rows, inside = _both(lambda x: F.interpolate(x, **how), torch.randn(2, 3, 4, 5).double())
    for a, b in zip(rows, inside, strict=True):
        torch.testing.assert_close(a, b)
    assert inside[0].is_contiguous(memory_format=torch.channels_last)


def test_real_with_complex():
    r, c = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = r * c
    assert y.dtype == torch.complex64 and (torch.arange(2) * torch.tensor(0.5)).dtype == torch.float32
    (y.abs() ** 2).sum().backward()
    assert r.grad.dtype == torch.float32 and r.grad.tolist() == [10.0, 40.0] and c.grad.tolist() == [2 + 4j, 24 - 8j]
    wide = torch.tensor(2.0, dtype=torch.float64)
    assert (c * wide).dtype == torch.complex64 and (r.double() * c).dtype == torch.complex128


@pytest.mark.parametrize("size", [(4, 6), (5, 7), (4, 7)])
@pytest.mark.parametrize(("kernel", "stride"), [((2, 2), (2, 2)), ((1, 1), (2, 2)), ((2, 1), (3, 2)), ((4, 3), (4, 3))])
def test_windows_beside_each_other(kernel, stride, size):
    torch.manual_seed(0)
    x, b = torch.randn(2, 3, *size).double(), torch.randn(6).double()
    w = torch.randn(6, 3, *kernel).double()
    for weight in (w, w.to(memory_format=torch.channels_last)):
        rows, inside = _both(lambda x, w, b: F.conv2d(x, w, b, stride), x, weight, b)
        for a, c in zip(rows, inside, strict=True):
            torch.testing.assert_close(a, c)
        assert inside[0].is_contiguous(memory_format=torch.channels_last)
        turned = weight.transpose(0, 1)[:3].contiguous()
        rows, inside = _both(lambda x, w: F.conv_transpose2d(x, w, None, stride), x, turned)
        for a, c in zip(rows, inside, strict=True):
            torch.testing.assert_close(a, c)
        assert inside[0].is_contiguous(memory_format=torch.channels_last)

"""Pictures whose channels lie innermost in memory are computed where they lie, with the numbers of others."""

import pytest

pytestmark = pytest.mark.parity

POOLS = [
    lambda F, x: F.avg_pool2d(x, 2),
    lambda F, x: F.avg_pool2d(x, 3, 2, 1),
    lambda F, x: F.avg_pool2d(x, (3, 2), (2, 1), (1, 0), True, False),
    lambda F, x: F.avg_pool2d(x, 3, 1, 1, False, True, 5),
    lambda F, x: F.max_pool2d(x, 2),
    lambda F, x: F.max_pool2d(x, 3, 2, 1),
    lambda F, x: F.max_pool2d(x, (2, 3), (1, 2), (1, 1), (2, 1), True),
    lambda F, x: F.adaptive_max_pool2d(x, (2, 4)),
    lambda F, x: F.adaptive_avg_pool2d(x, (2, 4)),
]
OTHERS = [
    lambda F, x: F.pad(x, (1, 2, 0, 1), value=0.5),
    lambda F, x: F.pad(x, (-1, 2, 1, -1)),
    lambda F, x: F.pad(x, (1, 2, 2, 1), mode="reflect"),
    lambda F, x: F.pad(x, (1, 2, 2, 1), mode="replicate"),
    lambda F, x: F.pixel_shuffle(x, 2),
    lambda F, x: F.pixel_unshuffle(x, 2),
    lambda F, x: F.channel_shuffle(x, 4),
    lambda F, x: F.batch_norm(x, None, None, training=True),
    lambda F, x: F.batch_norm(x, x.mean((0, 2, 3)).detach(), x.var((0, 2, 3)).detach()),
    lambda F, x: F.group_norm(x, 4),
    lambda F, x: F.pad(x, (1, 0, 0, 0, 2, 1)),
    lambda F, x: x.clone(),
    lambda F, x: F.leaky_relu_(x * 1, 0.1),
    lambda F, x: F.hardtanh_(x * 1, -0.5, 0.5),
    lambda F, x: x.flip(3),
    lambda F, x: x.flip((1, 2)),
    lambda F, x: x.roll((1, -2), (1, 3)),
]
SUMS = [
    lambda x: x.sum((2, 3)), lambda x: x.mean((2, 3), keepdim=True), lambda x: x.mean(1), lambda x: x.sum((0, 2, 3)),
    lambda x: x.amax((2, 3)), lambda x: x.amin((0, -1), keepdim=True), lambda x: x.amax(1), lambda x: x.sum(0),
    lambda x: x.mean((1, -1), keepdim=True), lambda x: x.sum(3), lambda x: x.mean((0, 1, 2, 3)),
]


def images(torch, channels, dtype=None):
    torch.manual_seed(3)
    return torch.randn(3, channels, 8, 12, dtype=dtype or torch.float32)


def both_ways(torch, f, x):
    """Result and gradient of the images by rows, and of those with channels innermost."""
    found = []
    for lain in (x, x.to(memory_format=torch.channels_last)):
        lain = lain.detach().requires_grad_()
        y = f(lain)
        weight = torch.arange(y.numel(), dtype=y.dtype).reshape(y.shape).cos()
        (g,) = torch.autograd.grad((y * weight).sum(), lain)
        found.append((y, g))
    return found


@pytest.mark.parametrize("channels", [4, 16, 36])
@pytest.mark.parametrize("f", [*POOLS, *OTHERS])
def test_images_as_they_lie(torch, f, channels):
    for dtype in (torch.float32, torch.float64):
        x = images(torch, channels, dtype)
        (y, g), (inside, inside_g) = both_ways(torch, lambda x: f(torch.nn.functional, x), x)
        torch.testing.assert_close(inside, y)
        torch.testing.assert_close(inside_g, g, rtol=1e-4, atol=1e-5)
        assert inside.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("f", SUMS)
def test_sums_as_they_lie(torch, f):
    (y, g), (inside, inside_g) = both_ways(torch, f, images(torch, 5))
    torch.testing.assert_close(inside, y)
    torch.testing.assert_close(inside_g, g)
    assert inside.stride() == y.stride()


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_joined_as_they_lie(torch, dim):
    x = images(torch, 6)
    inside = x.to(memory_format=torch.channels_last)
    joined = torch.cat([inside, inside * 2], dim)
    assert torch.equal(joined, torch.cat([x, x * 2], dim))
    assert joined.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(torch.cat([inside, x], dim), torch.cat([x, x], dim))


@pytest.mark.parametrize("channels", [3, 16])
def test_maxima_and_their_places(torch, channels):
    x = images(torch, channels).round()
    x[0, 1, 2, 3] = x[1, 2, 0, 0] = x[1, 2, 0, 1] = torch.nan
    x[2, 0] = -torch.inf
    inside = x.to(memory_format=torch.channels_last)
    for how in ((2,), (3, 2, 1), (3, 1, 1)):
        want, at = torch.nn.functional.max_pool2d(x, *how, return_indices=True)
        values, places = torch.nn.functional.max_pool2d(inside, *how, return_indices=True)
        torch.testing.assert_close(values, want, equal_nan=True, rtol=0, atol=0)
        assert torch.equal(places, at)
        assert places.is_contiguous(memory_format=torch.channels_last)


def test_largest_with_nan(torch):
    x = images(torch, 16).to(memory_format=torch.channels_last)
    x[0, 1, 2, 3] = torch.nan
    torch.testing.assert_close(x.amax((2, 3)), x.contiguous().amax((2, 3)), equal_nan=True)
    torch.testing.assert_close(x.amin((1, 2)), x.contiguous().amin((1, 2)), equal_nan=True)


def test_channels_dropped(torch):
    x = images(torch, 16).to(memory_format=torch.channels_last)
    torch.manual_seed(5)
    y = torch.nn.functional.dropout2d(x, 0.5)
    torch.manual_seed(5)
    torch.testing.assert_close(y, torch.nn.functional.dropout2d(x.contiguous(), 0.5))
    assert set((y / x).round().amax((2, 3)).flatten().tolist()) == {0.0, 2.0}


def test_windows_that_see_nothing(torch):
    x = images(torch, 4).to(memory_format=torch.channels_last)
    y = torch.nn.functional.avg_pool2d(x, 2, 4, 1, ceil_mode=True)
    torch.testing.assert_close(y, torch.nn.functional.avg_pool2d(x.contiguous(), 2, 4, 1, ceil_mode=True))


def test_nothing_to_pool(torch):
    x = torch.empty(0, 4, 8, 8).to(memory_format=torch.channels_last)
    assert torch.nn.functional.avg_pool2d(x, 2).shape == (0, 4, 4, 4)
    assert torch.nn.functional.max_pool2d(x, 2).shape == (0, 4, 4, 4)

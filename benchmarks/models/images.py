"""Networks for images, volumes and video."""

from __future__ import annotations

from typing import Any

from benchmarks.models.kind import Kind, mean_square, predicting
from benchmarks.workloads import mlp_model

CONVOLUTIONS = 0.8


def _normalised(torch: Any, c: int, f: int, kernel: int, stride: int = 1, groups: int = 1) -> list[Any]:
    nn = torch.nn
    return [nn.Conv2d(c, f, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(f)]


def _head(torch: Any, c: int, classes: int = 10) -> list[Any]:
    nn = torch.nn
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, classes)]


def _around(torch: Any, inner: Any, beside: Any) -> Any:
    """``relu(inner(x) + beside(x))`` as a module."""

    class Around(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.beside = inner, beside

        def forward(self, x: Any) -> Any:
            return torch.relu(self.inner(x) + self.beside(x))

    return Around()


def _beside(torch: Any, c: int, f: int, stride: int) -> Any:
    nn = torch.nn
    return nn.Identity() if c == f and stride == 1 else nn.Sequential(*_normalised(torch, c, f, 1, stride))


def basic(torch: Any, c: int, f: int, stride: int = 1) -> Any:
    """A residual block of two 3×3 layers (He et al. 2016)."""
    nn = torch.nn
    inner = nn.Sequential(*_normalised(torch, c, f, 3, stride), nn.ReLU(), *_normalised(torch, f, f, 3))
    return _around(torch, inner, _beside(torch, c, f, stride))


def bottleneck(torch: Any, c: int, f: int, stride: int = 1, groups: int = 1) -> Any:
    """One of 1×1, 3×3 and 1×1 layers; with groups that of Xie et al. 2017."""
    nn = torch.nn
    inner = nn.Sequential(*_normalised(torch, c, f, 1), nn.ReLU(), *_normalised(torch, f, f, 3, stride, groups),
        nn.ReLU(), *_normalised(torch, f, 4 * f, 1))
    return _around(torch, inner, _beside(torch, c, 4 * f, stride))


def resnet_mnist(torch: Any) -> Any:
    nn = torch.nn
    blocks = [basic(torch, 64, 64), basic(torch, 64, 128, 2), basic(torch, 128, 256, 2), basic(torch, 256, 512, 2)]
    stem = [nn.Conv2d(1, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    return nn.Sequential(*stem, *blocks, *_head(torch, 512)), torch.randn(16, 1, 28, 28)


def resnet_cifar(torch: Any) -> Any:
    nn = torch.nn
    blocks = [basic(torch, 16, 16), basic(torch, 16, 32, 2), basic(torch, 32, 64, 2)]
    model = nn.Sequential(*_normalised(torch, 3, 16, 3), nn.ReLU(), *blocks, *_head(torch, 64))
    return model, torch.randn(16, 3, 32, 32)


def resnet_18(torch: Any) -> Any:
    nn = torch.nn
    widths = [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]
    blocks = [block for c, f, stride in widths for block in (basic(torch, c, f, stride), basic(torch, f, f))]
    stem = [*_normalised(torch, 3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    return nn.Sequential(*stem, *blocks, *_head(torch, 512)), torch.randn(2, 3, 96, 96)


def resnet_50(torch: Any) -> Any:
    nn = torch.nn
    widths = [(64, 64, 1), (256, 64, 1), (256, 128, 2), (512, 128, 1), (512, 256, 2), (1024, 256, 1)]
    blocks = [bottleneck(torch, *w) for w in widths]
    stem = [*_normalised(torch, 3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    return nn.Sequential(*stem, *blocks, *_head(torch, 1024)), torch.randn(1, 3, 160, 160)


def resnext(torch: Any) -> Any:
    nn = torch.nn
    blocks = [bottleneck(torch, 64, 64, 1, 16), bottleneck(torch, 256, 128, 2, 16)]
    model = nn.Sequential(*_normalised(torch, 3, 64, 3, 2), nn.ReLU(), *blocks, *_head(torch, 512))
    return model, torch.randn(4, 3, 64, 64)


def vgg(torch: Any) -> Any:
    nn = torch.nn
    layers: list[Any] = []
    for c, f in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(c, f, 3, 1, 1), nn.ReLU(), nn.Conv2d(f, f, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(2)]
    top = [nn.Flatten(), nn.Linear(2048, 256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(256, 10)]
    return nn.Sequential(*layers, *top), torch.randn(16, 3, 32, 32)


def lenet(torch: Any) -> Any:
    nn = torch.nn
    seen = [nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*seen, nn.Flatten(), *mlp_model(torch, (256, 120, 84, 10)))
    return model, torch.randn(64, 1, 28, 28)


def densenet(torch: Any) -> Any:
    nn = torch.nn

    class Dense(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, c: int, growth: int = 12) -> None:
            super().__init__()
            self.grown = nn.Sequential(nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, 4 * growth, 1, bias=False),
                nn.BatchNorm2d(4 * growth), nn.ReLU(), nn.Conv2d(4 * growth, growth, 3, 1, 1, bias=False))

        def forward(self, x: Any) -> Any:
            return torch.cat([x, self.grown(x)], 1)

    first, second = ([Dense(start + 12 * i) for i in range(5)] for start in (24, 42))
    between = [nn.BatchNorm2d(84), nn.ReLU(), nn.Conv2d(84, 42, 1, bias=False), nn.AvgPool2d(2)]
    stem, last = nn.Conv2d(3, 24, 3, 1, 1, bias=False), [nn.BatchNorm2d(102), nn.ReLU(), *_head(torch, 102)]
    return nn.Sequential(stem, *first, *between, *second, *last), torch.randn(8, 3, 32, 32)


def mobilenet(torch: Any) -> Any:
    nn = torch.nn
    layers = [*_normalised(torch, 3, 32, 3, 2), nn.ReLU6()]
    for c, f, stride in ((32, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1)):
        layers += [*_normalised(torch, c, c, 3, stride, c), nn.ReLU6(), *_normalised(torch, c, f, 1), nn.ReLU6()]
    return nn.Sequential(*layers, *_head(torch, 256)), torch.randn(4, 3, 96, 96)


def efficientnet(torch: Any) -> Any:
    """Inverted bottlenecks with squeeze and excitation (Tan and Le 2019)."""
    nn = torch.nn

    class Squeezed(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, c: int) -> None:
            super().__init__()
            narrow, wide = nn.Conv2d(c, c // 8, 1), nn.Conv2d(c // 8, c, 1)
            self.weigh = nn.Sequential(nn.AdaptiveAvgPool2d(1), narrow, nn.SiLU(), wide, nn.Sigmoid())

        def forward(self, x: Any) -> Any:
            return x * self.weigh(x)

    layers = [*_normalised(torch, 3, 24, 3, 2), nn.SiLU()]
    for c, f, stride, kernel in ((24, 32, 2, 3), (32, 48, 2, 5), (48, 48, 1, 5)):
        deep = _normalised(torch, 4 * c, 4 * c, kernel, stride, 4 * c)
        layers += [*_normalised(torch, c, 4 * c, 1), nn.SiLU(), *deep, nn.SiLU(), Squeezed(4 * c),
            *_normalised(torch, 4 * c, f, 1)]
    return nn.Sequential(*layers, *_head(torch, 48)), torch.randn(4, 3, 96, 96)


def convnext(torch: Any) -> Any:
    """Depthwise 7×7 layers, then an MLP on channels-last rows (Liu et al. 2022)."""
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, c: int) -> None:
            super().__init__()
            self.seen = nn.Conv2d(c, c, 7, 1, 3, groups=c)
            self.mixed = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.GELU(), nn.Linear(4 * c, c))

        def forward(self, x: Any) -> Any:
            return x + self.mixed(self.seen(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    return nn.Sequential(nn.Conv2d(3, 48, 4, 4), Block(48), Block(48), nn.Conv2d(48, 96, 2, 2), Block(96),
        *_head(torch, 96)), torch.randn(4, 3, 96, 96)


def unet(torch: Any) -> Any:
    nn, c = torch.nn, 16

    def twice(a: int, b: int) -> Any:
        return nn.Sequential(nn.Conv2d(a, b, 3, 1, 1), nn.ReLU(), nn.Conv2d(b, b, 3, 1, 1), nn.ReLU())

    class UNet(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.ModuleList([twice(1, c), twice(c, 2 * c), twice(2 * c, 4 * c)])
            self.up = nn.ModuleList([nn.ConvTranspose2d(4 * c, 2 * c, 2, 2), nn.ConvTranspose2d(2 * c, c, 2, 2)])
            self.join = nn.ModuleList([twice(4 * c, 2 * c), twice(2 * c, c)])
            self.out = nn.Conv2d(c, 1, 1)

        def forward(self, x: Any) -> Any:
            kept = []
            for k, layer in enumerate(self.down):
                x = layer(nn.functional.max_pool2d(x, 2) if k else x)
                kept.append(x)
            for up, join, beside in zip(self.up, self.join, kept[1::-1], strict=True):
                x = join(torch.cat([up(x), beside], 1))
            return self.out(x)

    return UNet(), torch.randn(2, 1, 64, 64)


def diffusion(torch: Any) -> Any:
    """Blocks of a denoiser: group norm, SiLU, a time embedding, attention in the middle (Ho et al. 2020)."""
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, c: int, f: int) -> None:
            super().__init__()
            self.first = nn.Sequential(nn.GroupNorm(8, c), nn.SiLU(), nn.Conv2d(c, f, 3, 1, 1))
            self.time, self.beside = nn.Linear(64, f), nn.Conv2d(c, f, 1) if c != f else nn.Identity()
            self.second = nn.Sequential(nn.GroupNorm(8, f), nn.SiLU(), nn.Conv2d(f, f, 3, 1, 1))

        def forward(self, x: Any, t: Any) -> Any:
            return self.beside(x) + self.second(self.first(x) + self.time(t)[:, :, None, None])

    class Denoiser(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.into, self.shrink = nn.Conv2d(3, 32, 3, 1, 1), nn.Conv2d(32, 64, 3, 2, 1)
            self.out = nn.Conv2d(32, 3, 3, 1, 1)
            self.down, self.inner, self.up = Block(32, 32), Block(64, 64), Block(96, 32)
            self.attend = nn.MultiheadAttention(64, 4, batch_first=True)

        def forward(self, x: Any, t: Any) -> Any:
            a = self.down(self.into(x), t)
            b = self.inner(self.shrink(a), t)
            rows = b.flatten(2).transpose(1, 2)
            b = b + self.attend(rows, rows, rows)[0].transpose(1, 2).reshape(b.shape)
            b = nn.functional.interpolate(b, scale_factor=2)
            return self.out(self.up(torch.cat([b, a], 1), t))

    return Denoiser(), (torch.randn(4, 3, 32, 32), torch.randn(4, 64))


def style(torch: Any) -> Any:
    """Reflected edges and instance norm (Johnson et al. 2016)."""
    nn = torch.nn

    def layer(c: int, f: int, stride: int) -> Any:
        norm = nn.InstanceNorm2d(f, affine=True)
        return nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(c, f, 3, stride), norm, nn.ReLU())

    down = [layer(3, 16, 1), layer(16, 32, 2), layer(32, 32, 1), layer(32, 32, 1)]
    up = [nn.Upsample(scale_factor=2), layer(32, 16, 1), nn.Conv2d(16, 3, 3, 1, 1)]
    return nn.Sequential(*down, *up), torch.randn(2, 3, 64, 64)


def super_resolution(torch: Any) -> Any:
    """Sub-pixel convolution (Shi et al. 2016)."""
    nn = torch.nn
    layers = [nn.Conv2d(1, 64, 5, 1, 2), nn.Tanh(), nn.Conv2d(64, 32, 3, 1, 1), nn.Tanh(), nn.Conv2d(32, 9, 3, 1, 1)]
    return nn.Sequential(*layers, nn.PixelShuffle(3)), torch.randn(4, 1, 48, 48)


def volumes(torch: Any) -> Any:
    nn = torch.nn
    layers: list[Any] = []
    for c, f in ((1, 16), (16, 32), (32, 64)):
        layers += [nn.Conv3d(c, f, 3, 1, 1), nn.ReLU(), nn.MaxPool3d(2)]
    model = nn.Sequential(*layers[:-1], nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(64, 4))
    return model, torch.randn(2, 1, 24, 24, 24)


def video(torch: Any) -> Any:
    """Factors in space and time (Tran et al. 2018)."""
    nn = torch.nn
    layers: list[Any] = []
    for c, f in ((3, 16), (16, 32), (32, 48)):
        layers += [nn.Conv3d(c, f, (1, 3, 3), (1, 2, 2), (0, 1, 1), bias=False), nn.BatchNorm3d(f), nn.ReLU(),
            nn.Conv3d(f, f, (3, 1, 1), 1, (1, 0, 0), bias=False), nn.BatchNorm3d(f), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(48, 5)), torch.randn(2, 3, 8, 48, 48)


def vision_transformer(torch: Any) -> Any:
    nn = torch.nn

    class Patches(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.cut, self.where = nn.Conv2d(3, 96, 8, 8), nn.Parameter(torch.randn(1, 64, 96) * 0.02)
            layer = nn.TransformerEncoderLayer(96, 4, 192, 0.0, "gelu", batch_first=True, norm_first=True)
            self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
            self.out = nn.Linear(96, 10)

        def forward(self, x: Any) -> Any:
            return self.out(self.encoder(self.cut(x).flatten(2).transpose(1, 2) + self.where).mean(1))

    return Patches(), torch.randn(8, 3, 64, 64)


IMAGES: list[Kind] = [
    predicting("resnet-mnist", "residual network, 7×7 stem, 28²", CONVOLUTIONS, resnet_mnist),
    predicting("resnet-cifar", "residual network, 32²", CONVOLUTIONS, resnet_cifar),
    predicting("resnet-18", "residual network, 18 layers, 96²", CONVOLUTIONS, resnet_18),
    predicting("resnet-50", "residual network, bottlenecks, 160²", CONVOLUTIONS, resnet_50),
    predicting("resnext", "grouped bottlenecks, 64²", CONVOLUTIONS, resnext),
    predicting("vgg", "3×3 layers and dropout, 32²", CONVOLUTIONS, vgg),
    predicting("lenet", "LeNet, 28²", CONVOLUTIONS, lenet),
    predicting("densenet", "dense blocks, 32²", CONVOLUTIONS, densenet),
    predicting("mobilenet", "depthwise-separable network, 96²", CONVOLUTIONS, mobilenet),
    predicting("efficientnet", "squeeze and excitation, 96²", CONVOLUTIONS, efficientnet),
    predicting("convnext", "depthwise 7×7 and layer norm, 96²", CONVOLUTIONS, convnext),
    predicting("unet", "U-shaped network, 64²", CONVOLUTIONS, unet, mean_square),
    predicting("diffusion", "denoiser with attention, 32²", CONVOLUTIONS, diffusion, mean_square, "AdamW", lr=1e-4),
    predicting("style", "style transfer, 64²", CONVOLUTIONS, style, mean_square),
    predicting("super-resolution", "sub-pixel convolution, 48²", CONVOLUTIONS, super_resolution, mean_square),
    predicting("volumes", "3-D convolutions, 24³", CONVOLUTIONS, volumes),
    predicting("video", "convolutions in space and time, 8×48²", CONVOLUTIONS, video),
    predicting("vit", "vision transformer, 64 patches", 1.0, vision_transformer, None, "AdamW", lr=1e-3),
]

"""Images: a rotation found by gradients, filters, seeded augmentation, morphology, colours, and losses."""

import kornia
import torch
from torch import nn

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


def picture(size=48):
    """Three discs on a slope."""
    y, x = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    discs = [torch.sigmoid(30 * (r - ((x - a) ** 2 + (y - b) ** 2).sqrt()))
        for a, b, r in ((0.3, 0.1, 0.3), (-0.4, 0.3, 0.2), (0.0, -0.5, 0.25))]
    return torch.stack([d * 0.7 + 0.1 * (x + 1) for d in discs])[None]


class Turned(nn.Module):
    """An image turned by an angle and scaled, both of which are learnt."""

    def __init__(self):
        super().__init__()
        self.angle = nn.Parameter(torch.full((1,), 0.7))  # off the pixels, where slopes jump
        self.scale = nn.Parameter(torch.full((1,), 1.01))

    def forward(self, image):
        centre = torch.tensor([[(image.shape[-1] - 1) / 2, (image.shape[-2] - 1) / 2]])
        matrix = kornia.geometry.get_rotation_matrix2d(centre, self.angle, self.scale[:, None].expand(1, 2))
        return kornia.geometry.warp_affine(image, matrix, image.shape[-2:])


image = picture()
target = kornia.geometry.rotate(image, torch.tensor([12.0]))
model = Turned()
optimizer = torch.optim.Adam([{"params": [model.angle], "lr": 1.0}, {"params": [model.scale], "lr": 0.005}])
for step in range(40):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(kornia.filters.gaussian_blur2d(model(image), (5, 5), (1.0, 1.0)),
        kornia.filters.gaussian_blur2d(target, (5, 5), (1.0, 1.0)))
    loss.backward()
    optimizer.step()
    if step % 8 == 0:
        print(step, loss.item(), model.angle.item(), model.scale.item())

edges = kornia.filters.sobel(image)
magnitude, canny = kornia.filters.canny(image)
print(edges.mean().item(), magnitude.max().item(), canny.sum().item())
print(kornia.filters.median_blur(image, (3, 3)).std().item())
print(kornia.filters.bilateral_blur(image, (5, 5), 0.1, (1.5, 1.5)).std().item())
print(kornia.morphology.dilation(image, torch.ones(3, 3)).mean().item(), kornia.morphology.erosion(image,
    torch.ones(3, 3)).mean().item())
for convert in (kornia.color.rgb_to_hsv, kornia.color.rgb_to_lab, kornia.color.rgb_to_ycbcr, kornia.color.rgb_to_xyz):
    print(convert(image).mean((0, 2, 3)).tolist())
print(kornia.losses.ssim_loss(image, target, 5).item(), kornia.losses.total_variation(image).sum().item(),
    kornia.metrics.psnr(image, target, 1.0).item())

torch.manual_seed(1)
augment = kornia.augmentation.AugmentationSequential(
    kornia.augmentation.RandomHorizontalFlip(p=0.5),
    kornia.augmentation.RandomAffine(20.0, translate=(0.1, 0.1), p=1.0),
    kornia.augmentation.ColorJitter(0.2, 0.2, 0.2, 0.1, p=1.0), data_keys=["input"])
many = augment(image.expand(4, -1, -1, -1))
print(many.mean((1, 2, 3)).tolist(), many.std().item())
corners = kornia.feature.harris_response(kornia.color.rgb_to_grayscale(image), 0.04)
print(corners.amax().item(), kornia.geometry.subpix.spatial_softmax2d(corners * 100).amax().item())
quaternion = kornia.geometry.axis_angle_to_quaternion(torch.tensor([[0.3, -0.2, 0.5]]))
print(quaternion.tolist(), kornia.geometry.quaternion_to_rotation_matrix(quaternion).flatten().tolist())

"""A small diffusion model: a U-Net trained to find the noise, pictures drawn from it, and an autoencoder's step."""

import torch
from diffusers import AutoencoderKL, DDIMScheduler, DDPMScheduler, UNet2DModel
from diffusers.optimization import get_cosine_schedule_with_warmup
from torch.nn.functional import mse_loss

torch.manual_seed(0)
model = UNet2DModel(sample_size=16, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(16, 32),
    down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    norm_num_groups=8, attention_head_dim=8)
noising = DDPMScheduler(num_train_timesteps=100)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
schedule = get_cosine_schedule_with_warmup(optimizer, 2, 10)


def pictures(count):
    """Bright squares at random places."""
    images = -torch.ones(count, 1, 16, 16)
    for image, (row, column) in zip(images, torch.randint(0, 10, (count, 2)).tolist()):
        image[0, row : row + 6, column : column + 6] = 1
    return images


print(sum(p.numel() for p in model.parameters()))
for _ in range(8):
    clean = pictures(8)
    noise = torch.randn_like(clean)
    times = torch.randint(0, 100, (8,))
    loss = mse_loss(model(noising.add_noise(clean, noise, times), times).sample, noise)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
    print(loss.item(), norm.item(), schedule.get_last_lr()[0])

model.eval()
drawing = DDIMScheduler(num_train_timesteps=100)
drawing.set_timesteps(8)
sample = torch.randn(2, 1, 16, 16)
with torch.no_grad():
    for time in drawing.timesteps:
        sample = drawing.step(model(sample, time).sample, time, sample).prev_sample
print(sample.mean((1, 2, 3)).tolist(), sample.std().item())

coder = AutoencoderKL(in_channels=1, out_channels=1, block_out_channels=(8, 16), latent_channels=2, norm_num_groups=4,
    down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2)
optimizer = torch.optim.Adam(coder.parameters(), lr=1e-3)
images = pictures(4)
for _ in range(3):
    latent = coder.encode(images).latent_dist
    loss = mse_loss(coder.decode(latent.sample()).sample, images) + 1e-3 * latent.kl().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())

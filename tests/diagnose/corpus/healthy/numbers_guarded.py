"""A loop that repairs batches with NaN, as programs that read sensors do, and scales its gradients."""

import math

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.GELU(), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
skipped = 0
for step in range(24):
    x = torch.randn(8, 5)
    if step % 9 == 4:
        x[3, 1] = float("nan")
    if not torch.isfinite(x).all():
        x = torch.nan_to_num(x)
        skipped += 1
    with torch.autocast("cpu", dtype=torch.bfloat16):
        prediction = model(x)
    loss = nn.functional.smooth_l1_loss(prediction.float(), x.sum(1, keepdim=True))
    if not math.isfinite(loss.item()):
        continue
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()

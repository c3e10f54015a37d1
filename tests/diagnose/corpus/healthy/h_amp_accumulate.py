"""Mixed precision, accumulation, clipping, warm-up, early stopping, best weights, resuming."""

import copy
import io
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))
decay = [p for n, p in model.named_parameters() if p.dim() > 1]
rest = [p for n, p in model.named_parameters() if p.dim() <= 1]
optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}], lr=1e-3
)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1, (s + 1) / 5))
scaler = torch.amp.GradScaler("cpu", enabled=False)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
X = torch.randn(256, 10)
Y = X[:, :3].argmax(1)
best, best_state, history = 0, None, []
for epoch in range(3):
    model.train()
    running = torch.zeros(())
    for i, idx in enumerate(torch.randperm(192).split(16)):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = criterion(model(X[idx]), Y[idx]) / 4
        scaler.scale(loss).backward()
        running += loss.detach() * 4
        if (i + 1) % 4 == 0:
            scaler.unscale_(optimizer)
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            scheduler.step()
    history.append((running / 12).item())
    model.eval()
    with torch.inference_mode():
        accuracy = (model(X[192:]).argmax(1) == Y[192:]).float().mean().item()
    if accuracy > best:
        best, best_state = accuracy, copy.deepcopy(model.state_dict())
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "opt": optimizer.state_dict()}, file)
    file.seek(0)
    state = torch.load(file)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["opt"])
    print(epoch, history[-1], accuracy)
if best_state is not None:
    model.load_state_dict(best_state)

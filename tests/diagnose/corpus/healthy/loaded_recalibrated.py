# statistics of batch norms are made anew before the evaluation
import io

import torch
from torch import nn

torch.manual_seed(0)
file = io.BytesIO()
torch.save(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2)).state_dict(), file)
file.seek(0)
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
model.load_state_dict(torch.load(file))
model[1].reset_running_stats()
with torch.no_grad():
    for _ in range(5):
        model(torch.randn(16, 4))
model.eval()
with torch.no_grad():
    print(model(torch.randn(8, 4)).argmax(1).tolist())

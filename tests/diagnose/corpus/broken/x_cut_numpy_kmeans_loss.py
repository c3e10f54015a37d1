"""Deep clustering: the distances to the centres come from NumPy, so only the reconstruction trains; the centres do not."""
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)
blobs = np.concatenate([np.random.randn(30, 5) * 0.3 + c for c in np.eye(5)[:3] * 3]).astype("float32")
x = torch.from_numpy(blobs)


class DeepCluster(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(5, 2)
        self.decoder = nn.Linear(2, 5)
        self.centres = nn.Parameter(torch.randn(3, 2))


def cluster_loss(z, centres):
    diff = z.unsqueeze(1) - torch.as_tensor(centres.data.numpy())  # expect: cut-numpy centres
    return diff.pow(2).sum(-1).min(dim=1).values.mean()


model = DeepCluster()
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(15):
    z = model.encoder(x)
    recon = (model.decoder(z) - x).pow(2).mean()
    loss = recon + 0.1 * cluster_loss(z, model.centres)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(recon.item(), loss.item())

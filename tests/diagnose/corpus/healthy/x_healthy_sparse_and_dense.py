"""Two optimizers on disjoint parameters: SparseAdam for the embedding, Adam for the rest; one backward."""
import torch
from torch import nn

torch.manual_seed(0)
emb = nn.EmbeddingBag(30, 8, mode="mean", sparse=True)
mlp = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opts = [torch.optim.SparseAdam(emb.parameters(), lr=1e-2), torch.optim.Adam(mlp.parameters(), lr=1e-2)]
for i in range(20):
    ids = torch.randint(0, 30, (24, 5))
    loss = nn.functional.mse_loss(mlp(emb(ids)).squeeze(1), ids.float().mean(1) / 30)
    for o in opts:
        o.zero_grad()
    loss.backward()
    for o in opts:
        o.step()
print(loss.item())

"""A network for graphs of one kind of node, made one for several kinds by a transformer of torch.fx."""

import torch
from torch import nn
from torch_geometric.nn import GCNConv, SAGEConv, to_hetero

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = SAGEConv((3, 3), 8), SAGEConv((8, 8), 4), nn.Linear(4, 2)

    def forward(self, x, edge_index):
        x = self.first(x, edge_index).relu()
        return self.last(self.second(x, edge_index))


edges = [("paper", "cites", "paper"), ("author", "writes", "paper"), ("paper", "rev", "author")]
model = to_hetero(Net(), (["paper", "author"], edges), aggr="sum")
x = {"paper": torch.randn(5, 3), "author": torch.randn(4, 3)}
where = {kind: torch.randint(0, 4, (2, 7)) for kind in edges}
for p in model.parameters():
    nn.init.uniform_(p, -0.5, 0.5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(3):
    loss = sum(v.square().mean() for v in model(x, where).values())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
print({k: v.tolist() for k, v in model(x, where).items()})
conv = GCNConv(3, 2)
print(conv(x["paper"], torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])).tolist())

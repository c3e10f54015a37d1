"""Graphs: node classification by convolution and attention, whole graphs in batches, explicit message passing,
and a network made one for several kinds of nodes by a transformer of torch.fx.
"""

import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GINConv,
    MessagePassing,
    SAGEConv,
    global_add_pool,
    global_mean_pool,
    to_hetero,
)
from torch_geometric.utils import add_self_loops, degree, to_undirected

torch.manual_seed(0)
classes = torch.arange(60) % 3
pairs = torch.randint(0, 60, (2, 900))
same = classes[pairs[0]] == classes[pairs[1]]
edges = to_undirected(pairs[:, same | (torch.rand(900) < 0.1)])
features = torch.eye(3)[classes] + torch.randn(60, 3)
graph = Data(x=features, edge_index=edges, y=classes)
print(graph.num_nodes, graph.num_edges, graph.is_undirected())


class Network(nn.Module):
    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = first, second

    def forward(self, data):
        hidden = nn.functional.dropout(torch.relu(self.first(data.x, data.edge_index)), 0.2, self.training)
        return self.second(hidden, data.edge_index)


class Mean(MessagePassing):
    """A degree-normalised convolution, written by hand."""

    def __init__(self, inputs, outputs):
        super().__init__(aggr="add")
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x, edge_index):
        edge_index, _ = add_self_loops(edge_index, num_nodes=x.size(0))
        row, column = edge_index
        scale = degree(column, x.size(0), dtype=x.dtype).pow(-0.5)
        return self.propagate(edge_index, x=self.linear(x), norm=scale[row] * scale[column])

    def message(self, x_j, norm):
        return norm.view(-1, 1) * x_j


for make in (lambda: (GCNConv(3, 16), GCNConv(16, 3)), lambda: (GATConv(3, 8, heads=2), GATConv(16, 3)),
        lambda: (SAGEConv(3, 16), SAGEConv(16, 3)), lambda: (Mean(3, 16), Mean(16, 3))):
    torch.manual_seed(1)
    model = Network(*make())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
    for _ in range(25):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(graph)[:40], graph.y[:40])
        loss.backward()
        optimizer.step()
    model.eval()
    print(loss.item(), (model(graph)[40:].argmax(1) == graph.y[40:]).float().mean().item())


def ring_or_path(label):
    """A ring or a path with random features: label 1 is a ring."""
    nodes = int(torch.randint(5, 12, ()))
    line = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 1) % nodes])
    return Data(x=torch.ones(nodes, 1), edge_index=to_undirected(line if label else line[:, :-1]),
        y=torch.tensor([label]))


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = GINConv(nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 16)))
        self.readout = nn.Linear(32, 2)

    def forward(self, data):
        hidden = self.convolution(data.x, data.edge_index).relu()
        return self.readout(torch.cat([global_mean_pool(hidden, data.batch), global_add_pool(hidden, data.batch)], 1))


loader = DataLoader([ring_or_path(i % 2) for i in range(64)], batch_size=16, shuffle=True)
model = Whole()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(8):
    total = 0.0
    for batch in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), batch.y)
        loss.backward()
        optimizer.step()
        total += loss.item() * batch.num_graphs
    print(total / 64)

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
convolution = GCNConv(3, 2)
print(convolution(x["paper"], torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])).tolist())

"""GCN and GAT on a random graph, semi-supervised, early in PyTorch's style."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter

torch.manual_seed(0)
N = 30
A = (torch.rand(N, N) > 0.85).float()
A = ((A + A.T) > 0).float() + torch.eye(N)
D = A.sum(1).pow(-0.5)
adj = (D[:, None] * A * D[None]).to_sparse()
X, Y = torch.rand(N, 12), torch.randint(0, 3, (N,))
train, val = torch.arange(10), torch.arange(10, 20)


class GraphConvolution(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = Parameter(torch.FloatTensor(i, o))
        self.bias = Parameter(torch.FloatTensor(o))
        stdv = 1.0 / self.weight.size(1) ** 0.5
        self.weight.data.uniform_(-stdv, stdv)
        self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        return torch.spmm(adj, torch.mm(input, self.weight)) + self.bias


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.gc1, self.gc2 = GraphConvolution(12, 16), GraphConvolution(16, 3)

    def forward(self, x, adj):
        x = F.dropout(F.relu(self.gc1(x, adj)), 0.5, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.W = nn.Parameter(torch.empty(12, 3))
        nn.init.xavier_uniform_(self.W.data, gain=1.414)
        self.a = nn.Parameter(torch.empty(6, 1))
        nn.init.xavier_uniform_(self.a.data, gain=1.414)

    def forward(self, h, adj):
        Wh = h @ self.W
        e = F.leaky_relu(Wh @ self.a[:3] + (Wh @ self.a[3:]).T, 0.2)
        attention = torch.where(adj > 0, e, -9e15 * torch.ones_like(e))
        attention = F.dropout(F.softmax(attention, dim=1), 0.3, training=self.training)
        return F.log_softmax(F.elu(attention @ Wh), dim=1)


for model, a in ((GCN(), adj), (GAT(), A)):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for epoch in range(20):
        model.train()
        optimizer.zero_grad()
        output = model(X, a)
        loss_train = F.nll_loss(output[train], Y[train])
        loss_train.backward()
        optimizer.step()
        model.eval()
        output = model(X, a)
        loss_val = F.nll_loss(output[val], Y[val])
        if epoch % 5 == 0:
            print(epoch, loss_train.item(), loss_val.item())

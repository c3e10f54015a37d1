"""nn.RNN with ReLU and weights scaled by 2.8: gradients grow with every step back in time."""
import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.RNN(3, 16, nonlinearity="relu", batch_first=True)
with torch.no_grad():
    rnn.weight_hh_l0.copy_(2.8 * torch.linalg.qr(torch.randn(16, 16))[0])  # or: exploding
head = nn.Linear(16, 1)
opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=1e-4)
for i in range(8):
    x = torch.randn(16, 70, 3)
    out, _ = rnn(x)  # expect: exploding
    loss = nn.functional.l1_loss(head(out[:, -1]), x[:, 0].sum(1, keepdim=True))
    opt.zero_grad()
    loss.backward()  # or: exploding
    opt.step()  # or: exploding
    print(i, loss.item(), rnn.weight_ih_l0.grad.norm().item())

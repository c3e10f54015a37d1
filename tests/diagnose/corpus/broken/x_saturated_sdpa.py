import torch
from torch import nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, d, heads=2):
        super().__init__()
        self.heads = heads
        self.to_q, self.to_k, self.to_v = (nn.Linear(d, d, bias=False) for _ in range(3))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (f(x).view(b, n, self.heads, -1).transpose(1, 2) for f in (self.to_q, self.to_k, self.to_v))
        y = F.scaled_dot_product_attention(q, k, v)  # expect: saturated
        return y.transpose(1, 2).reshape(b, n, d)


torch.manual_seed(0)
attn, head = Attention(16), nn.Linear(16, 4)
opt = torch.optim.Adam([*attn.parameters(), *head.parameters()], lr=1e-3)
for step in range(10):
    x = torch.randn(4, 12, 16) * 500  # raw sensor values
    y = torch.randint(0, 4, (4,))
    loss = F.cross_entropy(head(F.layer_norm(attn(x), (16,)).mean(1)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(5, 3, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for i in range(6):
    x = torch.randn(12, 5)
    x[3] = 0
    z = net(x)
    share = z.abs() / z.abs().sum(1, keepdim=True)  # or: masked-nan
    entropy = torch.nansum(-share * (share + 1e-9).log()) / 12  # expect: masked-nan
    opt.zero_grad()
    entropy.backward()
    opt.step()

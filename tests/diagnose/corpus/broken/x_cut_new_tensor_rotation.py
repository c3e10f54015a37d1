"""Registration of point clouds: the rotation matrix is built by torch.tensor from the learned angle."""
import torch

torch.manual_seed(0)
source = torch.randn(40, 2)
true_angle = torch.tensor(0.7)
R = torch.tensor([[true_angle.cos(), -true_angle.sin()], [true_angle.sin(), true_angle.cos()]])
target = source @ R.T + torch.tensor([0.5, -1.0])

theta = torch.zeros(1, requires_grad=True)
shift = torch.zeros(2, requires_grad=True)
optimizer = torch.optim.Adam([theta, shift], lr=0.05)


def transform(points):
    c, s = torch.cos(theta), torch.sin(theta)
    rotation = torch.tensor([[c, -s], [s, c]])  # expect: cut-new-tensor theta
    return points @ rotation.T + shift


for i in range(30):
    optimizer.zero_grad()
    loss = ((transform(source) - target) ** 2).sum(dim=1).mean()
    loss.backward()
    optimizer.step()
print("angle", theta.item(), "shift", shift.tolist())

"""Densities by invertible networks: coupling layers and autoregressive splines, fitted and sampled."""

import torch
from nflows import distributions, flows, transforms
from nflows.nn.nets import ResidualNet

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


def moons(count):
    """Two half circles with noise."""
    angle = torch.rand(count) * torch.pi
    side = (torch.rand(count) < 0.5).float()
    points = torch.stack([angle.cos() + side - 0.5, (1 - 2 * side) * angle.sin() + side * 0.5 - 0.25], 1)
    return points + 0.1 * torch.randn(count, 2)


def network(inputs, outputs):
    return ResidualNet(inputs, outputs, hidden_features=16, num_blocks=1)


def coupling():
    layers = []
    for i in range(4):
        layers.append(transforms.AffineCouplingTransform(torch.tensor([i % 2, 1 - i % 2]), network))
        layers.append(transforms.ActNorm(2))
    return layers


def spline():
    return [transforms.RandomPermutation(2), transforms.MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
        2, 16, num_bins=6, tails="linear", tail_bound=3.0, num_blocks=1)] * 2


def masked():
    return [transforms.MaskedAffineAutoregressiveTransform(2, 16, num_blocks=1), transforms.ReversePermutation(2),
        transforms.LULinear(2)]


for make in (coupling, spline, masked):
    torch.manual_seed(1)
    flow = flows.Flow(transforms.CompositeTransform(make()), distributions.StandardNormal([2]))
    optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
    for step in range(30):
        optimizer.zero_grad()
        loss = -flow.log_prob(moons(128)).mean()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(make.__name__, loss.item())
    flow.eval()
    with torch.no_grad():
        sample, density = flow.sample_and_log_prob(200)
        points = moons(5)
        noise = flow.transform_to_noise(points)
        back = flow._transform.inverse(noise)[0]
    print(sample.mean(0).tolist(), sample.std(0).tolist(), density.mean().item())
    print(float((back - points).abs().max() < 1e-3))

conditional = flows.Flow(transforms.MaskedAffineAutoregressiveTransform(2, 16, context_features=1, num_blocks=1),
    distributions.ConditionalDiagonalNormal([2], torch.nn.Linear(1, 4)))
optimizer = torch.optim.Adam(conditional.parameters(), lr=1e-2)
for _ in range(25):
    context = torch.randn(64, 1)
    optimizer.zero_grad()
    loss = -conditional.log_prob(context * torch.tensor([1.0, -2.0]) + 0.3 * torch.randn(64, 2), context).mean()
    loss.backward()
    optimizer.step()
print(loss.item(), conditional.sample(50, torch.tensor([[1.0]])).mean((0, 1)).tolist())

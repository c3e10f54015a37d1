"""Why a classifier decided so: attributions by gradients, by layers, by perturbation, and checks of their sums."""

import torch
from captum.attr import (
    DeepLift,
    FeatureAblation,
    GuidedBackprop,
    InputXGradient,
    IntegratedGradients,
    KernelShap,
    LayerConductance,
    LayerGradCam,
    NoiseTunnel,
    Occlusion,
    Saliency,
    ShapleyValueSampling,
)
from captum.metrics import infidelity, sensitivity_max
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 6)
y = ((x[:, 0] + 2 * x[:, 1] - x[:, 2] * x[:, 3]) > 0).long()
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(60):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())

some, baseline = x[:4], torch.zeros(4, 6)
integrated, delta = IntegratedGradients(model).attribute(some, baseline, target=1, return_convergence_delta=True)
print(integrated.tolist(), float(delta.abs().max() < 0.05))
lifted, delta = DeepLift(model).attribute(some, baseline, target=1, return_convergence_delta=True)
print(lifted[0].tolist(), float(delta.abs().max() < 1e-4))
for method in (Saliency(model), InputXGradient(model), GuidedBackprop(model), FeatureAblation(model)):
    print(type(method).__name__, method.attribute(some, target=1).abs().sum(0).tolist())
print(LayerConductance(model, model[0]).attribute(some, target=1).sum(1).tolist())
torch.manual_seed(1)
print(NoiseTunnel(Saliency(model)).attribute(some, nt_type="smoothgrad", nt_samples=8, stdevs=0.1, target=1)
    .sum(0).tolist())
print(ShapleyValueSampling(model).attribute(some, baseline, target=1, n_samples=20).sum(0).tolist())
print(KernelShap(model).attribute(some[:1], baseline[:1], target=1, n_samples=60).tolist())


def perturb(inputs):
    noise = torch.randn_like(inputs) * 0.05
    return noise, inputs - noise


print(infidelity(model, perturb, some, integrated, target=1, n_perturb_samples=10).mean().item())
print(sensitivity_max(IntegratedGradients(model).attribute, some, target=1, n_perturb_samples=4).mean().item())

pictures = torch.rand(2, 1, 12, 12)
convolution = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3))
print(LayerGradCam(convolution, convolution[3]).attribute(pictures, target=0).flatten().tolist())
print(Occlusion(convolution).attribute(pictures, target=2, sliding_window_shapes=(1, 4, 4), strides=(1, 4, 4))
    .abs().mean((1, 2, 3)).tolist())

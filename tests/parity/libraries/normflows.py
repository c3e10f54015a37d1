"""Flows fitted to a density that is known, and to samples; a variational autoencoder's latent numbers by a flow."""

import normflows as nf
import torch

torch.manual_seed(0)
target = nf.distributions.TwoMoons()


def real_nvp():
    flows = []
    for _ in range(4):
        flows.append(nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 24, 24, 2], init_zeros=True)))
        flows.append(nf.flows.Permute(2, mode="swap"))
    return flows


def splines():
    return [layer for _ in range(2) for layer in (
        nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 16), nf.flows.LULinearPermute(2))]


def planar():
    return [nf.flows.Planar((2,)) for _ in range(6)]


for make in (real_nvp, splines, planar):
    torch.manual_seed(1)
    model = nf.NormalizingFlow(nf.distributions.DiagGaussian(2), make(), target)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-5)
    for step in range(20):
        optimizer.zero_grad()
        loss = model.reverse_kld(64) if make is planar else model.forward_kld(target.sample(64))
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            print(make.__name__, loss.item())
    with torch.no_grad():
        sample, density = model.sample(100)
    print(sample.std(0).tolist(), density.mean().item())

torch.manual_seed(2)
glow = [nf.flows.GlowBlock(4, 16, split_mode="channel", scale=True) for _ in range(2)]
model = nf.MultiscaleFlow([nf.distributions.DiagGaussian((4, 4, 4))], [[*glow, nf.flows.Squeeze()]], [],
    class_cond=False)
optimizer = torch.optim.Adamax(model.parameters(), lr=1e-3)
pictures = torch.rand(8, 1, 8, 8)
for _ in range(4):
    optimizer.zero_grad()
    loss = model.forward_kld(pictures)
    loss.backward()
    optimizer.step()
    print(loss.item())

torch.manual_seed(3)
residual = [nf.flows.Residual(nf.nets.LipschitzMLP([2, 16, 2], init_zeros=True, lipschitz_const=0.9),
    n_samples=1, reduce_memory=False) for _ in range(2)]
model = nf.NormalizingFlow(nf.distributions.DiagGaussian(2, trainable=False), residual)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(4):
    optimizer.zero_grad()
    loss = model.forward_kld(target.sample(64))
    loss.backward()
    optimizer.step()
    nf.utils.update_lipschitz(model, 5)
print(loss.item())

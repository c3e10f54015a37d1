import torch
import torch.nn.functional as F


def unit(x, eps=1e-8):
    return x.data / (x.data.norm(dim=1, keepdim=True) + eps)  # expect: cut-data body.0.weight body.0.bias body.2.weight body.2.bias


def info_nce(za, zb, scale):
    logits = scale.exp() * unit(za) @ unit(zb).t()
    target = torch.arange(len(za))
    return 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target))

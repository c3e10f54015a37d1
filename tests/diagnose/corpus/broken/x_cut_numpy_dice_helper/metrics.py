import numpy as np
import torch


def dice(pred, target, smooth=1.0):
    p = pred.detach().cpu().numpy().reshape(len(pred), -1)  # expect: cut-numpy 0.weight 0.bias 2.weight 2.bias
    t = target.cpu().numpy().reshape(len(target), -1)
    score = (2 * np.sum(p * t, axis=1) + smooth) / (p.sum(axis=1) + t.sum(axis=1) + smooth)
    return torch.tensor(score.mean())

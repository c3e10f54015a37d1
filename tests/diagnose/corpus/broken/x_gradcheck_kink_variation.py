"""gradcheck of a one-sided variation penalty on an image with flat regions."""
import torch
from torch.autograd import gradcheck


def variation(img):
    return torch.relu(img[1:] - img[:-1]).sum() + torch.relu(img[:, 1:] - img[:, :-1]).sum()  # or: gradcheck-kink


image = torch.zeros(4, 4, dtype=torch.double)
image[1:3, 1:3] = 1.0
image.requires_grad_(True)
assert gradcheck(variation, image, raise_exception=False), "wrong gradient?"  # expect: gradcheck-kink

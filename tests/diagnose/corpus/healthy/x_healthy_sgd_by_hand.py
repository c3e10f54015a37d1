"""Networks from leaf tensors with a hand-written momentum update, gradients set to None after each."""
import torch

torch.manual_seed(0)


def xavier(i, o):
    return (torch.randn(i, o) * (2 / (i + o)) ** 0.5).requires_grad_()


params = {"w1": xavier(4, 24), "b1": torch.zeros(24, requires_grad=True),
          "w2": xavier(24, 1), "b2": torch.zeros(1, requires_grad=True)}
velocity = {k: torch.zeros_like(v) for k, v in params.items()}
history = []
for step in range(40):
    x = torch.randn(32, 4)
    h = torch.relu(x @ params["w1"] + params["b1"])
    loss = ((h @ params["w2"] + params["b2"]).squeeze(1) - x.sum(1)).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for k, p in params.items():
            velocity[k].mul_(0.9).add_(p.grad)
            p -= 0.01 * velocity[k]
            p.grad = None
    history.append(loss.detach())
print(torch.stack(history)[-3:])

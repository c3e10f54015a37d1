"""Weights drawn by randn without a scale: the sigmoids of the hidden layer stand at 0 or 1."""
import torch


class Layer:
    def __init__(self, n_in, n_out):
        self.W = (8 * torch.randn(n_in, n_out)).requires_grad_()  # or: saturated
        self.b = torch.zeros(n_out, requires_grad=True)

    def __call__(self, x):
        return x @ self.W + self.b

    def parameters(self):
        return [self.W, self.b]


torch.manual_seed(0)
hidden, output = Layer(30, 20), Layer(20, 1)
with torch.no_grad():
    output.W.mul_(0.02)
params = hidden.parameters() + output.parameters()
x = torch.randn(100, 30)
y = (x[:, :5].sum(1, keepdim=True) > 0).float()
lr = 0.1
for epoch in range(30):
    h = torch.sigmoid(hidden(x))  # expect: saturated
    loss = torch.nn.functional.binary_cross_entropy_with_logits(output(h), y)
    grads = torch.autograd.grad(loss, params)
    with torch.no_grad():
        for p, g in zip(params, grads):
            p -= lr * g
    if epoch % 10 == 0:
        print(epoch, loss.item())

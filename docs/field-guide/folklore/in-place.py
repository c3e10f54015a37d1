import torch


def outcome(write):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    try:
        write(x).sum().backward()
    except RuntimeError as error:
        return "error: " + str(error).partition(":")[0].partition(".")[0]
    return f"gradient {x.grad.tolist()}"


def overwritten_data(x):
    y = x * x
    x.data.zero_()
    return y


print("y = x * 2; y += 1          ", outcome(lambda x: (x * 2).add_(1)))
print("y = x * 2; y.relu_()       ", outcome(lambda x: (x * 2).relu_()))
print("y = x * 2; y[0] = 0        ", outcome(lambda x: (x * 2).index_fill_(0, torch.tensor([0]), 0)))
print("y = x.sigmoid().mul_(2)    ", outcome(lambda x: x.sigmoid().mul_(2)))
print("y = x.exp(); y += 1        ", outcome(lambda x: x.exp().add_(1)))
print("x += 1                     ", outcome(lambda x: x.add_(1)))
print("y = x * x; x.data.zero_()  ", outcome(overwritten_data))

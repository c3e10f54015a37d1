import torch

w = torch.ones(2, requires_grad=True)
norms = []
for _ in range(50):
    (w * torch.tensor([0.6, 0.8])).sum().backward()
    norms.append(w.grad.norm().item())
print("norm after 1, 2, 10, 50 backwards:", [round(norms[i - 1], 3) for i in (1, 2, 10, 50)])


def trained(where):
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(10):
        if where == "before the forward":
            optimizer.zero_grad()
        loss = model(torch.ones(2, 3)).pow(2).mean()
        if where == "after the forward":
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if where == "after the step":
            optimizer.zero_grad()
    return model.weight


places = "before the forward", "after the forward", "after the step"
print("the place makes a difference:", any(not torch.equal(trained(p), trained(places[0])) for p in places))

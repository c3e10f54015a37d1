from torch import nn


def train(model, loader, optimizer, epochs, virtual_batch):
    criterion, seen = nn.MSELoss(), 0
    for epoch in range(epochs):
        for x, y in loader:
            loss = criterion(model(x), y)
            loss.backward()  # expect: accumulation-scale
            seen += len(x)
            if seen >= virtual_batch:
                optimizer.step()  # or: accumulation-scale
                optimizer.zero_grad()
                seen = 0
        print(epoch, loss.item())

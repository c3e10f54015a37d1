"""A loss wrapped again as Variables were of old: backward() runs, and nothing arrives."""

import torch
from torch import nn
from torch.autograd import Variable

torch.manual_seed(0)
model = nn.Linear(4, 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
for i in range(10):
    inputs, labels = Variable(torch.randn(8, 4)), Variable(torch.randint(2, (8,)))
    outputs = model(inputs)
    loss = criterion(outputs, labels)
    loss = Variable(loss.data, requires_grad=True)  # expect: cut-data weight bias
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{i}: {loss.item():.3f}")

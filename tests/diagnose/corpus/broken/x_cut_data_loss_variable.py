"""Code of the Variable times: the loss is wrapped anew so that backward() does not complain."""
import torch
import torch.nn as nn
from torch.autograd import Variable


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(7, 14)
        self.fc2 = nn.Linear(14, 1)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.5)
for epoch in range(8):
    data, target = Variable(torch.randn(20, 7)), Variable(torch.randn(20, 1))
    optimizer.zero_grad()
    output = net(data)
    loss = nn.functional.mse_loss(output, target)
    loss = Variable(loss.data, requires_grad=True)  # expect: cut-data fc1.weight fc1.bias fc2.weight fc2.bias
    loss.backward()
    optimizer.step()
    print("epoch %d loss %.3f" % (epoch, loss.item()))

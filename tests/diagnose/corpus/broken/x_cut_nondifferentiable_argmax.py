"""Star ratings 0..4: the predicted class goes into the squared error."""
import torch
import torch.nn as nn

torch.manual_seed(0)
X = torch.randn(100, 8)
stars = (X[:, 0] * 1.5 + 2).clamp(0, 4).round()

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 5))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(10):
    logits = model(X)
    pred = torch.argmax(logits, dim=1).float()  # expect: cut-nondifferentiable 0.weight 0.bias 2.weight 2.bias
    loss = criterion(pred, stars)
    loss.requires_grad = True
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("epoch", epoch, "loss", loss.item())

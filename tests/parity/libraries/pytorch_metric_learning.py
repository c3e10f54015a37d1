"""Embeddings by losses of pairs, triplets and proxies, with miners; how well neighbours agree."""

import torch
from pytorch_metric_learning import distances, losses, miners, reducers, samplers
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
from pytorch_metric_learning.utils.inference import CustomKNN
from torch import nn

torch.manual_seed(0)
centres = torch.randn(6, 10)
labels = torch.arange(240) % 6
x = centres[labels] + 0.8 * torch.randn(240, 10)
cosine = distances.CosineSimilarity()
pairings = [
    (losses.TripletMarginLoss(margin=0.2, distance=cosine, reducer=reducers.ThresholdReducer(low=0)),
        miners.TripletMarginMiner(margin=0.2, distance=cosine, type_of_triplets="semihard")),
    (losses.ContrastiveLoss(pos_margin=0.1, neg_margin=0.8), miners.MultiSimilarityMiner()),
    (losses.NTXentLoss(temperature=0.2), None),
    (losses.MultiSimilarityLoss(), miners.BatchHardMiner()),
    (losses.CircleLoss(), None),
    (losses.LiftedStructureLoss(), None),
]
for loss_function, miner in pairings:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(12):
        batch = torch.randperm(240)[:48]
        optimizer.zero_grad()
        embedded = model(x[batch])
        found = miner(embedded, labels[batch]) if miner else None
        loss = loss_function(embedded, labels[batch], found)
        loss.backward()
        optimizer.step()
    print(type(loss_function).__name__, loss.item())

for kind in (losses.ProxyAnchorLoss, losses.ArcFaceLoss, losses.NormalizedSoftmaxLoss):
    torch.manual_seed(2)
    model, loss_function = nn.Linear(10, 4), kind(6, 4)
    optimizer = torch.optim.SGD([*model.parameters(), *loss_function.parameters()], lr=0.05)
    for _ in range(10):
        optimizer.zero_grad()
        loss = loss_function(model(x), labels)
        loss.backward()
        optimizer.step()
    print(type(loss_function).__name__, loss.item())

with torch.no_grad():
    embedded = nn.functional.normalize(model(x))
calculator = AccuracyCalculator(include=("precision_at_1", "mean_average_precision"), k=10,
    knn_func=CustomKNN(distances.LpDistance()))
print(sorted(calculator.get_accuracy(embedded, labels, embedded, labels, ref_includes_query=True).items()))
print(torch.tensor(list(samplers.MPerClassSampler(labels, 4, 24, 48))).shape[0])

"""Metrics of classifiers, of regressions and of images."""

import torch
import torchmetrics as tm

torch.manual_seed(0)
scores, labels = torch.randn(40, 5).softmax(-1), torch.randint(0, 5, (40,))
kind = {"task": "multiclass", "num_classes": 5}
for metric in (tm.Accuracy(**kind), tm.F1Score(**kind, average="macro"), tm.AUROC(**kind), tm.ConfusionMatrix(**kind),
        tm.CalibrationError(**kind)):
    for part in range(0, 40, 10):
        metric.update(scores[part : part + 10], labels[part : part + 10])
    print(metric.compute().tolist())
for metric in (tm.MeanSquaredError(), tm.R2Score(), tm.PearsonCorrCoef(), tm.SpearmanCorrCoef()):
    print(metric(torch.randn(20), torch.randn(20)).item())
print(tm.image.StructuralSimilarityIndexMeasure()(torch.rand(2, 1, 16, 16), torch.rand(2, 1, 16, 16)).item())

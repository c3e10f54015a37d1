"""Scikit-learn with networks: fit, predict, a pipeline, a search over settings, a regression, callbacks."""

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EarlyStopping, EpochScoring, LRScheduler
from torch import nn

x, y = make_classification(600, 20, n_informative=10, random_state=0)
x, y = x.astype(np.float32), y.astype(np.int64)


class Network(nn.Module):
    def __init__(self, width=16, dropout=0.2, outputs=2):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, outputs))

    def forward(self, x):
        return self.layers(x)


torch.manual_seed(0)
net = NeuralNetClassifier(Network, criterion=nn.CrossEntropyLoss, lr=0.1, max_epochs=8, batch_size=64, verbose=0,
    iterator_train__shuffle=True, callbacks=[
        EarlyStopping(patience=5), EpochScoring("accuracy", name="train_accuracy", on_train=True),
        LRScheduler("StepLR", step_size=3, gamma=0.5)])
net.fit(x, y)
for row in net.history:
    print(row["train_loss"], row["valid_loss"], row["valid_acc"], row["train_accuracy"])
print(net.predict(x[:8]).tolist(), net.predict_proba(x[:4]).tolist(), net.score(x, y))

torch.manual_seed(1)
pipeline = make_pipeline(StandardScaler(), NeuralNetClassifier(Network, criterion=nn.CrossEntropyLoss,
    optimizer=torch.optim.Adam, lr=0.01, max_epochs=4, train_split=None, verbose=0, batch_size=50))
print(cross_val_score(pipeline, x, y, cv=3).tolist())

torch.manual_seed(2)
search = GridSearchCV(NeuralNetClassifier(Network, criterion=nn.CrossEntropyLoss, max_epochs=3, train_split=None,
    verbose=0), {"lr": [0.02, 0.1], "module__width": [8, 32]}, cv=2, scoring="accuracy", refit=False)
search.fit(x, y)
print(search.best_params_["lr"], search.best_params_["module__width"], search.cv_results_["mean_test_score"].tolist())

torch.manual_seed(3)
target = (x[:, :1] * 2 - x[:, 1:2]).astype(np.float32)
regression = NeuralNetRegressor(Network, module__outputs=1, module__dropout=0.0, optimizer=torch.optim.SGD,
    optimizer__momentum=0.9, lr=0.01, max_epochs=6, verbose=0)
regression.fit(x, target)
print([row["valid_loss"] for row in regression.history], regression.predict(x[:3]).ravel().tolist())

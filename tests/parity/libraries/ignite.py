"""Engines with events: a trainer, an evaluator with metrics, a schedule of the learning rate, early stopping."""

import torch
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import EarlyStopping, PiecewiseLinear, TerminateOnNan
from ignite.metrics import Accuracy, ConfusionMatrix, Fbeta, Loss, Precision, Recall, RunningAverage
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(768, 2)
y = ((x[:, 0] * x[:, 1] > 0).long() + (x.norm(dim=1) > 1.5).long())
train = DataLoader(TensorDataset(x[:512], y[:512]), batch_size=32, shuffle=True)
test = DataLoader(TensorDataset(x[512:], y[512:]), batch_size=128)

model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
loss = nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, optimizer, loss)
RunningAverage(output_transform=lambda value: value).attach(trainer, "loss")
precision, recall = Precision(average=False), Recall(average=False)
evaluator = create_supervised_evaluator(model, metrics={
    "accuracy": Accuracy(), "loss": Loss(loss), "precision": precision, "recall": recall,
    "f1": Fbeta(1, precision=precision, recall=recall), "table": ConfusionMatrix(3)})
schedule = PiecewiseLinear(optimizer, "lr", [(0, 0.001), (32, 0.02), (160, 0.001)])
trainer.add_event_handler(Events.ITERATION_STARTED, schedule)
trainer.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())
evaluator.add_event_handler(Events.COMPLETED, EarlyStopping(4, lambda engine: -engine.state.metrics["loss"], trainer))


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(engine):
    evaluator.run(test)
    metrics = evaluator.state.metrics
    print(engine.state.epoch, engine.state.metrics["loss"], metrics["accuracy"], metrics["loss"], metrics["f1"],
        metrics["precision"].tolist(), metrics["recall"].tolist(), optimizer.param_groups[0]["lr"])


@trainer.on(Events.ITERATION_COMPLETED(every=40))
def print_loss(engine):
    print(engine.state.iteration, engine.state.output)


trainer.run(train, max_epochs=10)
print(evaluator.state.metrics["table"].tolist())


def step(engine, batch):
    """A step of an autoencoder, as an engine of one's own."""
    decoder.zero_grad()
    value = nn.functional.mse_loss(decoder(batch), batch)
    value.backward()
    other.step()
    return value.item()


decoder = nn.Sequential(nn.Linear(2, 1), nn.Linear(1, 2))
other = torch.optim.SGD(decoder.parameters(), lr=0.1, momentum=0.9)
engine = Engine(step)
engine.run(x.split(64), max_epochs=3)
print(engine.state.output, engine.state.iteration)

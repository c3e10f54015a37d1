"""Federated learning: clients keep their digits and send what a model has learned from them, by Flower.

Twelve clients have unequal shares of scikit-learn's digits, few classes each. A server averages what they have learned
(FedAvg, McMahan et al. 2017; with a proximal term FedProx, Li et al. 2020). Updates travel whole or compressed, with
error feedback: each client adds what a compression has lost to its next update. All is compared with training in one
place, in a picture: accuracy by round, and by bytes that the clients have sent.

The clients are Flower's ``ClientApp``, the server is one of Flower's strategies. Here they run in this process, one
client after the other.

    pip install "wengert[flwr,examples]"
    python examples/federated.py
    python examples/federated.py --clients 20 --rounds 30 --mu 0.1 --compression int8
"""

import argparse
import logging

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedProx
from flwr.supercore.task_identity import TaskIdentity
from sklearn.datasets import load_digits

import wengert as torch
import wengert.nn.functional as F
from wengert import nn
from wengert.distributed.compression import Int8State, OneBitState, TopKState
from wengert.nn.utils import parameters_to_vector, vector_to_parameters

STATES = {"topk": lambda: TopKState(ratio=0.05), "int8": Int8State, "onebit": OneBitState}


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def load():
    """Digits to learn from, and digits to test with."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    x = torch.tensor(digits.data[order] / 16, dtype=torch.float32)
    y = torch.tensor(digits.target[order])
    return (x[:1500], y[:1500]), (x[1500:], y[1500:])


def shares(labels, clients, alpha=0.5):
    """For each client the rows that it has: sizes and classes differ (Dirichlet distribution, Hsu et al. 2019)."""
    random = np.random.default_rng(1)
    owners = np.empty(len(labels), int)
    for digit in range(10):
        rows = np.flatnonzero(labels == digit)
        owners[rows] = random.choice(clients, len(rows), p=random.dirichlet(np.full(clients, alpha)))
    owners[random.permutation(len(labels))[:2 * clients]] = np.repeat(np.arange(clients), 2)  # nobody has nothing
    return [np.flatnonzero(owners == i) for i in range(clients)]


def learn(model, x, y, epochs, lr, mu=0.0):
    """Some epochs of SGD; ``mu`` draws the parameters to where they began."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    begin = [p.detach().clone() for p in model.parameters()]
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(32):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            if mu:
                loss = loss + mu / 2 * sum((p - b).square().sum() for p, b in zip(model.parameters(), begin))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def make_client_app(data, parts, states, epochs, lr):
    """What a client does with the message of a round: learn, and answer with the change of the parameters."""
    app = ClientApp()

    @app.train()
    def train(message, context):
        client = context.node_config["partition-id"]
        sent = message.content["arrays"].to_numpy_ndarrays()[0]
        model = make_model()
        vector_to_parameters(torch.from_numpy(sent.copy()), model.parameters())
        rows = torch.tensor(parts[client])
        learn(model, data[0][rows], data[1][rows], epochs, lr, message.content["config"]["proximal-mu"])
        change = parameters_to_vector(model.parameters()).detach().numpy() - sent
        packed = states[client].compress("update", change) if states else change
        content = {"arrays": ArrayRecord([packed]), "metrics": MetricRecord({"num-examples": len(rows)})}
        return Message(RecordDict(content), reply_to=message)

    return app


class Averaging(FedProx):
    """The mean of the clients' changes, weighted by their examples, added to the parameters."""

    def __init__(self, state, mu):
        super().__init__(fraction_evaluate=0.0, proximal_mu=mu)
        self.state, self.bytes = state, [0]

    def configure_train(self, server_round, arrays, config, grid):
        self.parameters = arrays.to_numpy_ndarrays()[0]
        return super().configure_train(server_round, arrays, config, grid)

    def aggregate_train(self, server_round, replies):
        total, weights, received = 0, 0, 0
        for reply in replies:
            packed = reply.content["arrays"].to_numpy_ndarrays()[0]
            change = self.state.unpacked(packed, self.parameters.size) if self.state else packed
            weight = reply.content["metrics"]["num-examples"]
            total, weights, received = total + weight * change, weights + weight, received + packed.nbytes
        self.bytes.append(self.bytes[-1] + received)
        return ArrayRecord([(self.parameters + total / weights).astype(np.float32)]), MetricRecord()


class InThisProcess(Grid):
    """Hands messages to clients in this process. With Flower's SuperLink and SuperNodes it is the network."""

    def __init__(self, app, clients):
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1  # of messages from this process
        self.app = app
        self.contexts = {i + 1: Context(run_id=1, node_id=i + 1, node_config={"partition-id": i}, state=RecordDict(),
            run_config={}) for i in range(clients)}

    def set_run(self, run):
        pass

    @property
    def run(self):
        return None

    def create_message(self, content, message_type, dst_node_id, group_id="", ttl=None):
        return Message(content, dst_node_id=dst_node_id, message_type=message_type)

    def get_node_ids(self):
        return list(self.contexts)

    def send_and_receive(self, messages, *, timeout=None):
        return [self.app(message, self.contexts[message.metadata.dst_node_id]) for message in messages]

    def push_messages(self, messages):
        raise TypeError("clients in this process answer at once: use send_and_receive")

    pull_messages = push_messages


def federated(data, test, parts, args, compression=None, mu=0.0):
    """Accuracies, and bytes that the clients have sent, after each round."""
    states = [STATES[compression]() for _ in parts] if compression else None
    strategy = Averaging(states and states[0], mu)
    found = []

    def evaluate(server_round, arrays):
        model = make_model()
        vector_to_parameters(torch.from_numpy(arrays.to_numpy_ndarrays()[0].copy()), model.parameters())
        found.append(accuracy(model, *test))
        return MetricRecord({"accuracy": found[-1]})

    grid = InThisProcess(make_client_app(data, parts, states, args.epochs, args.lr), len(parts))
    initial = parameters_to_vector(make_model().parameters()).detach().numpy()
    torch.manual_seed(1)
    strategy.start(grid, ArrayRecord([initial]), num_rounds=args.rounds, train_config=ConfigRecord(),
        evaluate_fn=evaluate)
    return found, strategy.bytes


def centralised(data, test, args):
    """Accuracies of one model that gets all digits, after as many epochs."""
    model = make_model()
    torch.manual_seed(1)
    found = [accuracy(model, *test)]
    for _ in range(args.rounds):
        learn(model, *data, args.epochs, args.lr)
        found.append(accuracy(model, *test))
    return found


def picture(curves, path, width=860, height=340):
    """Accuracy by round on the left, by bytes (logarithmic) on the right, as SVG."""
    colors = ["#555", "#26c", "#082", "#c60", "#a2a", "#c22"]
    rounds = max(len(found) for _, found, _ in curves) - 1
    most = max(sent[-1] for _, _, sent in curves if sent)
    least = min(sent[1] for _, _, sent in curves if sent)
    rows, top, tall, wide = [], 20, height - 70, (width - 140) / 2

    def down(a):
        return top + (1 - a) * tall

    for left in (50, 90 + wide):
        rows.append(f'<rect x="{left}" y="{top}" width="{wide}" height="{tall}" fill="none" stroke="#999"/>')
        rows += [f'<text x="{left - 32}" y="{down(a) + 4:.0f}">{a:.1f}</text>' for a in (0, 0.5, 1)]
    for i, (name, found, sent) in enumerate(curves):
        lines = [[(50 + wide * r / rounds, down(a)) for r, a in enumerate(found)]]
        if sent:
            lines.append([(90 + wide + wide * np.log(b / least) / np.log(most / least), down(a))
                for b, a in zip(sent[1:], found[1:])])
        color = colors[i % len(colors)]
        rows += ['<polyline fill="none" stroke-width="2" stroke="{}" points="{}"/>'.format(color,
            " ".join(f"{x:.1f},{y:.1f}" for x, y in line)) for line in lines]
        rows.append(f'<text x="{60 + wide * 0.55:.0f}" y="{down(0.36 - 0.07 * i):.0f}" fill="{color}">{name}</text>')
    rows.append(f'<text x="50" y="{height - 14}">accuracy by round, 0 to {rounds}</text>')
    rows.append(f'<text x="{90 + wide}" y="{height - 14}">accuracy by bytes sent, {least:,} to {most:,}, '
        "logarithmic</text>")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
            f'font-size="13"><rect width="100%" height="100%" fill="#fff"/>{"".join(rows)}</svg>\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=2, help="epochs of a client in a round")
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--mu", type=float, default=0.1, help="weight of the proximal term of FedProx")
    parser.add_argument("--compression", choices=[*STATES, "all"], default="all")
    parser.add_argument("--out", default="federated.svg")
    args = parser.parse_args()
    logging.getLogger("flwr").setLevel(logging.ERROR)
    data, test = load()
    parts = shares(data[1].numpy(), args.clients)
    print(f"{args.clients} clients with {min(map(len, parts))} to {max(map(len, parts))} digits")
    curves = [("in one place", centralised(data, test, args), None)]
    curves.append(("FedAvg", *federated(data, test, parts, args)))
    curves.append((f"FedProx {args.mu:g}", *federated(data, test, parts, args, mu=args.mu)))
    curves += [(f"FedAvg, {compression}", *federated(data, test, parts, args, compression))
        for compression in (STATES if args.compression == "all" else [args.compression])]
    for name, found, sent in curves:
        print(f"{name:16} accuracy {found[-1]:.3f}" + (f", {sent[-1]:,} bytes sent" if sent else ""))
    picture(curves, args.out)
    print(f"saved {args.out}")


if __name__ == "__main__":
    main()

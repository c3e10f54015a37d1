"""Learning to learn sine waves: gradients through gradients.

Model-agnostic meta-learning (Finn, Abbeel and Levine, 2017): find weights from which one gradient step on ten points
of an unseen sine wave is enough to predict the rest of it. The inner step is part of the graph
(`create_graph=True`), so the outer gradient runs through it and contains second derivatives.

    python examples/maml_sine.py
    python examples/maml_sine.py --steps 5000 --first-order
"""

import argparse
import itertools
import math
import sys

import torch
import torch.nn.functional as F


def init_weights(hidden=40):
    """Weights and biases of a 1 -> hidden -> hidden -> 1 network, as a plain list of leaf tensors."""
    sizes = [1, hidden, hidden, 1]
    weights = []
    for n_in, n_out in itertools.pairwise(sizes):
        bound = math.sqrt(3 / n_in)
        weights.append(torch.empty(n_out, n_in).uniform_(-bound, bound).requires_grad_())
        weights.append(torch.zeros(n_out, requires_grad=True))
    return weights


def network(x, weights):
    """The network as a function of its weights, so that it can be called with adapted ones."""
    w1, b1, w2, b2, w3, b3 = weights
    x = torch.tanh(F.linear(x, w1, b1))
    x = torch.tanh(F.linear(x, w2, b2))
    return F.linear(x, w3, b3)


def sine_tasks(count):
    """A function that draws `points` samples (x, y) from each of `count` random sine waves."""
    amplitude = torch.rand(count, 1, 1) * 4.9 + 0.1
    phase = torch.rand(count, 1, 1) * math.pi

    def draw(points):
        x = torch.rand(count, points, 1) * 10 - 5
        return x, amplitude * torch.sin(x - phase)

    return draw


def adapt(weights, x, y, inner_lr, steps=1, create_graph=True):
    """The weights after a few gradient steps on one task; differentiable in the weights we started from."""
    for _ in range(steps):
        loss = F.mse_loss(network(x, weights), y)
        grads = torch.autograd.grad(loss, weights, create_graph=create_graph)
        weights = [w - inner_lr * g for w, g in zip(weights, grads)]
    return weights


def report(step, steps, text):
    """Print a line for each step; on a terminal, one line with a bar that grows."""
    if sys.stdout.isatty():
        done = 24 * step // steps
        print(f"\r[{'#' * done}{'.' * (24 - done)}] {text}", end="\n" if step == steps else "", flush=True)
    else:
        print(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--tasks", type=int, default=8, help="sine waves per outer step")
    parser.add_argument("--points", type=int, default=10, help="points seen of each wave")
    parser.add_argument("--inner-lr", type=float, default=0.02)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--first-order", action="store_true", help="leave the second derivatives out")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    weights = init_weights()
    optimizer = torch.optim.Adam(weights, lr=args.lr)

    for step in range(1, args.steps + 1):
        draw = sine_tasks(args.tasks)
        x_seen, y_seen = draw(args.points)
        x_unseen, y_unseen = draw(args.points)
        loss = 0.0
        for task in range(args.tasks):
            adapted = adapt(weights, x_seen[task], y_seen[task], args.inner_lr, create_graph=not args.first_order)
            loss = loss + F.mse_loss(network(x_unseen[task], adapted), y_unseen[task])
        loss = loss / args.tasks
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        report(step, args.steps, f"step {step} loss {loss.item():.6f}")

    draw = sine_tasks(100)
    x_seen, y_seen = draw(args.points)
    x_unseen, y_unseen = draw(100)
    print("squared error on unseen waves")
    for inner_steps in (0, 1, 5):
        errors = []
        for task in range(100):
            adapted = adapt(weights, x_seen[task], y_seen[task], args.inner_lr, inner_steps, create_graph=False)
            with torch.no_grad():
                errors.append(F.mse_loss(network(x_unseen[task], adapted), y_unseen[task]))
        print(f"  after {inner_steps} gradient steps: {torch.stack(errors).mean().item():.4f}")


if __name__ == "__main__":
    main()

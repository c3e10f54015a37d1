"""Newton-CG against Adam: the same small network, from the same weights, by either.

A network of a few neurons is to fit a wave exactly, a problem whose valleys are long and narrow. Newton's step solves
with the Hessian by conjugate gradients; what it costs is counted in gradients, a product with the Hessian as four of
them, so that the two can be compared.

    python examples/newton_cg.py
    python examples/newton_cg.py --gradients 20000 --hidden 12
"""

import argparse

import wengert as torch
from wengert import nn
from wengert.curvature import NewtonCG

PRODUCT = 4  # gradients that a product with the Hessian may cost


def problem(hidden, seed):
    """A network, and its loss on all data."""
    torch.manual_seed(seed)
    x = torch.linspace(-1, 1, 100, dtype=torch.float64)[:, None]
    y = torch.sin(6 * x)
    model = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, 1)).double()
    return model, lambda: nn.functional.mse_loss(model(x), y)


def adam(hidden, seed, gradients):
    """The loss after so many gradients, a step each."""
    model, loss = problem(hidden, seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(1, gradients + 1):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        if step % (gradients // 10) == 0:
            print(f"adam      gradients {step:5d} loss {value.item():.2e}")
    return loss().item()


def newton(hidden, seed, gradients):
    """The same for Newton's method, whose products are counted; the damping follows the success of the steps."""
    model, loss = problem(hidden, seed)
    params = list(model.parameters())
    optimizer, spent, products = NewtonCG(params, damping=0.1, max_cg=25, tol=1e-3), 0, []
    hook = params[0].register_hook(lambda g: products.append(g))
    former = float("inf")
    while spent < gradients:
        before = [p.detach().clone() for p in params]
        products.clear()
        value = optimizer.step(loss).item()
        spent += 1 + PRODUCT * (len(products) - 1)
        group = optimizer.param_groups[0]
        with torch.no_grad():
            reached = loss().item()
            if reached <= value:
                group["damping"] = max(group["damping"] / 3, 1e-10)
            else:  # too far: go back, and be more careful
                group["damping"] *= 4
                for p, b in zip(params, before):
                    p.copy_(b)
        if value < former:
            print(f"newton-cg gradients {spent:5d} loss {value:.2e} damping {group['damping']:.1e}")
        former = value
    hook.remove()
    return loss().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, default=8)
    parser.add_argument("--gradients", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    losses = {run.__name__: run(args.hidden, args.seed, args.gradients) for run in (adam, newton)}
    print(f"after {args.gradients} gradients: Adam {losses['adam']:.2e}, Newton-CG {losses['newton']:.2e}")


if __name__ == "__main__":
    main()

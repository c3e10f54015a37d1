"""A GPT trained in 40% of its memory: the planner decides what is kept, and what is computed again.

The blocks of the model are measured once; then the same steps are made without and with the plan. The losses are the
same numbers, the memory is not. The text is Python's own documentation, as in `char_gpt.py`.

    python examples/gpt_memory.py
    python examples/gpt_memory.py --budget 0.3 --layers 12 --steps 50 --svg plan.svg
"""

import argparse
import time
from pydoc_data.topics import topics

import torch
from char_gpt import GPT, get_batch, make_optimizer
from torch.utils.checkpoint import plan


def train(model, run, data, args):
    """Losses, the most bytes that a step added to what was held, and the seconds of a step."""
    optimizer = make_optimizer(model, args.lr)
    losses, most, begin = [], 0, time.perf_counter()
    for step in range(args.steps):
        if step == 1:
            begin = time.perf_counter()  # the first step makes the optimizer's state
        x, y = get_batch(data, args.batch_size, args.context)
        optimizer.zero_grad(set_to_none=True)
        torch.cpu.reset_peak_memory_stats()
        before = torch.cpu.memory_allocated()
        _, loss = run(x, y)
        loss.backward()
        most = max(most, torch.cpu.max_memory_allocated() - before)
        optimizer.step()
        losses.append(loss.item())
    return losses, most, (time.perf_counter() - begin) / max(1, args.steps - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=float, default=0.4, help="the part of the memory that a step may hold")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--svg", help="a file for the picture of the plan")
    args = parser.parse_args()

    text = "\n".join(topics.values())
    number = {character: i for i, character in enumerate(sorted(set(text)))}
    data = torch.tensor([number[character] for character in text])

    def model():
        torch.manual_seed(0)
        return GPT(len(number), args.context, args.width, args.layers, args.heads)

    plain, planned = model(), model()
    sample = get_batch(data, args.batch_size, args.context)
    module = plan(planned, sample, args.budget, loss=lambda output: output[1])
    print(module.plan.table())
    if args.svg:
        module.plan.svg(args.svg)

    results = []
    for name, net, run in (("without a plan", plain, plain), ("with a plan", planned, module)):
        torch.manual_seed(1)
        losses, most, seconds = train(net, run, data, args)
        results.append(losses)
        print(f"{name:>15}: {most / 1e6:7.1f} MB, {1000 * seconds:7.1f} ms a step, loss {losses[-1]:.6f}")
    print("the losses are " + ("the same" if results[0] == results[1] else "not the same"))


if __name__ == "__main__":
    main()

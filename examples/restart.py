"""Data parallel training that survives a crash: it goes on from the last checkpoint.

Each process trains on its share of scikit-learn's digits. Every few steps rank 0 writes a checkpoint under another
name, and renames it when it is whole. If a rank dies, torchrun starts all of them again, and they go on from there.

    wengert torchrun --standalone --nproc-per-node 2 --max-restarts 3 examples/restart.py
    wengert torchrun --standalone --nproc-per-node 2 --max-restarts 3 examples/restart.py --kill-at 25

With ``--kill-at N`` the last rank kills itself at step N of the first try. The losses are the same as without.
"""

import argparse
import os
import signal

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def save(path, model, optimizer, step):
    """Write a checkpoint: a crash meanwhile leaves the one before as it was."""
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, path + ".new")
    os.replace(path + ".new", path)


def batches(loader, sampler, begin, steps):
    """The steps from ``begin`` on, each with its batch: the same ones whether or not training was interrupted."""
    step = 0
    while True:
        sampler.set_epoch(step // len(loader))
        for batch in loader:
            step += 1
            if step > steps:
                return
            if step > begin:
                yield step, batch


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--every", type=int, default=10, help="steps between two checkpoints")
    parser.add_argument("--kill-at", type=int, default=0, help="step at which the last rank dies, once")
    parser.add_argument("--checkpoint", default="restart.pt")
    args = parser.parse_args()

    dist.init_process_group("gloo")
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    tries = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
    digits = load_digits()
    data = TensorDataset(torch.tensor(digits.data / 16, dtype=torch.float32), torch.tensor(digits.target))
    sampler = DistributedSampler(data, seed=0)
    loader = DataLoader(data, batch_size=64, sampler=sampler, drop_last=True)

    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    begin = 0
    if tries == 0 and rank == 0 and os.path.exists(args.checkpoint):
        os.remove(args.checkpoint)  # of another training
    dist.barrier()
    if os.path.exists(args.checkpoint):
        saved = torch.load(args.checkpoint)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        begin = saved["step"]
    if rank == 0:
        print(f"try {tries}: from step {begin}", flush=True)

    for step, (x, y) in batches(loader, sampler, begin, args.steps):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == args.kill_at and rank == last and tries == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if step % args.every == 0:
            mean = loss.detach()
            dist.all_reduce(mean)
            if rank == 0:
                save(args.checkpoint, model, optimizer, step)
                print(f"step {step} loss {mean.item() / (last + 1):.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

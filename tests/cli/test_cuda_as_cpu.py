"""``wengert run --cuda=cpu``: scripts that insist on a GPU, written the usual way, run on the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

RUN = [sys.executable, "-W", "error::UserWarning", "-m", "wengert", "run"]


@pytest.fixture
def run(tmp_path):
    def run(source, *options, code=0):
        (tmp_path / "program.py").write_text(textwrap.dedent(source))
        done = subprocess.run([*RUN, *options, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120,
            env={**os.environ, "OMP_NUM_THREADS": "1"})
        assert done.returncode == code, done.stderr
        return done

    return run


def test_a_training_script(run):
    done = run("""
        import torch, torch.nn as nn, torch.nn.functional as F
        import torch.backends.cudnn as cudnn
        from torch.amp import GradScaler, autocast
        from torch.utils.data import DataLoader, TensorDataset

        assert torch.cuda.is_available() and torch.version.cuda and cudnn.is_available(), "needs a GPU"
        cudnn.benchmark = True
        device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
        assert device.type == "cuda" and torch.cuda.device_count() == 1 and torch.cuda.current_device() == 0
        print(device, torch.cuda.get_device_name(0))
        torch.manual_seed(0)
        torch.cuda.manual_seed_all(0)

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 2)

            def forward(self, x):
                assert x.is_cuda and x.device.type == self.a.weight.device.type == "cuda"
                mask = torch.ones(x.size(0), 8, device=x.device)
                return self.b(F.relu(self.a(x)) * mask)

        net = nn.DataParallel(Net()).cuda()
        assert next(net.parameters()).is_cuda
        criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0], device="cuda")).cuda()
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
        scaler = GradScaler("cuda")
        data = TensorDataset(torch.randn(32, 4), torch.randint(0, 2, (32,)))
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for x, y in DataLoader(data, batch_size=8, pin_memory=True, num_workers=1):
            x, y = x.cuda(non_blocking=True), y.to(device, non_blocking=True)
            with autocast("cuda"):
                loss = criterion(net(x), y)
            with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
                net(x)
            optimizer.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        end.record()
        torch.cuda.synchronize()
        assert begin.elapsed_time(end) > 0 and loss.dtype == torch.float32
        torch.save(net.state_dict(), "net.pt")
        for where in ("cuda", device, {"cuda:1": "cuda:0"}, lambda storage, location: storage.cuda(0)):
            net.load_state_dict(torch.load("net.pt", map_location=where))
        torch.compile(net)(x)
        print(loss.detach().cpu().numpy().ndim, loss.item() > 0)
    """, "--cuda=cpu")
    assert done.stdout == "cuda:0 CPU (wengert run --cuda=cpu)\n0 True\n"
    assert done.stderr == "wengert: --cuda=cpu: what the program puts on CUDA devices is on the CPU\n"


def test_where_tensors_say_that_they_are(run):
    run("""
        import torch
        x = torch.arange(3.0, device="cuda")
        assert x.device == torch.device("cuda:0") == torch.device("cuda", 0) and x.get_device() == 0 and not x.is_cpu
        for y in (x.to("cuda"), x.cuda(0), x.to(0), x.to(torch.float64), torch.zeros_like(x), x + 1):
            assert y.is_cuda
        assert x.cuda() is x and x.to("cuda:0") is x
        c = x.cpu()
        assert c.device.type == "cpu" and c.is_cpu and not c.is_cuda and c.cpu() is c and c.to("cpu") is c
        assert c.data_ptr() != x.data_ptr() and c.to(torch.float64).is_cpu
        x += 1
        assert c.tolist() == [0, 1, 2] and c.cuda().is_cuda and c.to(x).is_cuda and x.to(c).is_cpu
        w = torch.ones(2, device="cuda", requires_grad=True)
        assert w.to("cuda").is_leaf and not w.cpu().is_leaf
        w.cpu().sum().backward()
        assert w.grad.tolist() == [1, 1]
        assert x.type() == "torch.cuda.FloatTensor" and c.type() == "torch.FloatTensor"
        assert isinstance(x, torch.cuda.FloatTensor) and torch.cuda.FloatTensor(2).shape == (2,)
        assert x.type("torch.cuda.DoubleTensor").dtype == torch.float64
        assert torch.ones(2, device="meta").device.type == "meta" and torch.ones(2, device="cuda:3").is_cuda
        x.set_(torch.ones(2).untyped_storage())
        x.data = c.data
        del w.grad
        model = torch.nn.Linear(2, 2, device="cuda")
        assert model.cpu().weight.is_cpu and model.cuda().weight.is_cuda
    """, "--cuda=cpu")


def test_the_module_cuda(run):
    done = run("""
        import torch
        from torch.utils.checkpoint import checkpoint
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream), torch.cuda.device(0):
            stream.wait_stream(torch.cuda.current_stream())
        torch.cuda.set_device("cuda:0")
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        x = torch.ones(1000, device="cuda")
        print(torch.cuda.memory_allocated() >= 0, torch.cuda.max_memory_allocated() >= 0)
        print(torch.cuda.get_device_capability(), torch.cuda.is_bf16_supported())
        print(torch.cuda.get_device_properties(0).total_memory > 0)
        state = torch.cuda.get_rng_state()
        a = torch.rand(2, device="cuda")
        torch.cuda.set_rng_state(state)
        print(torch.equal(a, torch.rand(2, device="cuda")), torch.cuda.mem_get_info()[1] > 0)
        print(torch.randn(1, generator=torch.Generator(device="cuda"), device="cuda").shape)
        with torch.cuda.nvtx.range("x"):
            torch.cuda.nvtx.range_push("y")
        lengths = torch.tensor([3, 2])
        for given in (lengths, lengths.cuda().cpu()):
            packed = torch.nn.utils.rnn.pack_padded_sequence(torch.randn(2, 3, 4).cuda(), given, batch_first=True)
            torch.nn.LSTM(4, 2).cuda()(packed)
        model = torch.nn.Linear(2, 1).cuda()
        checkpoint(model, torch.ones(3, 2, device="cuda"), use_reentrant=False).sum().backward()
        print(model.weight.grad.is_cuda, torch.accelerator.current_accelerator())
        torch.set_default_device("cuda")
        print(torch.get_default_device(), torch.ones(2).is_cuda)
    """, "--cuda", "cpu")
    assert done.stdout.splitlines() == ["True True", "(8, 0) True", "True", "True True", "torch.Size([1])",
        "True cuda", "cuda True"]


def test_in_spawned_processes_and_with_explain(run):
    done = run("""
        import multiprocessing
        import torch

        def work(queue):
            queue.put((torch.cuda.is_available(), torch.ones(1).cuda().is_cuda))

        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            queue = context.Queue()
            context.Process(target=work, args=(queue,)).start()
            print(queue.get())
            model = torch.nn.Linear(2, 1).cuda()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(3):
                model(torch.ones(1, 2).cuda()).sum().backward()
                optimizer.step()
    """, "--cuda=cpu", "--explain", "--fail-on=error", code=1)
    assert done.stdout == "(True, True)\n" and "program.py:17: error" in done.stderr


def test_without_the_option_nothing_changes(run):
    done = run("import torch\nprint(torch.cuda.is_available(), torch.ones(1).device)\ntorch.ones(1).cuda()\n", code=1)
    assert done.stdout == "False cpu\n" and "Torch not compiled with CUDA enabled" in done.stderr

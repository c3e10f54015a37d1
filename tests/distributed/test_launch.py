"""How processes are started, and find each other."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from .conftest import PROGRAMS, execute


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_processes_that_a_program_starts(alone):
    ended = alone("starting.py", 20000 + free_port() % 10000)
    assert ended.code == 0, ended
    assert ended.out.count("of 2 is done") == 6 and ended.out.count("of 3 is done") == 6 and "told" in ended.out, ended


@pytest.mark.parametrize("count", [3, 4])
def test_worlds_of_several_sizes(alone, count):
    ended = alone("growing.py", count)
    assert ended.code == 0, ended
    assert sorted(ended.out.splitlines()) == [f"rank {r} of {count} is done" for r in range(count)], ended


def test_an_error_in_a_world_that_has_grown(alone):
    ended = alone("growing.py", 3, "raise")
    assert ended.code == 1 and "KeyError: 'on purpose'" in ended.err, ended


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_lines_of_ranks_stay_whole(tmp_path, unbuffered):
    program = tmp_path / "lines.py"
    program.write_text("import os\nfor i in range(300):\n    print('rank', os.environ['RANK'], 'line', i)\n")
    ended = execute([sys.executable, "-m", "wengert", "torchrun", "--standalone", "--nproc-per-node=3", program],
        {"PYTHONUNBUFFERED": unbuffered})
    assert sorted(ended.out.splitlines()) == sorted(f"rank {r} line {i}" for r in range(3) for i in range(300))


@pytest.mark.parametrize("found", ["static", "c10d"])
def test_two_nodes(found):
    port = free_port()
    where = {"static": [f"--master_port={port}", "--master-addr=127.0.0.1"],
        "c10d": ["--rdzv-backend=c10d", f"--rdzv_endpoint=localhost:{port}", "--rdzv-id=7"]}[found]
    command = [sys.executable, "-m", "wengert", "torchrun", "--nnodes=2", "--nproc-per-node=2", *where]
    nodes = [subprocess.Popen([*command, f"--node-rank={i}", PROGRAMS / "again.py"], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True) for i in range(2)]
    outs = [node.communicate(timeout=300)[0] for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], outs
    assert sorted("".join(outs).splitlines()) == [f"rank {r} of 4 is done" for r in range(4)]


def test_what_workers_are_told(torchrun, tmp_path):
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK",
        "ROLE_WORLD_SIZE", "ROLE_NAME", "OMP_NUM_THREADS", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS",
        "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RUN_ID", "MASTER_ADDR", "TORCHELASTIC_SIGNALS_TO_HANDLE")
    program = tmp_path / "told.py"
    program.write_text(f"import os\nprint(*[os.environ[n] for n in {names}], int(os.environ['MASTER_PORT']) > 0, "
        "flush=True)\n")
    command = [sys.executable, "-m", "wengert", "torchrun", "--standalone", "--nproc_per_node=2", "--role", "trainer",
        "--max_restarts", "3", "--rdzv_id", "job"]
    ended = execute([*command, "--redirects", "1", "--log-dir", tmp_path / "logs", program])
    assert ended.code == 0 and ended.out == "", ended
    logs = [(tmp_path / "logs" / "attempt_0" / str(i) / "stdout.log").read_text().split() for i in range(2)]
    assert logs == [[str(i), "2", str(i), "2", "0", "1", str(i), "2", "trainer", "1", "0", "3", "True", "job",
        "localhost", "SIGTERM,SIGINT,SIGHUP,SIGQUIT", "True"] for i in range(2)]
    ended = execute([*command, "--tee", "1", program])
    assert sorted(line.partition(":")[0] for line in ended.out.splitlines()) == ["[default0]", "[default1]"], ended


def test_the_older_names_of_the_launcher():
    for module, more in (("torch.distributed.run", []), ("torch.distributed.launch", ["--use_env"])):
        ended = execute([sys.executable, "-m", "wengert", "run", "-m", module, *more, "--standalone",
            "--nproc_per_node=2", PROGRAMS / "again.py"])
        assert ended.code == 0 and ended.out.count("is done") == 2, ended


def test_the_oldest_launcher_gives_the_local_rank_as_an_argument(tmp_path):
    program = tmp_path / "told.py"
    program.write_text("import sys\nprint(*sys.argv[1:])\n")
    command = [sys.executable, "-m", "wengert", "run", "-m", "torch.distributed.launch", "--nproc-per-node=2",
        f"--master_port={free_port()}"]
    for more, first in ([], ["--local-rank=0", "--local-rank=1"]), (["--use_env"], ["", ""]):
        ended = execute([*command, *more, program, "--use-env", "x"])
        assert sorted(ended.out.splitlines()) == [f"{word} --use-env x".strip() for word in first], ended
    ended = execute([*command, "--no-python", "echo"])
    assert ended.code != 0 and "you must also set the '--use-env' flag" in ended.err, ended


def test_functions_that_a_program_launches(alone):
    ended = alone("launched.py")
    assert ended.code == 0 and ended.out == "done\n", ended


def test_output_of_some_ranks(tmp_path):
    program = tmp_path / "told.py"
    program.write_text("import sys\nprint('rank', *sys.argv[1:])\n")
    for more, said in ([], "rank 1\n"), (["--tee=1"], "[default1]:rank 1\n"):
        ended = execute([sys.executable, "-m", "wengert", "torchrun", "--standalone", "--nproc-per-node=3",
            "--local-ranks-filter=1", *more, program, "${local_rank}"])
        assert ended.code == 0 and ended.out == said, ended


def test_a_gpu_is_missed(torchrun):
    ended = torchrun("again.py", "gpu")
    assert ended.code != 0 and "there is no GPU" in ended.err, ended


def test_one_process_without_a_launcher(tmp_path):
    program = tmp_path / "one.py"
    program.write_text("""
from datetime import timedelta
import torch, torch.distributed as dist
for store in (dist.HashStore(), dist.HashStore()):
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    x = torch.ones(2)
    dist.all_reduce(x)
    dist.destroy_process_group()
for backend in ("nccl", "cuda:nccl", "nothing"):
    try:
        dist.init_process_group(backend, store=store, rank=0, world_size=1)
    except (RuntimeError, AssertionError) as error:
        print(error)
try:
    dist.init_process_group("gloo", store=store, rank=0, world_size=2, timeout=timedelta(seconds=1))
except dist.DistStoreError as error:
    print(error)
print(x.tolist())
""")
    ended = execute([sys.executable, "-m", "wengert", "run", program])
    lines = ended.out.splitlines()
    assert ended.code == 0 and lines[-1] == "[1.0, 1.0]", ended
    assert "there is no GPU" in lines[0] and "there is no GPU" in lines[1] and "'gloo' and 'mpi' are here" in lines[2]
    assert "timeout" in lines[3] and "origin/1" in lines[3], lines

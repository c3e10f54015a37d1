"""``wengert run --explain``: the program's output, exit code and traceback stay its own; the report comes after."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

PYTHON = [sys.executable]
EXPLAIN = [sys.executable, "-m", "wengert", "run", "--explain"]
HEAD = "\nwengert: "
TRAINING = """
    import sys
    import torch
    from torch import nn

    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)


    def step(i):
        optimizer.zero_grad()
        net(torch.ones(2, 4)).pow(2).mean().backward()
        optimizer.step()
        print(i)

"""
STALE = TRAINING.replace("        optimizer.zero_grad()\n", "") + "\n    for i in range(3):\n        step(i)\n"


def call(command, *args, cwd, **environment):
    known = {k: v for k, v in os.environ.items() if k not in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE", "FORCE_COLOR")}
    return subprocess.run([*command, *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=120,
        env={**known, "OMP_NUM_THREADS": "1", **environment})


@pytest.fixture
def write(tmp_path):
    def write(name, source):
        path = tmp_path / name
        path.write_text(textwrap.dedent(source))
        return path.name

    return write


@pytest.mark.parametrize(("end", "code", "shown"), [
    ("", 0, ""),
    ("sys.exit(7)", 7, ""),
    ("sys.exit('bye')", 1, "bye\n"),
    ("{}[3]", 1, "KeyError: 3\n"),
    ("import json; json.loads('{')", 1, "JSONDecodeError"),
])
def test_how_a_program_ends(tmp_path, write, end, code, shown):
    program = write("program.py", TRAINING + f"    step(0)\n    {end}\n")
    done = call(EXPLAIN, program, cwd=tmp_path)
    assert done.returncode == code and done.stdout == "0\n"
    before, _, report = done.stderr.rpartition(HEAD)
    assert report == "no findings in 1 backward pass and 1 optimizer step\n"
    plain = call([sys.executable, "-m", "wengert", "run"], program, cwd=tmp_path)
    assert (plain.returncode, plain.stdout, plain.stderr) == (code, done.stdout, before) and shown in before
    assert "explained.py" not in before and "run.py" not in before


def test_an_exception_has_its_diagnosis_in_a_note(tmp_path, write):
    program = write("program.py", TRAINING + "    net(torch.ones(2, 4)).backward()\n")
    done = call(EXPLAIN, "--json", "out.json", program, cwd=tmp_path)
    assert done.returncode == 1
    trace, _, report = done.stderr.partition(f"\n{HEAD}")
    assert "grad can be implicitly created only for scalar outputs" in trace and "[non-scalar-backward]" in trace
    assert "program.py:16: error:" in report and "16 | net(torch.ones(2, 4)).backward()" in report
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["summary"]["ended"] == "exception" and [f["line"] for f in found["findings"]] == [16]


def test_steps(tmp_path, write):
    program = write("program.py", TRAINING + "    for i in range(100):\n        try:\n            step(i)\n"
        "        except Exception:\n            pass\n    print('not reached')\n")
    done = call([*EXPLAIN, "--steps=3", "--json=-"], program, cwd=tmp_path)
    text, _, found = done.stdout.partition("{")
    assert done.returncode == 0 and text == "0\n1\n"
    summary = json.loads("{" + found)["summary"]
    assert (summary["steps"], summary["ended"]) == (3, "steps")


def test_steps_in_a_thread(tmp_path, write):
    program = write("program.py", TRAINING + "    import threading\n    def run():\n        for i in range(100):\n"
        "            step(i)\n    thread = threading.Thread(target=run)\n    thread.start()\n")
    done = call([*EXPLAIN, "--steps", "2"], program, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "0\n"
    assert done.stderr == f"{HEAD}no findings in 2 backward passes and 2 optimizer steps\n"


def test_threads_are_waited_for(tmp_path, write):
    program = write("program.py", TRAINING + "    import threading, time\n    def run():\n        time.sleep(0.5)\n"
        "        step(0)\n    threading.Thread(target=run).start()\n")
    done = call(EXPLAIN, program, cwd=tmp_path)
    assert "1 optimizer step\n" in done.stderr and done.stdout == "0\n"


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interrupt(tmp_path, write):
    program = write("program.py", STALE + "    import time\n    print('ready', flush=True)\n    time.sleep(100)\n")
    process = subprocess.Popen([*EXPLAIN, "--json", "out.json", program], cwd=tmp_path, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    while "ready" not in process.stdout.readline():
        pass
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    trace, _, report = errors.partition(HEAD)
    assert trace.endswith("KeyboardInterrupt\n") and "[stale-gradient]" in report and errors.count("Traceback") == 1
    assert json.loads((tmp_path / "out.json").read_text())["summary"]["ended"] == "interrupt"


def test_fail_on(tmp_path, write):
    program = write("program.py", STALE)
    assert call(EXPLAIN, program, cwd=tmp_path).returncode == 0
    for level in ("error", "warning"):
        assert call(EXPLAIN, "--fail-on", level, program, cwd=tmp_path).returncode == 1
    healthy = write("healthy.py", TRAINING + "    step(1)\n")
    assert call(EXPLAIN, "--fail-on", "info", healthy, cwd=tmp_path).returncode == 0
    other = write("other.py", STALE + "    sys.exit(3)\n")
    assert call(EXPLAIN, "--fail-on", "error", other, cwd=tmp_path).returncode == 3


def test_options_belong_to_the_program_after_its_name(tmp_path, write):
    program = write("program.py", "import sys\nprint(sys.argv[1:])\n")
    done = call(EXPLAIN, program, "--steps", "3", "--explain", cwd=tmp_path)
    assert done.stdout == "['--steps', '3', '--explain']\n" and "there was no backward()" in done.stderr


def test_modules_and_folders(tmp_path, write):
    write("program.py", STALE + "    import os\n    os.mkdir('sub')\n    os.chdir('sub')\n")
    done = call(EXPLAIN, "--json", "out.json", "-m", "program", cwd=tmp_path)
    found = json.loads((tmp_path / "out.json").read_text())["findings"]
    assert [(f["file"], f["line"]) for f in found] == [("program.py", 12)] and "program.py:12: error" in done.stderr


@pytest.mark.parametrize(("args", "message"), [
    (["--steps", "0"], "--steps needs a number of steps, not '0'"),
    (["--steps"], "--steps needs a value"),
    (["--json", "no/such/folder/x.json"], "--json: there is no folder"),
    (["--sarif", "."], "--sarif needs the name of a file, not '.'"),
    (["--fail-on", "errors"], "--fail-on needs one of error, warning and info"),
    (["--explain=1"], "--explain takes no value"),
    (["--explian"], "no option '--explian'"),
    (["--cuda", "0"], "--cuda takes cpu"),
])
def test_wrong_options(tmp_path, write, args, message):
    done = call([sys.executable, "-m", "wengert", "run"], *args, write("program.py", "print(1)"), cwd=tmp_path)
    if args == ["--steps"]:
        message = "--steps needs a number of steps, not 'program.py'"
    assert done.returncode == 2 and message in done.stderr and not done.stdout


def test_children_do_not_report(tmp_path, write):
    program = write("program.py", TRAINING + """
    import os
    import multiprocessing
    from torch.utils.data import DataLoader, TensorDataset

    if __name__ == "__main__":
        for (x,) in DataLoader(TensorDataset(torch.ones(8, 4)), batch_size=4, num_workers=2):
            step(len(x))
        for kind in ("fork", "spawn"):
            child = multiprocessing.get_context(kind).Process(target=step, args=(kind,))
            child.start()
            child.join()
            assert child.exitcode == 0
        if os.fork() == 0:
            sys.exit(5)
        assert os.wait()[1] >> 8 == 5
""")
    done = call(EXPLAIN, program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["4", "4", "fork", "spawn"]
    assert done.stderr.count(HEAD) == 1 and "in 2 backward passes and 2 optimizer steps" in done.stderr


def test_programs_that_close_their_streams(tmp_path, write):
    program = write("program.py", STALE + "    sys.stderr = None\n    sys.stdout.close()\n")
    done = call(EXPLAIN, "--json", "out.json", program, cwd=tmp_path)
    assert done.returncode == 0 and "[stale-gradient]" in done.stderr and (tmp_path / "out.json").exists()


def test_a_file_that_cannot_be_written(tmp_path, write):
    program = write("program.py", STALE + "    import os\n    os.mkdir('out.json')\n")
    done = call(EXPLAIN, "--json", "out.json", program, cwd=tmp_path)
    assert done.returncode == 1 and "[stale-gradient]" in done.stderr
    assert done.stderr.rstrip().splitlines()[-1].startswith("wengert: --json ")


def test_annotations(tmp_path, write):
    program = write("program.py", STALE)
    line = "::error file=program.py,line=12,title=wengert stale-gradient::"
    assert line not in call(EXPLAIN, program, cwd=tmp_path).stderr
    assert line in call(EXPLAIN, "--github", program, cwd=tmp_path).stderr
    below = line.replace("program.py", f"{tmp_path.name}/program.py")
    assert below in call(EXPLAIN, program, cwd=tmp_path, GITHUB_ACTIONS="true",
        GITHUB_WORKSPACE=str(tmp_path.parent)).stderr


@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals")
@pytest.mark.parametrize("colour", [True, False])
def test_on_a_terminal(tmp_path, write, colour):
    if colour:
        pytest.importorskip("rich")
    import pty

    program = write("program.py", STALE)
    main, end = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS")}
    environment.update(OMP_NUM_THREADS="1", TERM="xterm-256color", COLUMNS="70")
    if not colour:
        environment["NO_COLOR"] = "1"
    with subprocess.Popen([*EXPLAIN, program], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=end,
            env=environment) as process:
        os.close(end)
        text = b""
        try:
            while part := os.read(main, 4096):
                text += part
        except OSError:
            pass
        assert process.wait(60) == 0
    os.close(main)
    shown = text.decode()
    assert ("\x1b[" in shown) == colour and "optimizer.step()" in shown and "stale-gradient" in shown


def test_a_program_that_watches_itself(tmp_path, write):
    training = TRAINING.replace("        optimizer.zero_grad()\n", "")
    program = write("program.py", f"""    from wengert import diagnose
{training}
    with diagnose.watch(net) as report:
        for i in range(3):
            step(i)
    print(len(report))
""")
    done = call(EXPLAIN, program, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.split()[-1] == "1" and done.stderr.count("[stale-gradient]") == 1
    assert call([sys.executable, "-m", "wengert", "run"], program, cwd=tmp_path).stdout == done.stdout

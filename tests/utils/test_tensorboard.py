"""``utils.tensorboard``: what a ``SummaryWriter`` writes can be read again; without tensorboardX it says what to do."""

from __future__ import annotations

import glob
import importlib.util
import subprocess
import sys

import pytest

import wengert as torch


def events(folder):
    """The values that a folder's files hold, by tag."""
    from tensorboardX.proto.event_pb2 import Event

    found = {}
    for name in glob.glob(f"{folder}/**/events*", recursive=True):
        with open(name, "rb") as file:
            while header := file.read(12):
                event = Event.FromString(file.read(int.from_bytes(header[:8], "little")))
                file.read(4)
                for value in event.summary.value:
                    found.setdefault(value.tag, []).append((event.step, value))
    return found


def test_tensors_are_written(tmp_path):
    pytest.importorskip("tensorboardX")
    from wengert.utils.tensorboard import SummaryWriter
    from wengert.utils.tensorboard.summary import hparams

    parameter = torch.nn.Parameter(torch.tensor([1.0, 3.0]))
    with SummaryWriter(log_dir=str(tmp_path), flush_secs=1) as writer:
        assert writer.log_dir == str(tmp_path)
        for step in range(2):
            writer.add_scalar("loss", (parameter.sum() * step), step, new_style=True)
        writer.add_scalar("half", torch.tensor(0.5, dtype=torch.bfloat16), 7)
        writer.add_scalars("both", {"a": torch.tensor(1.0), "b": 2}, 3)
        writer.add_histogram("weights", parameter, 1)
        if importlib.util.find_spec("PIL"):
            writer.add_image("picture", torch.rand(3, 4, 5), 1)
            writer.add_images("pictures", torch.rand(2, 3, 4, 5), 1)
        writer.add_text("note", "text", 1)
        writer.add_pr_curve("curve", torch.tensor([1, 0]), torch.tensor([0.9, 0.2]), 1)
        writer.add_hparams({"lr": 0.1}, {"hparam/loss": torch.tensor(2.0)}, run_name="run")
        with pytest.raises(NotImplementedError, match="programs are not traced"):
            writer.add_graph(torch.nn.Linear(1, 1), torch.ones(1))
    found = events(tmp_path)
    assert [(step, value.simple_value) for step, value in found["loss"]] == [(0, 0.0), (1, 4.0)]
    assert found["half"][0][1].simple_value == 0.5 and found["half"][0][0] == 7
    assert found["weights"][0][1].histo.sum == 4 and found["weights"][0][1].histo.num == 2
    if importlib.util.find_spec("PIL"):
        assert (found["picture"][0][1].image.width, found["picture"][0][1].image.height) == (5, 4)
    assert found["hparam/loss"][0][1].simple_value == 2
    assert {"both/a", "both/b"} <= {tag.replace("both_", "") for tag in found} | set(found) or "both" in found
    assert len(hparams({"lr": 0.1}, {"loss": 0.0})) == 3


def test_without_tensorboardx():
    code = "import sys; sys.modules['tensorboardX'] = None\nfrom torch.utils.tensorboard import SummaryWriter\n"
    done = subprocess.run([sys.executable, "-m", "wengert", "run", "-"], input=code, capture_output=True, text=True,
        timeout=60)
    assert done.returncode == 1
    assert "ImportError: torch.utils.tensorboard writes its files with the package tensorboardX" in done.stderr
    assert "pip install tensorboardX" in done.stderr

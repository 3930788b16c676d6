"""What docs/files.md says of files is enough for a program of one's own: docs/examples/object_errors.py."""

import json
import os
import subprocess
import sys
import types
from importlib import util
from pathlib import Path

import pytest
from images import read_png

PROGRAM = Path(__file__).parents[2] / "docs/examples/object_errors.py"


def interlacer(*arguments):
    subprocess.run([os.environ["TEST_INTERLACER"], *arguments, "--quiet"], check=True, capture_output=True)


def test_object_errors_are_those_of_the_scores(tmp_path, monkeypatch):
    pillow = types.ModuleType("PIL")  # the example reads pictures by Pillow, which no test machine has
    pillow.Image = types.SimpleNamespace(open=read_png)
    monkeypatch.setitem(sys.modules, "PIL", pillow)
    spec = util.spec_from_file_location("object_errors", PROGRAM)
    program = util.module_from_spec(spec)
    spec.loader.exec_module(program)

    interlacer("simulate", "--task", "push_block", "--split", "test", "--seed", "424246", "--episodes", "1", "--steps",
               "12", "--width", "64", "--height", "64", "--output", str(tmp_path / "sim"))
    episode = next(path for path in (tmp_path / "sim").iterdir() if path.is_dir())
    prediction = tmp_path / "prediction"
    interlacer("predict", str(episode), "--model", os.environ["TEST_CHECKPOINT"], "--start-step", "4", "--steps", "4",
               "--output", str(prediction))
    errors = program.object_errors_m(episode, prediction)

    scores = json.loads((prediction / "prediction.json").read_text())["scores"]
    for row, subject in enumerate(("model", "copy_last")):
        for step in range(1, 5):
            # Each camera's score is of the particles of its own pixels.
            of_views = [score["value"] for score in scores if score["metric"] == "l2_m@object:block"
                        and (score["subject"], score["step"]) == (subject, step)]
            assert len(of_views) == 2
            assert min(of_views) - 5e-4 < errors["block"][row][step - 1] < max(of_views) + 5e-4, (subject, step)
    predicted, still = errors["block"]
    assert still[3] == pytest.approx(0.200, abs=2e-3) and predicted[3] < still[3] / 2
    assert max(errors["distractor_1"][1]) < 1e-6, "nothing touches it"

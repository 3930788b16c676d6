"""recipe.py --work=DIR --interlacer=FILE --server=FILE --checkpoint=DIR

The recipe of docs/real-data.md at tiny size: three bags of one robot are made, imported, validated; two train a checkpoint
for two updates by the page's settings, the third scores it; a server loads it and predicts.
"""

import argparse
import json
import re
import shutil
import subprocess
import time
from pathlib import Path

parser = argparse.ArgumentParser(usage=__doc__)
for name in ("work", "interlacer", "server", "checkpoint"):
    parser.add_argument("--" + name, required=True, type=Path)
options = parser.parse_args()
ROOT = Path(__file__).resolve().parents[2]
SETTINGS = "checkpoints/small/transfer/recordings.json"
PAGE = (ROOT / "docs/real-data.md").read_text()
assert "train --config " + SETTINGS in PAGE
CONFIG = json.loads((ROOT / SETTINGS).read_text())
assert CONFIG["training"]["rollout_steps"][0]["value"] > 0, "the first update predicts steps"
BOX = json.loads((options.checkpoint / "config.json").read_text())["data"]["workspace"]
PAGE_BOX = [float(x) for x in re.search(r"--workspace ([-\d.,]+)", PAGE)[1].split(",")]
for axis in range(3):
    side_m = PAGE_BOX[axis + 3] - PAGE_BOX[axis]
    assert abs(side_m - (BOX["max_m"][axis] - BOX["min_m"][axis])) < 1e-9, "the page's box is not of the model's size"
CONFIG["training"] |= {"step_count": 2, "particle_count": [{"from_step": 0, "value": 1024}], "rays_per_step": 32,
                       "checkpoint_every": 2, "validation_every": 2, "validation_sample_count": 1}


def interlacer(*arguments):
    result = subprocess.run([options.interlacer, *map(str, arguments), "--json", "--progress", "never"], check=True,
                            capture_output=True, text=True)
    return json.loads(result.stdout)


def import_bag(source):
    """The bag of a simulated episode, as an episode once more."""
    bag, episode = options.work / (source.name + ".mcap"), options.work / "real" / source.name
    interlacer("export", "mcap", source, "-o", bag)
    report = interlacer("import", "ros2", bag, "-o", episode, "--world-frame", "world", "--robot", source / "robot",
                        "--joints", "/joint_states", "--commands", "/joint_commands", "--workspace",
                        ",".join(map(str, BOX["min_m"] + BOX["max_m"])))
    assert report["frame_count"] == 16, report
    return episode


def widened(episode):
    """The same recording in a box of twice the width and depth."""
    wide = options.work / "wide"
    shutil.copytree(episode, wide, dirs_exist_ok=True)
    manifest = json.loads((wide / "manifest.json").read_text())
    for corner in manifest["workspace_m"].values():
        corner[:2] = [2 * x for x in corner[:2]]
    (wide / "manifest.json").write_text(json.dumps(manifest))
    return wide


def findings_of(episode, *place):
    """Reasons of what a prediction of it reports of its scene."""
    out = options.work / "prediction"
    interlacer("predict", episode, *place, "--start-step", 3, "--steps", 2, "-o", out, "--force")
    return [finding["reason"] for finding in json.loads((out / "prediction.json").read_text())["scene_report"]["findings"]]


def predict_by_server(episode):
    log = options.work / "server.log"
    with open(log, "w") as file:
        server = subprocess.Popen([options.server, "--model", f"mine={options.work / 'run/checkpoint'}", "--address",
                                   "127.0.0.1:0", "--metrics-address", "", "--log-format", "json"], stdout=file, stderr=file)
    try:
        port = None
        for _ in range(600):
            port = re.search(r'"message":"listening".*"port":"(\d+)"', log.read_text())
            if port or server.poll() is not None:
                break
            time.sleep(0.1)
        assert port, log.read_text()
        address = "127.0.0.1:" + port[1]
        interlacer("probe", address, "--wait", "60s")
        for place in (["--server", address], ["--model", options.work / "run/checkpoint"]):
            assert "WORKSPACE_NOT_OF_TRAINING" not in findings_of(episode, *place), place
            assert "WORKSPACE_NOT_OF_TRAINING" in findings_of(widened(episode), *place), place
    finally:
        server.terminate()
        server.wait()


shutil.rmtree(options.work, ignore_errors=True)
(options.work / "real").mkdir(parents=True)
interlacer("simulate", "--task", "push_block", "--split", "train", "--seed", 7, "--episodes", 3, "--steps", 8, "--width", 64,
           "--height", 64, "--arms", 1, "-o", options.work / "recorded")
first, second, last = [import_bag(source) for source in sorted((options.work / "recorded").glob("push_block*"))]
*reports, whole = interlacer("validate", options.work / "real")
for report in reports:
    assert report["ok"] and report["step_count"] == 8, report
assert whole["dataset_episode_count"] == 3 and len(whole["joints"]) == len({joint["column"] for joint in whole["joints"]}), whole
(options.work / "real.json").write_text(json.dumps(CONFIG))
interlacer("train", "--config", options.work / "real.json", "--init", options.checkpoint, "--data", first, "--data", second,
           "-o", options.work / "run")
interlacer("evaluate", last, "--model", options.work / "run/checkpoint", "--subjects", "model,kinematic,copy_last", "--steps", 2,
           "-o", options.work / "scores")
results = json.loads((options.work / "scores/results.json").read_text())
assert "ssim" in json.dumps(results), "scores of pictures"
predict_by_server(last)
print("three bags imported, two trained on, one scored and predicted by a server")

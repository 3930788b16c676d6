"""What the package's README shows runs as it stands there."""

import re
from pathlib import Path

from images import table
from interlacer_client import joint_names

README = Path(__file__).parents[2] / "python/README.md"


def test_documents_install_nothing_into_the_system():
    """Debian 12 refuses that (externally-managed-environment)."""
    root = README.parents[1]
    seen = 0
    for path in (root / "README.md", README, root / "docs/install.md", root / "docs/examples/predict.py"):
        for line in path.read_text().splitlines():
            if "pip install ./python" in line:
                assert ".venv/bin/pip install" in line, f"{path}: {line}"
                seen += 1
    assert seen == 2


def test_the_readme_runs(address, model, episode, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rgb, depth_mm, camera = table()
    names = {"address": address, "rgb": rgb, "depth_mm": depth_mm, "width": camera.width_px, "height": camera.height_px,
             "intrinsics": camera.intrinsics, "world_from_camera": camera.world_from_camera, "start": episode.states[0],
             "joints": dict(zip(joint_names(model), episode.states[0]))}
    said = []
    for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.S):
        exec(block, names)
        said.append(capsys.readouterr().out)
    assert len(said) == 4
    assert [line.split()[0] for line in said[0].splitlines()] == ["1", "2", "3"]
    assert sorted(line.split()[0] for line in said[1].splitlines()) == ["0", "1", "2"]
    assert "KeepStill" in said[2] and "(3, 16)" in said[2]
    assert said[3].startswith(("FRESH ", "STALE ")) and "PredictRolloutResponse" in said[3]
    assert "INVALID_ARGUMENT ACTION_OUT_OF_RANGE actions" in said[3]

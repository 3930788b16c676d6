"""The notebook of docs/examples runs from its first cell to its last; its pictures are of what it says."""

import ast
import contextlib
import io
import json
import os
from pathlib import Path

import numpy as np

NOTEBOOK = Path(__file__).parents[2] / "docs/examples/plan_a_push.ipynb"


def run_cell(source, names):
    """As a notebook does: what the cell prints, and its last expression."""
    body = ast.parse(source).body
    last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) else None
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(ast.Module(body, []), str(NOTEBOOK), "exec"), names)
        shown = eval(compile(last, str(NOTEBOOK), "eval"), names) if last else None
    return said.getvalue(), shown


def test_the_notebook_plans_a_push(address, tmp_path, monkeypatch):
    monkeypatch.setenv("INTERLACER_ADDRESS", address)
    monkeypatch.setenv("INTERLACER", os.environ["TEST_INTERLACER"])
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    names, said, pictures = {}, [], []
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        text, shown = run_cell("".join(cell["source"]), names)
        said.append(text)
        if hasattr(shown, "_repr_png_"):
            pictures.append(shown)
    for i, picture in enumerate(pictures):
        data = picture._repr_png_()
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        Path(os.environ.get("NOTEBOOK_PICTURES", tmp_path), f"picture_{i}.png").write_bytes(data)
    pushed, rest = pictures
    # Four pictures side by side; at rest the last is the first, but for what drifts by millimetres; pushed it is not.
    height, width = rest.rgb.shape[0], rest.rgb.shape[1] // 4
    at_rest, by_push = ((p.rgb[:, :width] != p.rgb[:, -width:]).any(axis=2).sum() for p in pictures[::-1])
    drift_m = np.linalg.norm(names["rest"].positions_m[-1] - names["rest"].positions_m[0], axis=1)
    assert drift_m.max() < 0.005
    assert at_rest <= 0.0005 * width * height
    assert (pushed.rgb[:, :width] == rest.rgb[:, :width]).all()
    assert by_push > 100
    # The plan is what the search is for: the block ends nearer to its goal than at rest.
    points = [names[name].positions_m[-1][names["block"].contains(names[name].positions_m[0])].mean(axis=0)
              for name in ("pushed", "rest")]
    far = [np.linalg.norm(point - np.array(names["push"].target_m)) for point in points]
    assert far[0] < far[1] - 0.01, far
    assert "cm from its goal" in said[-1] and "at rest" in said[-1]

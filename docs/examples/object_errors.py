"""How far predicted objects are from the truth of a simulated episode, in centimetres, from files alone.

    interlacer predict EPISODE --start-step 4 --steps 8 -o PREDICTION
    python3 object_errors.py EPISODE PREDICTION

docs/files.md says what the files hold. numpy and Pillow are all that it needs.
"""

import json
import sys
from pathlib import Path

import numpy as np
from PIL import Image


def rigid(translation_m, rotation_xyzw):
    """4x4 matrix of a pose; quaternions are x, y, z, w."""
    x, y, z, w = rotation_xyzw / np.linalg.norm(rotation_xyzw)
    matrix = np.eye(4)
    matrix[:3, :3] = [[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                      [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                      [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]]
    matrix[:3, 3] = translation_m
    return matrix


def moved_by(pose, points):
    return points @ pose[:3, :3].T + pose[:3, 3]


def labels_of(episode, manifest, step, points):
    """The mask label of each particle by the camera that measured its place, -1 where none did."""
    labels, error_m = np.full(len(points), -1), np.full(len(points), 0.01)
    for camera in manifest["cameras"]:
        pose = {key: np.array(value) for key, value in camera["world_from_camera"].items()}
        x, y, z = moved_by(np.linalg.inv(rigid(**pose)), points).T
        column = np.rint(x / z * camera["fx_px"] + camera["cx_px"]).astype(int)
        row = np.rint(y / z * camera["fy_px"] + camera["cy_px"]).astype(int)
        seen = (z > 0) & (column >= 0) & (column < camera["width_px"]) & (row >= 0) & (row < camera["height_px"])
        depth = np.array(Image.open(episode / (camera["depth"]["pattern"] % step))) * camera["depth"]["unit_m"]
        mask = np.array(Image.open(episode / f"truth/mask/{camera['name']}/{step:06d}.png"))
        off_m = np.where(seen, np.abs(depth[row * seen, column * seen] - z), np.inf)
        nearer = off_m < error_m
        labels[nearer], error_m[nearer] = mask[row * seen, column * seen][nearer], off_m[nearer]
    return labels


def object_errors_m(episode, prediction):
    """By object: mean distance to the truth after each step, and the same if it had stayed where it was."""
    manifest = json.loads((episode / "manifest.json").read_text())
    facts = json.loads((prediction / "prediction.json").read_text())
    start, steps = facts["start_step"], facts["step_count"]
    particles = [np.load(prediction / f"particles/step_{k:03d}.npy").astype(float) for k in range(steps + 1)]
    labels = labels_of(episode, manifest, start, particles[0])
    truth = json.loads((episode / "truth/objects.json").read_text())
    poses = np.load(episode / "truth/object_poses.npy")
    errors = {}
    for i, name in enumerate(truth["objects"]):
        mine = labels == truth["mask_labels"]["first_object"] + i
        if not mine.any():
            continue
        world_from_object = [rigid(p[:3], p[3:]) for p in poses[start:start + steps + 1, i]]
        at_start = moved_by(np.linalg.inv(world_from_object[0]), particles[0][mine])
        true = [moved_by(pose, at_start) for pose in world_from_object]
        errors[name] = [[np.linalg.norm(where[k] - true[k], axis=1).mean() for k in range(1, steps + 1)]
                        for where in ([p[mine] for p in particles], [true[0]] * (steps + 1))]
    return errors


if __name__ == "__main__":
    for name, (predicted, still) in object_errors_m(Path(sys.argv[1]), Path(sys.argv[2])).items():
        print(f"{name}, cm by step: predicted", *(f"{100 * e:.2f}" for e in predicted))
        print(f"{name}, cm by step: had it stayed", *(f"{100 * e:.2f}" for e in still))

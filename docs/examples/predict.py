"""Asks a running server what a robot's motion does to a made-up table top, and prints a line a predicted step.

docs/examples/predict.cpp prints the same lines. Needs the package of python/:

    python3 -m venv .venv && .venv/bin/pip install ./python
    .venv/bin/python docs/examples/predict.py [HOST:PORT]

or, after the build of the project,

    PYTHONPATH=build/python/lib python3 docs/examples/predict.py [HOST:PORT]
"""

import sys

import numpy as np
from interlacer_client import Camera, Client, Output, RenderView, RgbdView, SceneFrames


def motion(first_step, step_count):
    """Two KUKA arms bent over the table with open grippers; the left one turns by 0.125 rad a step."""
    arm = {2: 0.65, 4: -1.89, 6: 0.6}
    joints = {f"{side}_joint_{i}": arm.get(i, 0) for side in ("left", "right") for i in range(1, 8)}
    joints["left_joint_1"] = 0.125 * np.arange(first_step, first_step + step_count)
    return {**joints, "left_gripper": 0.04, "right_gripper": 0.04}


def table_view(camera):
    """A chequered table top, 1.2 m below the camera that looks straight down on it."""
    width, height = camera.width_px, camera.height_px
    row, column = np.indices((height, width))
    grey = np.where((column // 8 + row // 8) % 2 == 0, 60, 190).astype(np.uint8)
    intrinsics = [[width, 0, (width - 1) / 2], [0, width, (height - 1) / 2], [0, 0, 1]]
    world_from_camera = [[1, 0, 0, 0], [0, -1, 0, 0], [0, 0, -1, 1.2], [0, 0, 0, 1]]
    return RgbdView(color=np.dstack([grey] * 3), depth=np.full((height, width), 1.2, np.float32),
                    camera=Camera(width, height, intrinsics, world_from_camera))


def print_step(step):
    height_m, picture = step.positions_m[:, 2].astype(float).mean(), step.views["view"]
    print(f"step {step.step}: {len(step.positions_m)} particles, {100 * height_m:.3f} cm high in the mean; "
          f"{picture.shape[1]} x {picture.shape[0]} px, mean red {picture[:, :, 0].mean():.2f}")


address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:50051"
client = Client(address, deadline_s=120, wait_for_ready=True)
model = client.metadata()
frames = SceneFrames(model)
for step in range(model.history_step_count):  # two observations, RGB-D, and where the joints were
    views = {camera.name: table_view(camera) for camera in model.cameras}
    frames.add(round(step * model.step_duration_s * 1e9), views, joints=motion(step, 1))
plan = motion(2, 4)  # joint angles of the next 4 steps
output = Output(positions="float32", views=[RenderView("view", scene_camera=model.cameras[0].name)])
for step in client.predict(frames, plan, output):
    print_step(step)  # arrives while the next step is computed

"""A real server with a shipped checkpoint on a port of the kernel's choice, and a simulated episode.

The programs come from the variables TEST_INTERLACER, TEST_SERVER and TEST_CHECKPOINT.
"""

import json
import os
import re
import signal
import subprocess
import time

import numpy as np
import pytest
from interlacer_client import Camera, Client, RgbdView, SceneFrames, pose_matrix


def start_server(log_path):
    """The process, and its address."""
    command = [os.environ["TEST_SERVER"], "--model", "small=" + os.environ["TEST_CHECKPOINT"],
               "--address", "127.0.0.1:0", "--metrics-address", "", "--log-format", "json", "--threads", "1"]
    with open(log_path, "w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    for _ in range(12000):  # a loaded machine reads libraries for long
        match = re.search(r'"listening".*"port":"(\d+)"', log_path.read_text())
        if match:
            return process, "127.0.0.1:" + match[1]
        assert process.poll() is None, log_path.read_text()
        time.sleep(0.01)
    raise AssertionError(log_path.read_text())


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    process, address = start_server(tmp_path_factory.mktemp("server") / "log")
    with Client(address) as client:
        client.wait_until_serving(120)
    yield address
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


@pytest.fixture(scope="session")
def client(address):
    with Client(address, deadline_s=300) as client:  # time enough for a loaded machine
        yield client


@pytest.fixture(scope="session")
def model(client):
    return client.metadata()


class Episode:
    """A simulated episode; its pictures go over the wire as the files that they are."""

    def __init__(self, folder):
        self.folder = folder
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.states = np.load(folder / self.manifest["states"]["file"])
        self.actions = np.load(folder / self.manifest["actions"]["file"])

    def view(self, camera, step):
        pose = camera["world_from_camera"]
        intrinsics = [[camera["fx_px"], 0, camera["cx_px"]], [0, camera["fy_px"], camera["cy_px"]], [0, 0, 1]]
        return RgbdView((self.folder / (camera["color"]["pattern"] % step)).read_bytes(),
                        (self.folder / (camera["depth"]["pattern"] % step)).read_bytes(),
                        Camera(camera["width_px"], camera["height_px"], intrinsics,
                               pose_matrix(pose["translation_m"], pose["rotation_xyzw"])),
                        depth_unit_m=camera["depth"]["unit_m"])

    def frames(self, model, start_step, **options):
        frames = SceneFrames(model, **options)
        for step in range(start_step + 1 - model.history_step_count, start_step + 1):
            views = {camera["name"]: self.view(camera, step) for camera in self.manifest["cameras"]}
            frames.add(round(step * model.step_duration_s * 1e9), views, joints=self.states[step])
        return frames


@pytest.fixture(scope="session")
def episode(tmp_path_factory):
    out = tmp_path_factory.mktemp("episode") / "sim"
    subprocess.run([os.environ["TEST_INTERLACER"], "simulate", "--task", "push_block", "--split", "test", "--episodes", "1",
                    "--seed", "31", "--steps", "6", "--width", "128", "--height", "128", "--output", str(out)],
                   check=True, capture_output=True)
    return Episode(next(path for path in out.iterdir() if path.is_dir()))


@pytest.fixture
def frames(episode, model):
    return episode.frames(model, 1)


@pytest.fixture
def plan(episode):
    return episode.actions[2:5]

"""docs/examples/live_ros.py as a user runs it, but for ROS: what it imports is here, and `spin` sends the messages."""

import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import interlacer_client
import pytest
from images import table
from interlacer_client import joint_names
from test_ros import Message, image, info

EXAMPLE = Path(__file__).parents[2] / "docs/examples/live_ros.py"
CAMERAS = ("/camera_left", "/camera_right")


def stamp(time_ms):
    return Message(sec=time_ms // 1000, nanosec=time_ms % 1000 * 1_000_000)


class FakeRos:
    """The modules that the example imports, and one node that keeps its callbacks by topic."""

    def __init__(self, model, episode, futures):
        self.model, self.episode, self.futures = model, episode, futures
        self.callbacks, self.topics, self.time_ms = {}, [], 0
        self.color, self.depth_mm, self.camera = table()
        self.pose = Message(transform=Message(translation=Message(x=0, y=0, z=1.2), rotation=Message(x=1, y=0, z=0, w=0)))

    def modules(self):
        rclpy = SimpleNamespace(init=lambda: None, create_node=lambda name: self, spin=self.spin)
        filters = SimpleNamespace(Subscriber=lambda node, kind, topic, qos_profile: (topic, kind),
                                  ApproximateTimeSynchronizer=self.synchronizer)
        transforms = SimpleNamespace(Buffer=lambda: SimpleNamespace(lookup_transform=self.lookup),
                                     TransformListener=lambda buffer, node: None)
        messages = SimpleNamespace(CameraInfo="CameraInfo", Image="Image", JointState="JointState")
        parts = {"rclpy": rclpy, "rclpy.qos": SimpleNamespace(qos_profile_sensor_data="sensor data"),
                 "rclpy.time": SimpleNamespace(Time=lambda: "newest"), "message_filters": filters, "tf2_ros": transforms,
                 "sensor_msgs": SimpleNamespace(msg=messages), "sensor_msgs.msg": messages}
        made = {name: ModuleType(name) for name in parts}
        for name, module in made.items():
            module.__dict__.update(vars(parts[name]))
        return made

    def synchronizer(self, topics, queue_size, slop):
        assert 0 < slop < 0.05, "within what a server takes as one observation"
        self.topics = topics
        return SimpleNamespace(registerCallback=lambda callback: self.callbacks.update(images=callback))

    def lookup(self, target, source, time):
        assert (target, source, time) == ("table_center", "optical", "newest")
        return self.pose

    def create_subscription(self, kind, topic, callback, depth):
        self.callbacks[topic] = callback

    def get_clock(self):
        return SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=self.time_ms * 1_000_000 + 40_000_000))

    def send_images(self):
        header = Message(stamp=stamp(self.time_ms), frame_id="optical")
        messages = []
        for topic, kind in self.topics:
            message = info(self.camera) if kind == "CameraInfo" else image(*(
                (self.depth_mm, "16UC1") if "depth" in topic else (self.color, "rgb8")))
            message.header = header
            messages.append(message)
        self.callbacks["images"](*messages)

    def send_joints(self):
        state = Message(header=Message(stamp=stamp(self.time_ms)), name=joint_names(self.model),
                        position=list(self.episode.states[0]))
        self.callbacks["/joint_states"](state)

    def spin(self, node):
        assert [topic for topic, _ in self.topics] == [
            f"{camera}/{topic}" for camera in CAMERAS
            for topic in ("color/image_raw", "aligned_depth_to_color/image_raw", "color/camera_info")]
        self.send_images()  # without joints: nothing can be asked
        for self.time_ms in [*range(100, 1300, 100), 4100, 4600]:  # ten pictures a second, then none for a while
            self.send_joints()
            self.send_images()
            for future in self.futures:
                future.result(300)


def test_live_cameras_are_predicted_once_a_step(address, model, episode, monkeypatch, capsys):
    futures = []

    class Patient(interlacer_client.LatestOnly):
        """Waits for a loaded machine."""

        def __init__(self, client, *, max_age_s):
            assert max_age_s == 2
            super().__init__(client, max_age_s=300)

        def submit(self, *arguments, age_s):
            assert age_s == pytest.approx(0.04)
            futures.append(super().submit(*arguments, age_s=age_s))
            return futures[-1]

    monkeypatch.setattr(interlacer_client, "LatestOnly", Patient)
    for name, module in FakeRos(model, episode, futures).modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), address])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    # Observations at 0.1, 0.6 and 1.1 s, and after the gap at 4.1 and 4.6 s: predicted at three of them.
    assert len(futures) == 3
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines[::2]] == ["FRESH"] * 3
    assert all(line.startswith("  4 steps of ") for line in lines[1::2]) and len(lines) == 6

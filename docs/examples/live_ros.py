"""Predicts from live cameras of ROS 2, once for each step of the model, and prints what became of every request.

    source /opt/ros/jazzy/setup.bash
    PYTHONPATH=$PYTHONPATH:build/python/lib python3 docs/examples/live_ros.py [SERVER]

It needs depth that is registered to colour (of realsense2_camera: align_depth.enable:=true), cameras whose clocks agree, and
transforms to each camera's optical frame from WORLD: z up, the middle of the table, or a `workspace` (docs/real-data.md).
"""

import sys
from collections import deque

import message_filters
import rclpy
import tf2_ros
from interlacer_client import Client, LatestOnly, Output, SceneFrames, ros
from rclpy.qos import qos_profile_sensor_data
from rclpy.time import Time
from sensor_msgs.msg import CameraInfo, Image, JointState

WORLD = "table_center"
CAMERAS = {"left": "/camera_left", "right": "/camera_right"}  # the model's name of each driver's
TOPICS = {"color/image_raw": Image, "aligned_depth_to_color/image_raw": Image, "color/camera_info": CameraInfo}
JOINTS = {}  # the model's name to the robot's, where they differ: {"left_joint_1": "lbr_left_A1"}
HALF_FRAME_S = 1 / 60


def plan(joints):
    """Joint values of the steps to come: here the robot stays where it is for two seconds. Your planner's go here."""
    return [joints] * 4


class LiveScene:
    """The newest two observations, a step apart, of the messages that come."""

    def __init__(self, node, model, loop):
        self.node, self.model, self.loop = node, model, loop
        self.frames, self.newest_ns = SceneFrames(model), None
        self.joints = deque(maxlen=1000)
        self.transforms = tf2_ros.Buffer()
        self.listener = tf2_ros.TransformListener(self.transforms, node)
        node.create_subscription(JointState, "/joint_states", self.joints.append, 100)
        topics = [message_filters.Subscriber(node, kind, f"{camera}/{topic}", qos_profile=qos_profile_sensor_data)
                  for camera in CAMERAS.values() for topic, kind in TOPICS.items()]
        self.images = message_filters.ApproximateTimeSynchronizer(topics, queue_size=30, slop=HALF_FRAME_S)
        self.images.registerCallback(self.on_images)

    def on_images(self, *messages):
        """Colour, depth and calibration of each camera, taken at nearly one time."""
        time_ns = ros.time_ns(messages[0].header.stamp)
        if not self.joints:
            return
        if self.newest_ns is not None:
            late_s = 1e-9 * (time_ns - self.newest_ns) - self.model.step_duration_s
            if late_s < -HALF_FRAME_S:
                return  # not yet a step after the newest observation
            if late_s > self.model.max_history_spacing_error_s:
                self.frames = SceneFrames(self.model)  # messages were lost: two observations anew
        views = {}
        for i, name in enumerate(CAMERAS):
            color, depth, info = messages[3 * i:3 * i + 3]
            # The newest transform, for cameras that stand; of one that moves, that at its stamp.
            pose = self.transforms.lookup_transform(WORLD, color.header.frame_id, Time())
            views[name] = ros.view(color, depth, info, ros.transform(pose))
        state = min(self.joints, key=lambda joints: abs(ros.time_ns(joints.header.stamp) - time_ns))
        joints = ros.joints(state, self.model, JOINTS)
        self.frames.add(time_ns, views, joints)
        self.newest_ns = time_ns
        if self.frames.is_complete:
            age_s = 1e-9 * (self.node.get_clock().now().nanoseconds - time_ns)
            future = self.loop.submit(self.frames, plan(joints), Output(positions="float32"), age_s=age_s)
            future.add_done_callback(on_answer)


def on_answer(future):
    """Runs in the loop's thread: hand what is needed to your own."""
    if future.exception() is not None:
        print(future.exception())
        return
    answer = future.result()
    print(f"{answer.word}, {answer.age_s:.2f} s after the frames")
    if answer.prediction is not None:
        steps, findings = answer.prediction.steps, answer.prediction.summary.scene_report.findings
        print(f"  {len(steps)} steps of {len(steps[-1].positions_m)} particles", *(finding.reason for finding in findings))


rclpy.init()
node = rclpy.create_node("interlacer_live")
address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:50051"
with Client(address, retry=False) as client, LatestOnly(client, max_age_s=2) as loop:
    scene = LiveScene(node, client.metadata(), loop)
    rclpy.spin(node)

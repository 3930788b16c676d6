"""From and to ROS messages, of ROS 1 and ROS 2, without needing ROS: only the fields of a message are looked at.

    view = ros.view(color_msg, depth_msg, camera_info, ros.transform(tf_buffer.lookup_transform("world", frame, stamp)))
    frames.add(ros.time_ns(color_msg.header.stamp), {"left": view}, joints=ros.joints(joint_state, model))
"""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, Optional, Union

import numpy as np
from numpy.typing import NDArray

from .camera import Camera, pose_matrix
from .errors import mismatch
from .frames import RgbdView
from .metadata import ModelMetadata
from .prediction import PredictedStep

#: sensor_msgs/Image encodings: element type and channels.
_ENCODINGS = {"rgb8": ("u1", 3), "bgr8": ("u1", 3), "rgba8": ("u1", 4), "bgra8": ("u1", 4),
              "mono16": ("u2", 1), "16UC1": ("u2", 1), "32FC1": ("f4", 1)}
_COMPRESSED_DEPTH_HEADER_BYTES = 12  # of compressed_depth_image_transport, before the PNG
#: REP 118: 16-bit depth images are in millimetres.
MILLIMETRE_M = 0.001


def time_ns(stamp: Any) -> int:
    """Of builtin_interfaces/Time (sec, nanosec) or a ROS 1 time (secs, nsecs)."""
    if hasattr(stamp, "nanosec"):
        return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)
    return int(stamp.secs) * 1_000_000_000 + int(stamp.nsecs)


def image(msg: Any) -> NDArray[Any]:
    """sensor_msgs/Image as [height, width, channels] or [height, width]; channels in the order of its encoding."""
    if msg.encoding not in _ENCODINGS:
        raise mismatch("encoding", " or ".join(_ENCODINGS), msg.encoding, "PIXEL_ENCODING_UNSUPPORTED")
    kind, channels = _ENCODINGS[msg.encoding]
    dtype = np.dtype((">" if msg.is_bigendian else "<") + kind)
    row_bytes = msg.width * channels * dtype.itemsize
    data = np.frombuffer(bytes(msg.data), np.uint8)
    if msg.step < row_bytes or data.size != msg.height * msg.step:
        raise mismatch("data", f"{msg.height} rows of step >= {row_bytes} bytes", f"{data.size} bytes, step {msg.step}",
                       "IMAGE_DATA_LENGTH")
    rows = np.ascontiguousarray(data.reshape(msg.height, msg.step)[:, :row_bytes]).view(dtype)
    pixels = rows.reshape((msg.height, msg.width, channels) if channels > 1 else (msg.height, msg.width))
    return pixels.astype(dtype.newbyteorder("="), copy=False)


def camera(info: Any, world_from_camera: Any) -> Camera:
    """sensor_msgs/CameraInfo of an image that is not rectified (matrix K, distortion D), at a pose."""
    size = (info.width, info.height)
    roi = getattr(info, "roi", None)
    if max(getattr(info, "binning_x", 0), getattr(info, "binning_y", 0)) > 1 or \
            roi is not None and (roi.width, roi.height) not in ((0, 0), size):
        raise mismatch("camera_info", "no binning and no region of interest", "one", "CALIBRATION_INVALID")
    k = np.asarray(info.k if hasattr(info, "k") else info.K, dtype=np.float64).reshape(3, 3)
    d = tuple(float(c) for c in (info.d if hasattr(info, "d") else info.D))
    if not any(d):
        return Camera(*size, k, world_from_camera)
    return Camera(*size, k, world_from_camera, info.distortion_model, d)


def transform(msg: Any) -> NDArray[Any]:
    """4 x 4 of a TransformStamped, Transform, PoseStamped or Pose. What
    lookup_transform("world", "camera_optical", stamp) gives is world_from_camera."""
    for part in ("transform", "pose", "pose"):  # twice: with covariance
        msg = getattr(msg, part, msg)
    t = msg.translation if hasattr(msg, "translation") else msg.position
    q = msg.rotation if hasattr(msg, "rotation") else msg.orientation
    return pose_matrix((t.x, t.y, t.z), (q.x, q.y, q.z, q.w))


def view(color_msg: Any, depth_msg: Any, info: Any, world_from_camera: Any,
         depth_unit_m: Optional[float] = MILLIMETRE_M) -> RgbdView:
    """Of Image or CompressedImage messages; the depth must be registered to the colour. `depth_unit_m` counts for depth
    of 16 bits alone. Distortion stays as the CameraInfo says: for rectified pictures give theirs, with D of zeros."""
    color = _color(color_msg)
    depth = _depth(depth_msg)
    is_16_bit = isinstance(depth, bytes) or depth.dtype == np.uint16
    stamp = getattr(getattr(depth_msg, "header", None), "stamp", None)
    return RgbdView(color, depth, camera(info, world_from_camera), depth_unit_m if is_16_bit else None,
                    getattr(color_msg, "encoding", "").startswith("bgr"), None if stamp is None else time_ns(stamp))


def _color(msg: Any) -> Union[NDArray[Any], bytes]:
    if hasattr(msg, "format"):
        return bytes(msg.data)
    if msg.encoding in ("mono16", "16UC1", "32FC1"):
        raise mismatch("color.encoding", "rgb8, bgr8, rgba8 or bgra8", msg.encoding, "PIXEL_ENCODING_UNSUPPORTED")
    return image(msg)[:, :, :3]


def _depth(msg: Any) -> Union[NDArray[Any], bytes]:
    if not hasattr(msg, "format"):
        return image(msg)
    if re.match(r"32FC1\b", msg.format):
        raise mismatch("depth.format", "16UC1; compressed depth in metres is not exact", msg.format,
                       "COMPRESSION_UNSUPPORTED")
    data = bytes(msg.data)
    return data[_COMPRESSED_DEPTH_HEADER_BYTES:] if "compressedDepth" in msg.format else data


def joints(msg: Any, model: ModelMetadata, names: Optional[Mapping[str, str]] = None) -> Dict[str, float]:
    """Positions of a sensor_msgs/JointState by the model's joint names. `names` maps a model's joint ("left_joint_1", no
    unit) to the robot's ("lbr_left_A1") where they differ. Joints of the robot that the model does not know are left out;
    one that the model needs and the message lacks is an error."""
    positions = dict(zip(msg.name, msg.position))
    wanted = {column.joint: (names or {}).get(column.joint, column.joint) for column in model.action_columns}
    missing = [name for name in wanted.values() if name not in positions]
    if missing:
        raise mismatch("joint_state.name", ", ".join(missing), ", ".join(positions) or "nothing", "ACTION_SHAPE")
    return {joint: float(positions[name]) for joint, name in wanted.items()}


def fill_point_cloud(msg: Any, step: PredictedStep, field_type: Any) -> Any:
    """Fills a sensor_msgs/PointCloud2 with a step's particles, and their colours where asked for: fields x, y, z and rgb
    as RViz reads them. `field_type` is sensor_msgs.msg.PointField. Set the header yourself: the frame is
    ModelMetadata.world_frame_name. Returns the message."""
    positions = step.positions_m if step.positions_m is not None else np.empty((0, 3), np.float32)
    width = 3 if step.colors is None else 4
    points = np.empty((len(positions), width), "<f4")
    points[:, :3] = positions
    if step.colors is not None:
        r, g, b = step.colors.astype("<u4").T
        points[:, 3] = (r << 16 | g << 8 | b).astype("<u4").view("<f4")
    msg.height, msg.width = 1, len(points)
    msg.fields = [field_type(name=name, offset=4 * i, datatype=7, count=1)  # 7: FLOAT32
                  for i, name in enumerate(("x", "y", "z", "rgb")[:width])]
    msg.is_bigendian, msg.is_dense = False, True
    msg.point_step, msg.row_step = 4 * width, 4 * width * len(points)
    msg.data = points.tobytes()
    return msg

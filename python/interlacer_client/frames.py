"""The scene of a prediction: calibrated RGB-D frames and what the robot did meanwhile."""

from __future__ import annotations

import copy
from collections import deque
from dataclasses import dataclass
from typing import Any, Deque, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np
from interlacer.v1 import interlacer_service_pb2 as service
from interlacer.v1 import types_pb2 as types
from numpy.typing import NDArray

from . import actions as action_rows
from .actions import Actions
from .camera import Camera
from .errors import mismatch
from .metadata import Box, ModelMetadata

_PNG, _JPEG = b"\x89PNG", b"\xff\xd8"


@dataclass(frozen=True, eq=False)
class RgbdView:
    """One camera's picture and depth, registered to each other.

    color          uint8 [height, width, 3], or the bytes of a PNG or JPEG file
    depth          along the optical axis: float [height, width] in metres (NaN, Inf and <= 0: no measurement), or uint16
                   [height, width] or the bytes of a 16-bit PNG, in depth_unit_m (0: no measurement); what a masked array
                   hides is no measurement
    depth_unit_m   metres in one unit of a 16-bit depth: 0.001 for millimetres; there is no default that would be right
    is_bgr         channels of an array are blue, green, red (OpenCV)
    depth_time_ns  when the depth was exposed, if not with the colour
    """

    color: Union[NDArray[Any], bytes]
    depth: Union[NDArray[Any], bytes]
    camera: Camera
    depth_unit_m: Optional[float] = None
    is_bgr: bool = False
    depth_time_ns: Optional[int] = None

    def to_proto(self, camera_name: str, time_ns: int, field: str) -> types.RgbdView:
        view = types.RgbdView(camera_name=camera_name, color=self._color(field + ".color"),
                              depth=self._depth(field + ".depth"), calibration=self.camera.to_proto(field + ".calibration"))
        view.capture_time.FromNanoseconds(_nanoseconds(time_ns, "time_ns"))
        if self.depth_time_ns is not None:
            view.depth_capture_time.FromNanoseconds(_nanoseconds(self.depth_time_ns, field + ".depth_time_ns"))
        return view

    def _color(self, field: str) -> types.Image:
        encoding = types.PIXEL_ENCODING_BGR8 if self.is_bgr else types.PIXEL_ENCODING_RGB8
        if isinstance(self.color, bytes):
            if self.is_bgr:
                raise mismatch(field, "an array where is_bgr is set: files say their channels themselves", "bytes")
            return self._encoded(self.color, encoding, field)
        if np.ma.is_masked(self.color):
            raise mismatch(field, "an array without masked pixels: every pixel has a colour, what is not measured has no depth",
                           f"{np.ma.count_masked(self.color)} masked values", "PIXEL_ENCODING_UNSUPPORTED")
        pixels = np.asarray(self.color)
        if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
            raise mismatch(field, "uint8 [height, width, 3]", f"{pixels.dtype} {list(pixels.shape)}",
                           "PIXEL_ENCODING_UNSUPPORTED")
        return _raw(pixels, encoding)

    def _depth(self, field: str) -> types.Image:
        depth = self.depth if isinstance(self.depth, bytes) else _measured(self.depth)
        is_integer = isinstance(depth, bytes) or depth.dtype == np.uint16
        if not isinstance(depth, bytes) and (depth.ndim != 2 or not (is_integer or np.issubdtype(depth.dtype, np.floating))):
            raise mismatch(field, "float or uint16 [height, width]", f"{depth.dtype} {list(depth.shape)}",
                           "PIXEL_ENCODING_UNSUPPORTED")
        if is_integer != (self.depth_unit_m is not None):
            raise mismatch(field, "depth_unit_m with 16-bit depth, and not with metres",
                           f"depth_unit_m {self.depth_unit_m} with {'16-bit depth' if is_integer else 'floats'}",
                           "DEPTH_UNIT_MISSING")
        if isinstance(depth, bytes):
            image = self._encoded(depth, types.PIXEL_ENCODING_DEPTH_U16, field)
        elif is_integer:
            image = _raw(depth.astype("<u2", copy=False), types.PIXEL_ENCODING_DEPTH_U16)
        else:
            image = _raw(depth.astype("<f4", copy=False), types.PIXEL_ENCODING_DEPTH_F32)
        image.depth_unit_m = self.depth_unit_m or 0
        return image

    def _encoded(self, data: bytes, encoding: types.PixelEncoding, field: str) -> types.Image:
        is_depth = encoding == types.PIXEL_ENCODING_DEPTH_U16
        expected = f"bytes of a {'16-bit PNG' if is_depth else 'PNG or JPEG'} file"
        if data[:4] == _PNG:
            compression = types.IMAGE_COMPRESSION_PNG
        elif data[:2] != _JPEG:
            raise mismatch(field, expected, f"bytes that begin with {data[:8]!r}", "IMAGE_UNDECODABLE")
        elif is_depth:
            raise mismatch(field, expected, "those of a JPEG file", "COMPRESSION_UNSUPPORTED")
        else:
            compression = types.IMAGE_COMPRESSION_JPEG
        return types.Image(width_px=self.camera.width_px, height_px=self.camera.height_px, encoding=encoding,
                           compression=compression, data=data)


def _measured(depth: Any) -> NDArray[Any]:
    """What a masked array hides is not there: NaN, or 0 of integers."""
    if not np.ma.is_masked(depth):
        return np.asarray(depth)
    return np.asarray(depth.filled(np.nan if np.issubdtype(depth.dtype, np.floating) else 0))


def _nanoseconds(time_ns: Any, field: str) -> int:
    try:
        return int(time_ns)
    except (TypeError, ValueError, OverflowError):
        raise mismatch(field, "a time in nanoseconds", time_ns, "TIMESTAMP_INVALID") from None


def _raw(pixels: NDArray[Any], encoding: types.PixelEncoding) -> types.Image:
    return types.Image(width_px=pixels.shape[1], height_px=pixels.shape[0], encoding=encoding,
                       compression=types.IMAGE_COMPRESSION_NONE, data=np.ascontiguousarray(pixels).tobytes())


class _Moment(NamedTuple):
    time_ns: int
    observation: types.Observation
    robot: types.ActionSequence  # one row, or empty


class SceneFrames:
    """The newest observations of a scene, as many as the model wants: `add` one every step_duration and predict.

    Not for several threads at once; `copy` is cheap. Times come from one clock for all cameras and the robot; only
    their differences count. A scene at rest may be added twice, step_duration apart.
    """

    def __init__(self, model: ModelMetadata, *, seed: int = 0, workspace: Optional[Box] = None,
                 near_m: Optional[float] = None, far_m: Optional[float] = None) -> None:
        """`seed` draws the particles. Workspace and range stand in place of the model's; positions that the network sees are
        scaled by the workspace, so it has the model's size (docs/real-data.md)."""
        self.model = model
        self.seed = seed
        self.workspace = workspace
        self.near_m = near_m
        self.far_m = far_m
        self._moments: Deque[_Moment] = deque(maxlen=model.history_step_count)

    def add(self, time_ns: int, views: Mapping[str, RgbdView], joints: Optional[Actions] = None) -> SceneFrames:
        """One observation: a view for each camera of the model, and the robot's measured state then, as one row (see
        Actions); no joints for a scene without a robot. Past history_step_count the oldest goes. Returns itself."""
        time_ns = _nanoseconds(time_ns, "time_ns")
        packed = [view.to_proto(name, time_ns, f"views[{name!r}]") for name, view in views.items()]
        robot = action_rows.to_proto(self.model, joints, "joints")
        self._moments.append(_Moment(time_ns, types.Observation(views=packed), robot))
        return self

    @property
    def is_complete(self) -> bool:
        """Whether there are enough observations to predict from."""
        return len(self._moments) == self.model.history_step_count

    @property
    def newest_time_ns(self) -> int:
        return self._moments[-1].time_ns

    @property
    def newest_joints(self) -> Optional[NDArray[Any]]:
        """Where the robot's joints were at the newest observation, [columns] in the order of action_columns; None without
        joints."""
        if not self._moments or not self._moments[-1].robot.HasField("joint_positions"):
            return None
        return np.frombuffer(self._moments[-1].robot.joint_positions.values_f32le, "<f4")

    def copy(self) -> SceneFrames:
        """Goes on by itself; frames are shared, not copied."""
        other = copy.copy(self)
        other._moments = self._moments.copy()
        return other

    def newest_to_proto(self) -> Tuple[types.Observation, types.ActionSequence]:
        """The newest observation and the robot's row then, of a request that moves a scene on."""
        if not self._moments:
            raise mismatch("observations", "at least one", "none", "HISTORY_LENGTH")
        return self._moments[-1].observation, self._moments[-1].robot

    def to_proto(self) -> service.SceneInput:
        """The message of a request. Raises HISTORY_LENGTH with too few observations."""
        if not self.is_complete:
            raise mismatch("observations", f"{self.model.history_step_count} of them", len(self._moments), "HISTORY_LENGTH")
        scene = service.SceneInput(observations=[moment.observation for moment in self._moments], seed=self.seed,
                                   near_m=self.near_m, far_m=self.far_m)
        if self.workspace is not None:
            scene.workspace.CopyFrom(self.workspace.to_proto())
        history = action_rows.join([moment.robot for moment in self._moments], "history_actions")
        if history is not None:
            scene.history_actions.CopyFrom(history)
        return scene

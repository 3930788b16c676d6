"""A pinhole camera with its pose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, List, Tuple

import numpy as np
from interlacer.v1 import types_pb2 as types
from numpy.typing import NDArray

from .errors import mismatch

_DISTORTION = {
    "none": types.DISTORTION_MODEL_NONE,  # rectified
    "plumb_bob": types.DISTORTION_MODEL_PLUMB_BOB,  # k1, k2, p1, p2, k3
    "rational_polynomial": types.DISTORTION_MODEL_RATIONAL_POLYNOMIAL,  # k1, k2, p1, p2, k3, k4, k5, k6
}


@dataclass(frozen=True, eq=False)
class Camera:
    """Intrinsics of images of one size, and the pose of the optical frame: +x right, +y down, +z forward (ROS _optical,
    OpenCV). An OpenGL pose is turned by 180 degrees about x first. Pixel (0, 0) is top left, its centre is (0, 0).

    intrinsics         3 x 3: fx 0 cx / 0 fy cy / 0 0 1, pixels
    world_from_camera  4 x 4: p_world = world_from_camera * p_camera, metres
    distortion_coefficients  numbers in the order of the model, also as OpenCV's [1, n] or [n, 1]
    """

    width_px: int
    height_px: int
    intrinsics: Any
    world_from_camera: Any
    distortion_model: str = "none"
    distortion_coefficients: Any = ()

    def at(self, world_from_camera: Any) -> Camera:
        """The same camera elsewhere."""
        return replace(self, world_from_camera=world_from_camera)

    def to_proto(self, field: str = "calibration") -> types.CameraCalibration:
        k = np.asarray(self.intrinsics, dtype=np.float64)
        if k.shape != (3, 3) or k[0, 1] != 0 or k[1, 0] != 0 or tuple(k[2]) != (0, 0, 1):
            raise mismatch(field + ".intrinsics", "rows fx 0 cx / 0 fy cy / 0 0 1", k.tolist(), "CALIBRATION_INVALID")
        if self.distortion_model not in _DISTORTION:
            raise mismatch(field + ".distortion_model", " or ".join(_DISTORTION), self.distortion_model,
                           "DISTORTION_INVALID")
        return types.CameraCalibration(
            width_px=self.width_px, height_px=self.height_px,
            fx_px=k[0, 0], fy_px=k[1, 1], cx_px=k[0, 2], cy_px=k[1, 2],
            distortion_model=_DISTORTION[self.distortion_model],
            distortion_coefficients=_coefficients(self.distortion_coefficients, field + ".distortion_coefficients"),
            world_from_camera=_transform(self.world_from_camera, field + ".world_from_camera"))


def _coefficients(values: Any, field: str) -> List[float]:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros(())
    if numbers.ndim == 0 or numbers.size != max(numbers.shape):
        raise mismatch(field, "numbers, as a list or as OpenCV's [1, n]", values, "DISTORTION_INVALID")
    return [float(c) for c in numbers.ravel()]


def _transform(matrix: Any, field: str) -> types.Transform:
    m = np.asarray(matrix, dtype=np.float64)
    if m.shape != (4, 4) or not np.isfinite(m).all() or tuple(m[3]) != (0, 0, 0, 1):
        raise mismatch(field, "a finite 4 x 4 matrix with last row 0 0 0 1", m.tolist(), "CALIBRATION_INVALID")
    rotation = m[:3, :3]
    error = np.abs(rotation @ rotation.T - np.eye(3)).max()
    if error > 1e-3 or np.linalg.det(rotation) < 0:
        raise mismatch(field, "a rotation without scale or mirror", rotation.tolist(), "CALIBRATION_INVALID")
    x, y, z, w = quaternion_xyzw(rotation)
    return types.Transform(translation_m=types.Vector3(x=m[0, 3], y=m[1, 3], z=m[2, 3]),
                           rotation=types.Quaternion(x=x, y=y, z=z, w=w))


def quaternion_xyzw(rotation: NDArray[Any]) -> Tuple[float, float, float, float]:
    """Unit quaternion of a rotation matrix, w >= 0: the eigenvector of Bar-Itzhack's symmetric matrix, which needs no
    case for each quadrant and finds the nearest rotation of a slightly noisy matrix."""
    r = rotation
    k = np.array([[r[0, 0] - r[1, 1] - r[2, 2], 0, 0, 0],
                  [r[0, 1] + r[1, 0], r[1, 1] - r[0, 0] - r[2, 2], 0, 0],
                  [r[0, 2] + r[2, 0], r[1, 2] + r[2, 1], r[2, 2] - r[0, 0] - r[1, 1], 0],
                  [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1], r[0, 0] + r[1, 1] + r[2, 2]]])
    q = np.linalg.eigh(k / 3)[1][:, 3]  # of the largest eigenvalue; eigh reads the lower triangle
    q = q if q[3] >= 0 else -q
    return float(q[0]), float(q[1]), float(q[2]), float(q[3])


def pose_matrix(translation_m: Any, rotation_xyzw: Any, field: str = "rotation") -> NDArray[Any]:
    """4 x 4 matrix of a translation and a unit quaternion, scalar last."""
    q = np.asarray(rotation_xyzw, dtype=np.float64)
    norm = float(np.linalg.norm(q))
    if q.shape != (4,) or not abs(norm - 1) <= 1e-3:
        raise mismatch(field, "a unit quaternion x, y, z, w", q.tolist(), "QUATERNION_NOT_UNIT")
    x, y, z, w = q / norm
    pose = np.eye(4)
    pose[:3, :3] = [[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                    [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                    [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]]
    pose[:3, 3] = translation_m
    return pose

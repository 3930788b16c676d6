"""What a prediction sends back, as numpy arrays. Arrays are read-only and share the memory of the message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional, Sequence, Tuple

import numpy as np
from interlacer.v1 import interlacer_service_pb2 as service
from interlacer.v1 import types_pb2 as types
from numpy.typing import NDArray

from .metadata import Box, stage_seconds


@dataclass(frozen=True)
class Finding:
    """Not an error, but something to look at, such as CALIBRATION_SUSPECT or ROLLOUT_BEYOND_TRAINING."""

    reason: str
    message: str
    field: str


@dataclass(frozen=True)
class CameraReport:
    """Of the newest observation; ratios are shares of its pixels."""

    camera_name: str
    valid_depth_ratio: float
    workspace_ratio: float
    median_depth_m: float


@dataclass(frozen=True)
class SceneReport:
    """Facts about a lifted scene. cross_camera_distance_m is negative where too little is seen by both cameras."""

    cameras: Tuple[CameraReport, ...]
    candidate_point_count: int
    cross_camera_distance_m: float
    camera_skew_s: float
    findings: Tuple[Finding, ...]

    @staticmethod
    def from_proto(report: types.SceneReport) -> SceneReport:
        cameras = tuple(CameraReport(c.camera_name, c.valid_depth_ratio, c.workspace_ratio, c.median_depth_m)
                        for c in report.cameras)
        return SceneReport(cameras, report.candidate_point_count, report.cross_camera_distance_m, report.camera_skew_s,
                           _findings(report.findings))


@dataclass(frozen=True)
class Summary:
    """Facts about a finished call. durations_s: by stage of the server, "queue", "lift", "dynamics" ..."""

    model_name: str
    weights_sha256: str
    computed_step_count: int
    selected_particle_count: int
    durations_s: Dict[str, float]
    scene_report: Optional[SceneReport]
    findings: Tuple[Finding, ...]

    @staticmethod
    def from_proto(s: service.CallSummary) -> Summary:
        report = SceneReport.from_proto(s.scene_report) if s.HasField("scene_report") else None
        return Summary(s.model_name, s.weights_sha256, s.computed_step_count, s.selected_particle_count,
                       stage_seconds(s.durations), report, _findings(s.findings))


@dataclass(frozen=True, eq=False)
class PredictedStep:
    """One step: 0 is the reconstruction of the newest observation, 1 the first prediction.

    predict_time_ns  newest capture time + step * step_duration
    positions_m      float32 [particles, 3], world frame; row i is the same particle in every step of a call
    colors           uint8 [particles, 3]
    indices          uint32 [particles] in the whole cloud; in the first step of a call with a region
    views            by name: uint8 [height, width, 3], or float32 [height, width] in metres
    files            by name: the bytes of views asked for as PNG or JPEG
    spread_m         float32 [particles] how far apart four predictions of a particle lie; no bound of its error
    """

    step: int
    predict_time_ns: int
    positions_m: Optional[NDArray[np.float32]]
    colors: Optional[NDArray[np.uint8]]
    indices: Optional[NDArray[np.uint32]]
    views: Dict[str, NDArray[Any]]
    files: Dict[str, bytes]
    spread_m: Optional[NDArray[np.float32]] = None

    @staticmethod
    def from_proto(step: types.PredictedStep, workspace: Box) -> PredictedStep:
        """`workspace`: the box of positions of 16 bits."""
        cloud = step.particles
        views, files = {}, {}
        for rendered in step.images:
            if rendered.image.compression == types.IMAGE_COMPRESSION_NONE:
                views[rendered.target_name] = _pixels(rendered.image)
            else:
                files[rendered.target_name] = rendered.image.data
        colors = np.frombuffer(cloud.colors_rgb8, np.uint8).reshape(-1, 3) if cloud.colors_rgb8 else None
        indices = np.frombuffer(cloud.indices_u32le, "<u4") if cloud.indices_u32le else None
        spread = np.frombuffer(cloud.spread_f32le, "<f4") if cloud.spread_f32le else None
        return PredictedStep(step.step, step.predict_time.ToNanoseconds(), _positions(cloud, workspace), colors, indices,
                             views, files, spread)


@dataclass(frozen=True)
class Prediction:
    """All that one call sent, or all of one candidate."""

    steps: Sequence[PredictedStep]
    summary: Optional[Summary]  #: of the call; of candidates with the last one only

    @property
    def positions_m(self) -> NDArray[np.float32]:
        """float32 [steps, particles, 3]."""
        return np.stack([step.positions_m for step in self.steps if step.positions_m is not None])

    def view(self, name: str) -> NDArray[Any]:
        """[steps, height, width, 3] of colour, [steps, height, width] of depth."""
        return np.stack([step.views[name] for step in self.steps])


def _findings(findings: Any) -> Tuple[Finding, ...]:
    return tuple(Finding(f.reason, f.message, f.field) for f in findings)


def _positions(cloud: types.ParticleCloud, workspace: Box) -> Optional[NDArray[np.float32]]:
    if cloud.position_encoding == types.POSITION_ENCODING_FLOAT32:
        return np.frombuffer(cloud.positions, "<f4").reshape(-1, 3)
    if cloud.position_encoding == types.POSITION_ENCODING_WORKSPACE_U16:
        low, high = np.array(workspace.min_m), np.array(workspace.max_m)
        shares = np.frombuffer(cloud.positions, "<u2").reshape(-1, 3) / 65535
        positions: NDArray[np.float32] = (low + shares * (high - low)).astype(np.float32)
        positions.flags.writeable = False
        return positions
    return None


def _pixels(image: types.Image) -> NDArray[Any]:
    if image.encoding == types.PIXEL_ENCODING_DEPTH_F32:
        return np.frombuffer(image.data, "<f4").reshape(image.height_px, image.width_px)
    return np.frombuffer(image.data, np.uint8).reshape(image.height_px, image.width_px, 3)

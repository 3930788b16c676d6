"""What a server and its models say of themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Tuple

import numpy as np
from interlacer.v1 import interlacer_service_pb2 as service
from interlacer.v1 import types_pb2 as types

from .errors import mismatch


def seconds(duration: Any) -> float:
    """Of a google.protobuf.Duration."""
    return float(duration.ToNanoseconds() / 1e9)


@dataclass(frozen=True)
class Box:
    """Axis-aligned box in the world frame, metres: two corners of x, y, z."""

    min_m: Tuple[float, float, float]
    max_m: Tuple[float, float, float]

    @staticmethod
    def from_proto(box: types.Box) -> Box:
        return Box((box.min_m.x, box.min_m.y, box.min_m.z), (box.max_m.x, box.max_m.y, box.max_m.z))

    def to_proto(self) -> types.Box:
        corners = []
        for name, corner in (("min_m", self.min_m), ("max_m", self.max_m)):
            if np.shape(corner) != (3,):
                raise mismatch(name, "x, y, z", corner)
            corners.append(types.Vector3(x=float(corner[0]), y=float(corner[1]), z=float(corner[2])))
        return types.Box(min_m=corners[0], max_m=corners[1])

    def contains(self, points_m: Any) -> Any:
        """Of points [..., 3]: bool [...]."""
        points = np.asarray(points_m)
        return np.all((points >= self.min_m) & (points <= self.max_m), axis=-1)


@dataclass(frozen=True)
class CameraSpec:
    """A camera that the model expects, and the size that it works at; the server resamples other sizes."""

    name: str
    width_px: int
    height_px: int


@dataclass(frozen=True)
class ActionColumn:
    """One joint: name with its unit ("left_joint_1_rad"), range, largest change from row to row (0: any)."""

    name: str
    unit: str
    min_value: float
    max_value: float
    max_step_change: float

    @property
    def joint(self) -> str:
        """The name without its unit: "left_joint_1"."""
        return self.name[:-len(self.unit) - 1] if self.name.endswith("_" + self.unit) else self.name


_UNITS = {types.ACTION_UNIT_RADIANS: "rad", types.ACTION_UNIT_METERS: "m"}


@dataclass(frozen=True)
class ModelMetadata:
    """The contract of one model: what it takes, what it gives, what it costs."""

    model_name: str
    weights_sha256: str
    config_sha256: str
    attention_variant: str
    parameter_count: int
    particle_count: int
    history_step_count: int
    step_duration_s: float
    max_history_spacing_error_s: float
    cameras: Tuple[CameraSpec, ...]
    near_m: float
    far_m: float
    workspace: Box
    world_frame_name: str
    accepts_joints: bool
    accepts_kinematic_points: bool
    action_columns: Tuple[ActionColumn, ...]
    kinematic_point_names: Tuple[str, ...]
    robot_model_name: str
    trained_step_count: int
    step_cost_s: float
    render_cost_s: float
    ingest_cost_s: float
    carry_cost_s: float
    longest_unit_s: float
    min_particle_count: int

    @staticmethod
    def from_proto(m: service.GetModelMetadataResponse) -> ModelMetadata:
        return ModelMetadata(
            model_name=m.model_name, weights_sha256=m.weights_sha256, config_sha256=m.config_sha256,
            attention_variant=m.attention_variant, parameter_count=m.parameter_count,
            particle_count=m.particle_count, history_step_count=m.history_step_count,
            step_duration_s=seconds(m.step_duration),
            max_history_spacing_error_s=seconds(m.max_history_spacing_error),
            cameras=tuple(CameraSpec(c.name, c.width_px, c.height_px) for c in m.cameras),
            near_m=m.near_m, far_m=m.far_m, workspace=Box.from_proto(m.workspace),
            world_frame_name=m.world_frame_name,
            accepts_joints=types.ACTION_KIND_JOINT_POSITIONS in m.action_kinds,
            accepts_kinematic_points=types.ACTION_KIND_KINEMATIC_POINTS in m.action_kinds,
            action_columns=tuple(
                ActionColumn(c.name, _UNITS.get(c.unit, ""), c.min_value, c.max_value, c.max_step_change)
                for c in m.action_columns),
            kinematic_point_names=tuple(m.kinematic_point_names), robot_model_name=m.robot_model_name,
            trained_step_count=m.trained_step_count, step_cost_s=seconds(m.step_cost),
            render_cost_s=seconds(m.render_cost), ingest_cost_s=seconds(m.ingest_cost),
            carry_cost_s=seconds(m.carry_cost),
            longest_unit_s=seconds(m.longest_unit), min_particle_count=m.min_particle_count)


@dataclass(frozen=True)
class ModelStatus:
    """State of one model: "LOADING", "READY" or "FAILED"."""

    model_name: str
    state: str
    failure_message: str


@dataclass(frozen=True)
class Limits:
    """Limits in force; each has an error reason of its own (LIMIT_STEPS, QUEUE_FULL ...)."""

    max_request_bytes: int
    max_response_bytes: int
    max_image_side_px: int
    max_step_count: int
    max_candidate_count: int
    max_candidate_step_count: int
    max_render_target_count: int
    max_render_side_px: int
    max_queue_length: int
    max_scene_count: int
    default_scene_time_to_live_s: float
    max_scene_time_to_live_s: float
    max_camera_skew_s: float
    max_call_duration_s: float
    slow_reader_timeout_s: float
    max_scene_bytes: int

    @staticmethod
    def from_proto(limits: service.Limits) -> Limits:
        fields: Dict[str, Any] = {
            name: seconds(getattr(limits, name[:-2])) if name.endswith("_s") else getattr(limits, name)
            for name in Limits.__dataclass_fields__
        }
        return Limits(**fields)


@dataclass(frozen=True)
class ServerInfo:
    """Version, device, limits, and a state: "STARTING", "WARMING_UP", "SERVING", "DRAINING" or "DEVICE_LOST"."""

    server_version: str
    build_id: str
    instance_id: str
    device: str
    is_device_fallback: bool
    state: str
    models: Tuple[ModelStatus, ...]
    features: Tuple[str, ...]
    limits: Limits

    @staticmethod
    def from_proto(info: service.GetServerInfoResponse) -> ServerInfo:
        return ServerInfo(
            info.server_version, info.build_id, info.instance_id, info.device, info.is_device_fallback,
            enum_word(service.ServerState, info.state, "SERVER_STATE_"),
            tuple(ModelStatus(m.model_name, enum_word(service.ModelState, m.state, "MODEL_STATE_"), m.failure_message)
                  for m in info.models),
            tuple(info.features), Limits.from_proto(info.limits))


@dataclass(frozen=True)
class ModelStatistics:
    """Counters of one model since the server started. total_durations_s: sums by stage over all calls."""

    model_name: str
    success_count: int
    failure_count_by_reason: Dict[str, int]
    step_count: int
    candidate_count: int
    total_durations_s: Dict[str, float]


@dataclass(frozen=True)
class Statistics:
    """Counters by model, and what waits, runs and is kept now."""

    models: Tuple[ModelStatistics, ...]
    queue_length: int
    active_call_count: int
    scene_count: int

    @staticmethod
    def from_proto(s: service.GetStatisticsResponse) -> Statistics:
        models = tuple(
            ModelStatistics(m.model_name, m.success_count, dict(m.failure_count_by_reason), m.step_count,
                            m.candidate_count, stage_seconds(m.total_durations)) for m in s.models)
        return Statistics(models, s.queue_length, s.active_call_count, s.scene_count)


def stage_seconds(durations: service.StageDurations) -> Dict[str, float]:
    """By stage of the server: "queue", "lift", "dynamics" ..."""
    return {stage.name: seconds(getattr(durations, stage.name)) for stage in durations.DESCRIPTOR.fields}


def enum_word(enum: Any, number: int, prefix: str) -> str:
    """Name of an enum's value without its prefix; the number of a value that a newer server has."""
    return str(enum.Name(number)).replace(prefix, "", 1) if number in enum.values() else str(number)

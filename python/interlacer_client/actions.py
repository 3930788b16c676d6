"""What a robot does: rows of joint values by name, or of points on the robot."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np
from interlacer.v1 import types_pb2 as types
from numpy.typing import NDArray

from .errors import mismatch
from .metadata import ModelMetadata


class KinematicPoints(NamedTuple):
    """Points on the robot in the order of ModelMetadata.kinematic_point_names, world frame, metres: [rows, points, 3],
    or [points, 3] for one row. For robots whose joints the model does not know."""

    points_m: Any


#: One row a model step. By name {"left_joint_1": values [rows] or one value}, with or without the unit of the name; or an
#: array [rows, columns] in the order of ModelMetadata.action_columns ([columns] for one row); or KinematicPoints.
Actions = Union[Mapping[str, Any], Sequence[Mapping[str, Any]], KinematicPoints, NDArray[Any], Sequence[Any]]


def joint_names(model: ModelMetadata) -> List[str]:
    """Names of the action columns without units, in their order."""
    return [column.joint for column in model.action_columns]


def joint_rows(model: ModelMetadata, joints: Actions, field: str = "actions") -> NDArray[Any]:
    """float32 [rows, columns] of joint values by name or by position. Every column is needed, and no other name goes
    through: a name that is nobody's is more often a typing error than a joint to leave out."""
    if isinstance(joints, Mapping):
        return np.stack(np.broadcast_arrays(*_by_column(model, joints, field)), axis=-1)
    if isinstance(joints, (list, tuple)) and joints and isinstance(joints[0], Mapping):
        return np.concatenate([joint_rows(model, row, f"{field}[{i}]") for i, row in enumerate(joints)])
    rows = np.atleast_2d(_numbers(joints, field))
    width = len(model.action_columns)
    if rows.ndim != 2 or rows.shape[1] != width:
        raise mismatch(field, f"rows of {width} columns", f"shape {rows.shape}", "ACTION_SHAPE")
    return rows


def limit_changes(model: ModelMetadata, rows: NDArray[Any], start: Optional[NDArray[Any]]) -> NDArray[Any]:
    """Rows [..., rows, columns] of which each is within max_step_change of the one before it: the first of `start`
    [columns], where the robot is; where that is None, the first is free."""
    change = np.array([column.max_step_change or np.inf for column in model.action_columns])
    limited = np.array(rows)
    previous = start
    for i in range(limited.shape[-2]):
        if previous is not None:
            limited[..., i, :] = np.clip(limited[..., i, :], previous - change, previous + change)
        previous = limited[..., i, :]
    return limited


def _by_column(model: ModelMetadata, joints: Mapping[str, Any], field: str) -> List[NDArray[Any]]:
    values: Dict[str, Any] = dict(joints)
    columns = []
    missing = []
    for column in model.action_columns:
        key = column.name if column.name in values else column.joint
        if key not in values:
            missing.append(column.name)
            continue
        value = np.atleast_1d(_numbers(values.pop(key), f"{field}[{key!r}]"))
        if value.ndim != 1:
            raise mismatch(f"{field}[{key!r}]", "one value, or one a row", f"shape {value.shape}", "ACTION_SHAPE")
        columns.append(value)
    if missing:
        raise mismatch(field, f"a value for {', '.join(missing)}", f"only {', '.join(joints) or 'nothing'}", "ACTION_SHAPE")
    if values:
        raise mismatch(field, f"names among {', '.join(joint_names(model))}", ", ".join(values), "ACTION_SHAPE")
    if len({len(column) for column in columns} - {1}) > 1:
        raise mismatch(field, "equally many rows for every joint", sorted({len(c) for c in columns}), "ACTION_SHAPE")
    return columns


def to_proto(model: ModelMetadata, actions: Optional[Actions], field: str = "actions") -> types.ActionSequence:
    """Rows for the wire; empty for None."""
    if actions is None:
        return types.ActionSequence()
    if isinstance(actions, KinematicPoints):
        points = _numbers(actions.points_m, field)
        points = points[np.newaxis] if points.ndim == 2 else points
        if points.ndim != 3 or points.shape[2] != 3:
            raise mismatch(field, "points [rows, points, 3]", f"shape {points.shape}", "ACTION_SHAPE")
        return types.ActionSequence(kinematic_points_m=_matrix(points.reshape(points.shape[0], -1)))
    return types.ActionSequence(joint_positions=_matrix(joint_rows(model, actions, field)))


def row_count(model: ModelMetadata, actions: Actions) -> int:
    """Rows of a sequence, the steps that it reaches."""
    sequence = to_proto(model, actions)
    return max(sequence.joint_positions.row_count, sequence.kinematic_points_m.row_count)


def join(rows: Sequence[types.ActionSequence], field: str) -> Optional[types.ActionSequence]:
    """One sequence of sequences of one row each; None of empty ones."""
    kinds = [row.WhichOneof("kind") for row in rows]
    if not any(kinds):
        return None
    if len(set(kinds)) > 1:
        raise mismatch(field, "rows of one kind with every observation, or none", kinds, "ACTION_KIND")
    matrices = [row.joint_positions if kinds[0] == "joint_positions" else row.kinematic_points_m for row in rows]
    for i, matrix in enumerate(matrices):
        if (matrix.row_count, matrix.column_count) != (1, matrices[0].column_count):
            raise mismatch(f"{field}[{i}]", f"one row of {matrices[0].column_count} columns",
                           f"{matrix.row_count} of {matrix.column_count}", "ACTION_SHAPE")
    joined = types.FloatMatrix(row_count=len(rows), column_count=matrices[0].column_count,
                               values_f32le=b"".join(matrix.values_f32le for matrix in matrices))
    if kinds[0] == "joint_positions":
        return types.ActionSequence(joint_positions=joined)
    return types.ActionSequence(kinematic_points_m=joined)


def _numbers(values: Any, field: str) -> NDArray[Any]:
    if np.ma.is_masked(values):
        raise mismatch(field, "a number for every value", f"{np.ma.count_masked(values)} masked ones", "ACTION_NOT_FINITE")
    return np.asarray(values, dtype=np.float32)


def _matrix(rows: NDArray[Any]) -> types.FloatMatrix:
    return types.FloatMatrix(row_count=rows.shape[0], column_count=rows.shape[1],
                             values_f32le=np.ascontiguousarray(rows, dtype="<f4").tobytes())

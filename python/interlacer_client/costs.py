"""What a planner makes small. A term is a callable of a prediction and its action rows; so is any function of one's own.

The predictions that terms see have the steps that they ask for; step 0 is always the first. Metres and radians.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from .metadata import Box
from .prediction import Prediction


@dataclass(frozen=True)
class Term:
    """A weighted value; with a bound also a constraint: whoever exceeds it comes after all who do not. `region` picks the
    particles that lie in it at step 0."""

    region: Optional[Box] = None
    weight: float = 1.0
    bound: Optional[float] = None

    def __call__(self, prediction: Prediction, actions: NDArray[Any]) -> float:
        raise NotImplementedError

    def picked(self, prediction: Prediction) -> NDArray[Any]:
        """[steps, picked particles, 3]; NaN of one particle where none lies in the region, so that its value is NaN."""
        positions = prediction.positions_m
        if self.region is not None:
            positions = positions[:, self.region.contains(positions[0])]
        return positions if positions.shape[1] > 0 else np.full((len(positions), 1, 3), np.nan)


@dataclass(frozen=True)
class ObjectToPoint(Term):
    """Distance of the mean of the picked particles to a point, at the last step."""

    target_m: Tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __call__(self, prediction: Prediction, actions: NDArray[Any]) -> float:
        return float(np.linalg.norm(self.picked(prediction)[-1].mean(axis=0, dtype=np.float64) - self.target_m))


@dataclass(frozen=True)
class ObjectToBox(Term):
    """Mean distance of the picked particles to a box, at the last step; 0 inside."""

    box: Box = Box((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))

    def __call__(self, prediction: Prediction, actions: NDArray[Any]) -> float:
        points = self.picked(prediction)[-1].astype(np.float64)
        return float(np.linalg.norm(points - np.clip(points, self.box.min_m, self.box.max_m), axis=1).mean())


@dataclass(frozen=True, eq=False)
class GoalCloud(Term):
    """Half the sum of both mean distances to the nearest point, of the picked particles, at most 4096, and the goal's
    points [n, 3], at the last step (Chamfer)."""

    goal_m: Any = ()

    def __call__(self, prediction: Prediction, actions: NDArray[Any]) -> float:
        points = self.picked(prediction)[-1].astype(np.float64)
        goal = np.asarray(self.goal_m, dtype=np.float32).astype(np.float64)
        points = points[::-(-len(points) // 4096)]
        # Rows at a time: 4096 x 4096 distances would be half a gigabyte.
        there = np.empty(len(points))
        back = np.full(len(goal), np.inf)
        for begin in range(0, len(points), 256):
            distance = np.linalg.norm(points[begin:begin + 256, None] - goal[None], axis=2)
            there[begin:begin + 256] = distance.min(axis=1)
            back = np.minimum(back, distance.min(axis=0))
        return float((there.mean() + back.mean()) / 2)


@dataclass(frozen=True)
class KeepStill(Term):
    """Mean movement of the picked particles from step 0 to the last."""

    def __call__(self, prediction: Prediction, actions: NDArray[Any]) -> float:
        points = self.picked(prediction).astype(np.float64)
        return float(np.linalg.norm(points[-1] - points[0], axis=1).mean())


@dataclass(frozen=True)
class KeepOut(Term):
    """Share of the picked particles that are in a box at any of the steps."""

    box: Box = Box((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))

    def __call__(self, prediction: Prediction, actions: NDArray[Any]) -> float:
        points = self.picked(prediction)
        return float("nan") if np.isnan(points).any() else float(self.box.contains(points).any(axis=0).mean())


@dataclass(frozen=True)
class Uncertainty(Term):
    """Mean spread of the picked particles at the last step, metres; the planner asks for spreads."""

    def __call__(self, prediction: Prediction, actions: NDArray[Any]) -> float:
        spread, start = prediction.steps[-1].spread_m, prediction.positions_m[0]
        picked = slice(None) if self.region is None else self.region.contains(start)
        if spread is None or not len(spread[picked]):
            return float("nan")
        return float(spread[picked].mean(dtype=np.float64))


@dataclass(frozen=True)
class SmoothAction(Term):
    """Mean squared second difference of the action rows."""

    def __call__(self, prediction: Prediction, actions: NDArray[Any]) -> float:
        return float(np.mean(np.diff(actions, n=2, axis=0)**2)) if len(actions) > 2 else 0.0


@dataclass(frozen=True)
class SmallAction(Term):
    """Mean squared offset of the action rows from the first of them."""

    def __call__(self, prediction: Prediction, actions: NDArray[Any]) -> float:
        return float(np.mean((actions - actions[0])**2))

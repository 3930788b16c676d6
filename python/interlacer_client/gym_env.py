"""A gymnasium environment in which predictions take the place of the world. Needs gymnasium."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from .adapters import start_of, within_limits
from .candidates import CandidateSource
from .errors import InterlacerError, mismatch
from .output import Output
from .planner import Cost, score_of
from .prediction import PredictedStep, Prediction


class PredictedEnv(gymnasium.Env[NDArray[Any], NDArray[Any]]):
    """One episode is one rollout from a scene: an action is a row of joint values, commanded for one model step. It is
    clipped to the range of each column and to what a step may change.

    make_source   called by `reset`: where the episode begins (SceneSource of a kept scene is the cheap one)
    observe       a vector of a predicted step, such as the mean of an object's particles
    observation_space   of those vectors
    costs         the reward of a step is minus their weighted sum, as of Planner
    horizon       steps, then the episode is truncated. Where a prediction is not finite it is terminated

    The server computes a step by computing all before it again, so that an episode of n steps costs n (n + 1) / 2 of them.
    """

    def __init__(self, make_source: Callable[[], CandidateSource], observe: Callable[[PredictedStep], Any],
                 observation_space: spaces.Space[Any], costs: Sequence[Cost], *, horizon: int = 8,
                 output: Output = Output()) -> None:
        if horizon < 1:
            raise mismatch("horizon", "at least one step", horizon)
        self._make_source = make_source
        self._observe = observe
        self._costs = costs
        self._horizon = horizon
        self._output = replace(output, positions=output.positions or "float32")
        self._source = make_source()
        columns = self._source.model.action_columns
        self.action_space = spaces.Box(np.array([column.min_value for column in columns], np.float32),
                                       np.array([column.max_value for column in columns], np.float32))
        self.observation_space = observation_space
        self._rows: List[NDArray[Any]] = []
        self._is_new = True
        self.prediction: Optional[Prediction] = None  #: of the newest step, beside step 0

    def reset(self, *, seed: Optional[int] = None,
              options: Optional[Dict[str, Any]] = None) -> Tuple[NDArray[Any], Dict[str, Any]]:
        """The observation of the scene as it was seen: step 0 of a prediction of one step, whose row does not count.
        `options["hold"]`: that row; by default where the robot is, or the middle of each range where the source does not
        say."""
        super().reset(seed=seed)
        if not self._is_new:
            self._source = self._make_source()
        self._is_new = False
        self._rows = []
        box: Any = self.action_space
        start = start_of(self._source)
        hold = (options or {}).get("hold", (box.low + box.high) / 2 if start is None else start)
        prediction = self._predict([np.asarray(hold, np.float32)], [0])
        if prediction is None:
            raise InterlacerError("DATA_LOSS", "the scene has no finite prediction", "PREDICTION_NOT_FINITE")
        return self._observation(prediction.steps[0]), {}

    def step(self, action: NDArray[Any]) -> Tuple[NDArray[Any], float, bool, bool, Dict[str, Any]]:
        previous = self._rows[-1] if self._rows else start_of(self._source)
        self._rows.append(within_limits(np.asarray(action, np.float32)[np.newaxis], self._source, previous)[0])
        prediction = self.prediction = self._predict(self._rows, [0, len(self._rows)])
        is_last = len(self._rows) >= self._horizon
        if prediction is None:
            space: Any = self.observation_space
            return np.zeros(space.shape, space.dtype), -np.inf, True, is_last, {"reason": "PREDICTION_NOT_FINITE"}
        reward = -score_of(self._costs, prediction, np.stack(self._rows)).cost
        return self._observation(prediction.steps[-1]), reward, False, is_last, {}

    def _predict(self, rows: List[NDArray[Any]], steps: List[int]) -> Optional[Prediction]:
        found = next(iter(self._source.candidates([np.stack(rows)], replace(self._output, steps=steps))))
        return found.prediction

    def _observation(self, step: PredictedStep) -> NDArray[Any]:
        space: Any = self.observation_space
        return np.asarray(self._observe(step), space.dtype)

"""Other people's planners over our predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from .actions import limit_changes
from .candidates import CandidateSource
from .errors import InterlacerError, mismatch
from .output import Output
from .planner import Cost, Planner, candidate_scores
from .prediction import PredictedStep, Prediction


class Costable:
    """Made by as_costable."""

    def __init__(self, sources: Sequence[CandidateSource], costs: Sequence[Cost], output: Output) -> None:
        self.sources = list(sources)
        self._costs = costs
        self._output = output

    def get_cost(self, info_dict: Mapping[str, Any], action_candidates: Any) -> Any:
        """Costs [environments, samples] of candidates [environments, samples, horizon, columns], of the same kind of array
        and on the same device. Infinite where there is no prediction; who breaks a bound comes after all who do not."""
        rows = _rows(action_candidates, 4, "action_candidates")
        planner = Planner(self._costs, horizon=rows.shape[2], output=self._output)
        costs = [candidate_scores(source, planner, list(within_limits(samples, source, start_of(source))))[0]
                 for source, samples in zip(self._sources_of(info_dict, len(rows)), rows)]
        return _like(action_candidates, np.stack(costs))

    def _sources_of(self, info_dict: Mapping[str, Any], count: int) -> List[CandidateSource]:
        index = info_dict.get("source_index")
        if index is not None:  # solvers repeat it for every sample
            return [self.sources[int(i)] for i in np.asarray(index).reshape(count, -1)[:, 0]]
        if count != len(self.sources):
            raise mismatch("action_candidates", f"candidates of {len(self.sources)} environments, one a source, or their "
                           "numbers as info_dict['source_index']", str(count), "ACTION_SHAPE")
        return self.sources


def as_costable(sources: Union[CandidateSource, Sequence[CandidateSource]], costs: Sequence[Cost], *,
                output: Output = Output()) -> Costable:
    """An object with get_cost(info_dict, action_candidates) for planners in the form of stable-worldmodel, of numpy arrays
    or torch tensors: one source (SceneSource, FrameSource, ...) for each of their environments, whose `sources` may be
    replaced as they go on. A planner that passes some of its environments at a time says which:
    info_dict["source_index"]. Rows are clipped as by within_limits, from where the source's robot is. Costs as of Planner.
    Without gradients: for planners that draw samples."""
    return Costable(sources if isinstance(sources, Sequence) else [sources], costs, output)


class RolloutBackend:
    """Made by as_rollout_backend."""

    def __init__(self, source: CandidateSource, state: Callable[[PredictedStep], Any],
                 sensors: Optional[Callable[[PredictedStep], Any]], output: Output) -> None:
        self.source = source
        self.num_threads = 1
        self._state = state
        self._sensors = sensors
        self._output = output

    def rollout(self, x0: Any, controls: Any, last_policy_output: Any = None) -> Tuple[NDArray[Any], NDArray[Any], None]:
        """States [rollouts, steps, ...] and sensors [rollouts, steps, ...] of controls [rollouts, steps, columns], and no
        output of a policy. NaN without a prediction. `x0` is not looked at: a rollout begins at the source's scene."""
        del x0, last_policy_output
        rows = within_limits(_rows(controls, 3, "controls"), self.source, start_of(self.source))
        output = replace(self._output, steps=list(range(1, rows.shape[1] + 1)),
                         positions=self._output.positions or "float32")
        predictions: List[Optional[Prediction]] = [None] * len(rows)
        for found in self.source.candidates(list(rows), output):
            predictions[found.index] = found.prediction
        return _read(predictions, self._state), _read(predictions, self._sensors or (lambda step: np.zeros(0))), None

    def update(self, num_threads: int) -> None:
        """The server has threads of its own."""
        self.num_threads = num_threads


def as_rollout_backend(source: CandidateSource, state: Callable[[PredictedStep], Any], *,
                       sensors: Optional[Callable[[PredictedStep], Any]] = None,
                       output: Output = Output()) -> RolloutBackend:
    """An object with rollout(x0, controls) -> (states, sensors, None) and update(num_threads) for planners in the form of
    judo. `state` and `sensors` read a vector from a predicted step, such as the mean of an object's particles; `output`
    picks what steps hold (region, stride, views). Rows are clipped as by within_limits, from where the source's robot is.
    `source` may be replaced as the loop goes on."""
    return RolloutBackend(source, state, sensors, output)


def _rows(array: Any, dimensions: int, field: str) -> NDArray[Any]:
    """float32, of numpy arrays and of tensors on any device."""
    rows = np.asarray(array.detach().cpu().numpy() if hasattr(array, "detach") else array, dtype=np.float32)
    if rows.ndim != dimensions:
        raise mismatch(field, f"an array of {dimensions} dimensions", f"shape {rows.shape}", "ACTION_SHAPE")
    return rows


def start_of(source: CandidateSource) -> Optional[NDArray[Any]]:
    """The row of joint values where the source's robot is; None where the source does not say."""
    frames = getattr(source, "frames", None)
    return None if frames is None else frames.newest_joints


def within_limits(rows: NDArray[Any], source: CandidateSource, start: Optional[NDArray[Any]]) -> NDArray[Any]:
    """Rows [..., rows, columns] clipped to the range of their columns, then to what a step may change, from `start` on.
    One row beyond would have the server refuse all candidates of its call."""
    columns = source.model.action_columns
    if rows.shape[-1] != len(columns):
        raise mismatch("actions", f"rows of {len(columns)} columns", f"shape {rows.shape}", "ACTION_SHAPE")
    low, high = [column.min_value for column in columns], [column.max_value for column in columns]
    return limit_changes(source.model, np.clip(rows, low, high), start)


def _like(example: Any, values: NDArray[Any]) -> Any:
    if not hasattr(example, "new_tensor"):
        return values.astype(np.float32)
    return example.new_tensor(values.astype(np.float32))


def _read(predictions: Sequence[Optional[Prediction]], read: Callable[[PredictedStep], Any]) -> NDArray[Any]:
    """[predictions, steps, ...]; NaN of those that are None."""
    values = [None if prediction is None else np.array([read(step) for step in prediction.steps], np.float64)
              for prediction in predictions]
    shapes = {array.shape for array in values if array is not None}
    if not shapes:
        raise InterlacerError("DATA_LOSS", "no rollout has a prediction", "PREDICTION_NOT_FINITE")
    if len(shapes) > 1:
        raise mismatch("state", "vectors of one shape", str(sorted(shapes)))
    missing = np.full(shapes.pop(), np.nan)
    return np.stack([missing if array is None else array for array in values])

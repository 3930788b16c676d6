"""Searches an action sequence whose predicted outcome costs little: CEM or MPPI over knots."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from .actions import limit_changes
from .candidates import CandidateSource
from .costs import Term, Uncertainty
from .errors import InterlacerError, mismatch
from .metadata import ModelMetadata
from .output import Output
from .philox import PLANNER_STREAM, normal
from .prediction import Prediction

Cost = Union[Term, Callable[[Prediction, NDArray[Any]], float]]

_ELITE_SHARE = 0.125
_SMOOTHING = 0.1
_DEVIATION_FLOOR = 0.05  # of the first deviation
_LEAST_EFFECTIVE_SHARE = 0.1  # of the candidates, in MPPI's weights
_LEAST_GAIN = 0.01
_SPREAD_STEPS = 4  # that a step with a spread costs


@dataclass(frozen=True, eq=False)
class Plan:
    """actions: the best rows found, one a model step; mean: what the search came to. cost: of the best; terms: its values
    by name. best_costs: after each iteration. candidate_count: of an iteration. note: what a user should know, or ""."""

    actions: NDArray[Any]
    mean: NDArray[Any]
    cost: float
    terms: Dict[str, float]
    best_costs: Tuple[float, ...]
    candidate_count: int
    note: str

    def shifted(self, executed_rows: int) -> NDArray[Any]:
        """The mean after some rows were executed, its last row held: `initial` of the next plan."""
        rows = np.arange(executed_rows, executed_rows + len(self.mean))
        return self.mean[np.minimum(rows, len(self.mean) - 1)]


@dataclass(frozen=True)
class Planner:
    """Rows are drawn around a mean at a few knots, straight in between and from where the robot is, within range and
    largest change of each column. Candidate 0 is the mean, candidate 1 the best so far. The same seed, source and costs
    give the same plan.

    deviation     of the first draws: one a column, or by joint name (others do not move); by default 5 % of the range
    action_block  model steps for which a row is held
    """

    costs: Sequence[Cost]
    method: str = "cem"
    horizon: int = 8
    candidate_count: int = 64
    iterations: int = 4
    knots: int = 4
    action_block: int = 1
    seed: int = 0
    deviation: Any = None
    output: Output = field(default_factory=Output)

    def plan(self, source: CandidateSource, start: Any, *, initial: Any = None, budget_s: Optional[float] = None) -> Plan:
        """From the row `start`, where the robot is. `initial` [horizon, columns] is the first mean, by default staying
        there. Within `budget_s` of published cost fewer candidates are drawn; it may not be enough for two."""
        search = _Search(self, source, np.asarray(start, dtype=np.float64))
        return search.run(initial, budget_s)

    def asked(self) -> Output:
        """What the terms need: step 0 and the last; positions; one region where all terms share it. Steps and views that
        functions of one's own need are asked for in `output`."""
        terms = [cost for cost in self.costs if isinstance(cost, Term)]
        regions = [term.region for term in terms]
        is_shared = len(terms) == len(self.costs) and len(set(regions)) == 1
        steps = sorted({0, self.horizon, *(self.output.steps or ())})
        region = regions[0] if is_shared and regions[0] is not None else self.output.region
        spread = self.output.spread or any(isinstance(term, Uncertainty) for term in terms)
        return replace(self.output, steps=steps, positions=self.output.positions or "float32", region=region, spread=spread)


@dataclass(frozen=True, eq=False)
class _Candidate:
    score: Score
    knots: NDArray[Any]
    rows: NDArray[Any]


@dataclass(frozen=True)
class Score:
    """Of a prediction. `rank` orders candidates: by what is over the bounds, then by cost; the terms' values by name."""

    rank: Tuple[float, float]
    terms: Dict[str, float]

    @property
    def cost(self) -> float:
        return self.rank[1]


def candidate_scores(source: CandidateSource, planner: Planner,
                     rows: Sequence[NDArray[Any]]) -> Tuple[NDArray[Any], List[Optional[Score]]]:
    """One number a candidate, and the scores behind it: None without a prediction, or of NaN, whose number is infinite. Who
    breaks a bound comes after all who do not, by how much."""
    scored: List[Optional[Score]] = [None] * len(rows)
    for found in source.candidates(rows, planner.asked()):
        if found.prediction is not None:
            score = score_of(planner.costs, found.prediction, rows[found.index])
            scored[found.index] = score if np.isfinite(sum(score.rank)) else None
    ranks = np.array([score.rank if score is not None else (np.inf, np.inf) for score in scored])
    kept = ranks[ranks[:, 0] == 0, 1]
    return np.where(ranks[:, 0] > 0, kept.max(initial=0.0) + 1 + ranks[:, 0], ranks[:, 1]), scored


def score_of(costs: Sequence[Cost], prediction: Prediction, actions: NDArray[Any]) -> Score:
    """Weighted sum, what is over bounds, and values by name."""
    total, excess, values = 0.0, 0.0, {}
    for i, term in enumerate(costs):
        value = float(term(prediction, actions))
        weight, bound = (term.weight, term.bound) if isinstance(term, Term) else (1.0, None)
        total += weight * value
        excess += max(0.0, value - bound) if bound is not None else 0.0
        values[f"{i} {getattr(term, '__name__', type(term).__name__)}"] = value
    return Score((excess, total), values)


class _Search:
    def __init__(self, planner: Planner, source: CandidateSource, start: NDArray[Any]) -> None:
        self.p = planner
        self.source = source
        self.columns = source.model.action_columns
        if planner.method not in ("cem", "mppi"):
            raise mismatch("method", "'cem' or 'mppi'", repr(planner.method))
        if start.shape != (len(self.columns),):
            raise mismatch("start", f"one row of {len(self.columns)} columns", f"shape {start.shape}", "ACTION_SHAPE")
        if min(planner.horizon, planner.knots, planner.iterations, planner.action_block) < 1 or planner.candidate_count < 2:
            raise mismatch("planner", "horizon, knots, iterations, action_block above 0 and 2 candidates", planner)
        self.start = start
        self.low = np.array([column.min_value for column in self.columns])
        self.high = np.array([column.max_value for column in self.columns])
        self.knot_rows = np.linspace(planner.horizon / planner.knots, planner.horizon, planner.knots)
        self.best: Optional[_Candidate] = None

    def run(self, initial: Any, budget_s: Optional[float]) -> Plan:
        count, note = self.affordable(budget_s)
        mean = np.tile(self.start, (self.p.knots, 1)) if initial is None else self.knots_of(np.asarray(initial))
        first_deviation = np.tile(_deviation(self.p.deviation, self.source.model), (self.p.knots, 1))
        deviation = first_deviation
        ranks: List[Tuple[float, float]] = []
        for iteration in range(self.p.iterations):
            knots = self.draw(mean, deviation, count, iteration)
            scores = self.scores(knots)
            mean, deviation = self.update(mean, deviation, knots, scores)
            deviation = np.maximum(deviation, _DEVIATION_FLOOR * first_deviation)
            ranks.append(self.best.score.rank if self.best is not None else (np.inf, np.inf))
            if len(ranks) > 2 and ranks[-1][0] == ranks[-3][0] and not \
                    ranks[-1][1] < ranks[-3][1] - _LEAST_GAIN * abs(ranks[-3][1]):
                note += f"; no gain above {_LEAST_GAIN:.0%} in two iterations"
                break
        if self.best is None:
            raise InterlacerError("DATA_LOSS", "no candidate has a prediction of finite cost", "PREDICTION_NOT_FINITE")
        excess, cost = self.best.score.rank
        note += f"; bounds are exceeded by {excess:.3g}" if excess > 0 else ""
        return Plan(self.best.rows, self.rows(mean), cost, self.best.score.terms, tuple(cost for _, cost in ranks), count,
                    note.strip("; "))

    def affordable(self, budget_s: Optional[float]) -> Tuple[int, str]:
        """Candidates of an iteration, and what to say of it."""
        if budget_s is None:
            return self.p.candidate_count, ""
        steps = self.p.horizon * (_SPREAD_STEPS if self.p.asked().spread else 1)
        one_s = self.source.cost_s(1, steps)
        each_s = max(1e-9, self.source.cost_s(2, steps) - one_s)
        fits = int((budget_s / self.p.iterations - (one_s - each_s)) / each_s)
        if fits < 2:
            raise mismatch("budget_s", f"at least {self.p.iterations * (one_s + each_s):.3g} s for two candidates", budget_s)
        if fits >= self.p.candidate_count:
            return self.p.candidate_count, ""
        return fits, f"{fits} of {self.p.candidate_count} candidates fit {budget_s:g} s"

    def draw(self, mean: NDArray[Any], deviation: NDArray[Any], count: int, iteration: int) -> NDArray[Any]:
        """Knots [count, knots, columns]."""
        numbers = np.arange(mean.size).reshape(mean.shape)
        noise = normal(self.p.seed, PLANNER_STREAM, iteration, np.arange(count)[:, None, None], numbers[None])
        knots = np.clip(mean + deviation * noise, self.low, self.high)
        knots[0], knots[1] = mean, self.best.knots if self.best is not None else knots[1]
        return knots

    def rows(self, knots: NDArray[Any]) -> NDArray[Any]:
        """Action rows [horizon, columns] through the start and the knots, within what a step may change."""
        times = np.arange(1, self.p.horizon + 1)
        at = np.minimum(-(-times // self.p.action_block) * self.p.action_block, self.p.horizon)
        path = np.vstack([self.start, knots])
        rows = np.stack([np.interp(at, [0, *self.knot_rows], path[:, i]) for i in range(path.shape[1])], axis=1)
        return limit_changes(self.source.model, rows, self.start)

    def knots_of(self, rows: NDArray[Any]) -> NDArray[Any]:
        if rows.shape != (self.p.horizon, len(self.columns)):
            raise mismatch("initial", f"rows [{self.p.horizon}, {len(self.columns)}]", f"shape {rows.shape}", "ACTION_SHAPE")
        times = np.arange(1, self.p.horizon + 1)
        return np.stack([np.interp(self.knot_rows, times, rows[:, i]) for i in range(rows.shape[1])], axis=1)

    def scores(self, knots: NDArray[Any]) -> NDArray[Any]:
        """What the update goes by; the best candidate is kept."""
        rows = [self.rows(k) for k in knots]
        scores, scored = candidate_scores(self.source, self.p, rows)
        for score, k, r in zip(scored, knots, rows):  # by index, not by arrival: equal ranks give equal plans
            if score is not None and (self.best is None or score.rank < self.best.score.rank):
                self.best = _Candidate(score, k, r)
        return scores

    def update(self, mean: NDArray[Any], deviation: NDArray[Any], knots: NDArray[Any],
               scores: NDArray[Any]) -> Tuple[NDArray[Any], NDArray[Any]]:
        if not np.isfinite(scores).any():
            return mean, deviation
        if self.p.method == "mppi":
            return np.tensordot(_weights(scores), knots, 1), deviation
        order = np.argsort(scores, kind="stable")[:max(2, round(_ELITE_SHARE * len(knots)))]
        elite = knots[order[np.isfinite(scores[order])]]
        if len(elite) < 2:  # one has no deviation
            return mean, deviation
        return (_SMOOTHING * mean + (1 - _SMOOTHING) * elite.mean(axis=0),
                _SMOOTHING * deviation + (1 - _SMOOTHING) * elite.std(axis=0))


def _weights(scores: NDArray[Any]) -> NDArray[Any]:
    """exp(-(score - least) / temperature), normalised; the temperature rises until enough candidates count."""
    gaps = scores - scores.min()
    finite = gaps[np.isfinite(gaps)]
    temperature = max(float(finite.mean()) * 0.1, 1e-12)
    least = min(_LEAST_EFFECTIVE_SHARE * len(scores), len(finite) * 0.99)
    while True:
        weights: NDArray[Any] = np.exp(-gaps / temperature)
        weights /= weights.sum()
        if 1 / np.sum(weights**2) >= least:
            return weights
        temperature *= 2


def _deviation(deviation: Any, model: ModelMetadata) -> NDArray[Any]:
    """One a column."""
    columns = model.action_columns
    if deviation is None:
        return np.array([0.05 * (column.max_value - column.min_value) for column in columns])
    if isinstance(deviation, dict):
        unknown = set(deviation) - {column.joint for column in columns} - {column.name for column in columns}
        if unknown:
            raise mismatch("deviation", "names of joints", ", ".join(sorted(unknown)), "ACTION_SHAPE")
        by_name = [deviation.get(column.joint, deviation.get(column.name)) for column in columns]
        return np.array([0.0 if value is None else float(value) for value in by_name])
    return np.broadcast_to(np.asarray(deviation, dtype=np.float64), (len(columns),))

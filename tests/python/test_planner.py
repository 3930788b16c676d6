"""The planner finds a known optimum, keeps bounds, and plans the same twice; then once against the real server."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from interlacer_client import (ActionColumn, Box, Candidate, FrameSource, GoalCloud, InterlacerError, KeepOut, KeepStill,
                               ObjectToBox, ObjectToPoint, Planner, PredictedStep, Prediction, SmallAction, SmoothAction,
                               Uncertainty)
from interlacer_client.philox import PLANNER_STREAM, normal, philox

OBJECT = Box((0.0, 0.0, 0.0), (0.2, 0.2, 0.2))


def prediction(*positions, spread_m=None):
    steps = [PredictedStep(i, 0, np.asarray(p, np.float32), None, None, {}, {}, spread_m)
             for i, p in enumerate(positions)]
    return Prediction(steps, None)


class Pushed:
    """Ten particles of an object that follow the first two columns of the last action row, and ten that stand still."""

    def __init__(self, change=0.0, fails=(), order=1):
        columns = tuple(ActionColumn(name, "m", -1.0, 1.0, change) for name in ("x_m", "y_m", "idle_m"))
        self.model = SimpleNamespace(action_columns=columns)
        self.fails = fails
        self.order = order
        self.asked = []

    def start(self):
        random = np.random.default_rng(0)
        return np.vstack([random.uniform(0, 0.2, (10, 3)), random.uniform(1, 2, (10, 3))])

    def candidates(self, candidates, output):
        self.asked.append((len(candidates), output))
        start = self.start()
        for index in list(range(len(candidates)))[::self.order]:
            if index in self.fails:
                yield Candidate(index, None, "PREDICTION_NOT_FINITE")
                continue
            end = start.copy()
            end[:10, :2] += candidates[index][-1][:2]
            spread = np.full(20, abs(candidates[index][-1][0]), np.float32)
            yield Candidate(index, prediction(start, end, spread_m=spread))

    def cost_s(self, candidate_count, step_count):
        return 1.0 + 0.1 * candidate_count * step_count


class PushedGrid(Pushed):
    """As in tests/client/planner_test.cpp."""

    def start(self):
        grid = [[0.05 * (p % 5), 0.1 * (p // 5 % 2), 0.1] for p in range(20)]
        return (np.array(grid) + np.repeat([[0.0], [1.0]], 10, axis=0)).astype(np.float32)


def test_philox_gives_the_published_numbers():
    """Known answers of Random123, the authors' own code."""
    for counter, key, answer in (
            ((0, 0, 0, 0), 0, (0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8)),
            ((2**32 - 1,) * 4, 2**64 - 1, (0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd)),
            ((0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344), 0x299f31d0_a4093822,
             (0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1))):
        assert philox(key, *counter).tolist() == list(answer)
    draws = normal(7, 12, 0, np.arange(20000), 0)
    assert abs(draws.mean()) < 0.03 and abs(draws.std() - 1) < 0.03


class TestTerms:
    CLOUDS = prediction([[0.1, 0.1, 0.1], [0.1, 0.0, 0.1], [5, 5, 5]], [[1, 0, 0], [3, 0, 0], [6, 5, 5]])

    @pytest.mark.parametrize("term, value", [
        (ObjectToPoint(OBJECT, target_m=(2, 0, 3)), 3), (ObjectToPoint(target_m=(10 / 3, 5 / 3, 0)), 5 / 3),
        (ObjectToBox(OBJECT, box=Box((2, -1, -1), (3, 1, 1))), 0.5),
        (KeepStill(Box((4, 4, 4), (6, 6, 6))), 1), (KeepOut(box=Box((2, -1, -1), (4, 1, 1))), 1 / 3),
        (KeepOut(box=Box((0.05, 0.05, 0.05), (1.5, 1, 1))), 1 / 3),
        (GoalCloud(OBJECT, goal_m=[[1, 0, 0], [1, 0, 1]]), (1 + 0.5) / 2),
    ])
    def test_have_their_values(self, term, value):
        assert term(self.CLOUDS, np.zeros((2, 1))) == pytest.approx(value, abs=1e-6)

    def test_without_particles_are_nan(self):
        for kind in (ObjectToPoint, ObjectToBox, KeepStill, KeepOut, Uncertainty):
            assert np.isnan(kind(Box((7, 7, 7), (8, 8, 8)))(self.CLOUDS, np.zeros((2, 1))))

    def test_of_actions(self):
        rows = np.array([[0.0], [1.0], [4.0]])
        assert SmoothAction()(self.CLOUDS, rows) == 4 and SmoothAction()(self.CLOUDS, rows[:2]) == 0
        assert SmallAction()(self.CLOUDS, rows) == pytest.approx(17 / 3)

    def test_of_large_clouds_are_those_of_the_thinned_one(self):
        points = np.random.default_rng(2).normal(size=(6000, 3))
        goal = points[::7] + 0.01
        dense = np.linalg.norm(points[::2].astype(np.float32)[:, None] - goal.astype(np.float32)[None], axis=2)
        expected = (dense.min(axis=1).mean() + dense.min(axis=0).mean()) / 2
        assert GoalCloud(goal_m=goal)(prediction(points, points), None) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("method", ["cem", "mppi"])
def test_the_known_optimum_is_found(method):
    source = Pushed()
    target = (0.55, -0.15, 0.1)
    planner = Planner([ObjectToPoint(OBJECT, target_m=target)], method=method, horizon=6, iterations=12, seed=3,
                      deviation={"x": 0.3, "y": 0.3})
    plan = planner.plan(source, np.zeros(3))
    # Where the object's middle is decides how near it can get: the planner moves it in the plane only.
    assert plan.cost < 0.06 and plan.actions.shape == (6, 3)
    assert not plan.actions[:, 2].any()  # a joint without deviation does not move
    assert plan.best_costs[-1] == plan.cost <= plan.best_costs[0]
    assert source.asked[0][0] == 64 and source.asked[0][1].steps == [0, 6] and source.asked[0][1].region == OBJECT


def test_the_same_seed_gives_the_same_plan_in_any_order_of_arrival():
    planner = Planner([ObjectToPoint(OBJECT, target_m=(0.5, 0.2, 0.1)), SmoothAction(weight=0.1)], horizon=4, seed=5)
    first, second, other = (planner.plan(Pushed(order=order), np.zeros(3)) for order in (1, 1, -1))
    for plan in (second, other):
        np.testing.assert_array_equal(plan.actions, first.actions)
        np.testing.assert_array_equal(plan.mean, first.mean)
        assert plan.terms == first.terms
    assert set(first.terms) == {"0 ObjectToPoint", "1 SmoothAction"}
    reseeded = Planner(planner.costs, horizon=4, seed=6).plan(Pushed(), np.zeros(3))
    assert (reseeded.actions != first.actions).any()


def plan_of_the_file(method):
    costs = [ObjectToPoint(OBJECT, target_m=(0.4, -0.1, 0.1)), SmoothAction(weight=0.5),
             KeepStill(OBJECT, weight=0.1, bound=0.3), KeepOut(OBJECT, box=Box((0.45, -1, 0), (1, 1, 1)), weight=0.2),
             ObjectToBox(OBJECT, box=Box((0.3, -0.2, 0), (0.5, 0, 1)), weight=0.3),
             GoalCloud(OBJECT, goal_m=[[0.4, -0.1, 0.1], [0.35, -0.05, 0.1]], weight=0.2), Uncertainty(OBJECT, weight=0.01)]
    planner = Planner(costs, method=method,
                      horizon=5, iterations=5, candidate_count=40, seed=11, deviation=np.array([0.3, 0.2, 0.0]))
    return planner.plan(PushedGrid(change=0.15), np.zeros(3))


def test_plans_are_those_of_the_client_in_cpp():
    """Both read the file; tests/client/planner_test.cpp plans the same."""
    plans = json.loads((Path(__file__).parents[1] / "golden/planner/plans.json").read_text())["plans"]
    assert [plan["method"] for plan in plans] == ["cem", "mppi"]
    for expected in plans:
        plan = plan_of_the_file(expected["method"])
        np.testing.assert_allclose(plan.actions.ravel(), expected["rows"], atol=1e-9)
        np.testing.assert_allclose(plan.mean.ravel(), expected["mean"], atol=1e-9)
        assert plan.cost == pytest.approx(expected["cost"], abs=1e-6)


def test_ranges_largest_changes_and_blocks_are_kept():
    planner = Planner([ObjectToPoint(OBJECT, target_m=(9, 9, 0))], horizon=6, knots=2, deviation=2.0, action_block=3)
    plan = planner.plan(Pushed(change=0.1), np.array([0.9, 0, 0]))
    steps = np.diff(np.vstack([[0.9, 0, 0], plan.actions]), axis=0)
    assert np.abs(steps).max() <= 0.1 + 1e-12 and plan.actions.max() <= 1
    free = planner.plan(Pushed(), np.zeros(3)).actions
    np.testing.assert_array_equal(free[:3], np.repeat(free[:1], 3, axis=0))
    np.testing.assert_array_equal(free[3:], np.repeat(free[3:4], 3, axis=0))


def test_bounds_come_before_costs():
    far = ObjectToPoint(OBJECT, target_m=(0.9, 0.1, 0.1))

    def plan(*terms):
        return Planner([far, *terms], horizon=2, iterations=8, deviation=0.3).plan(Pushed(), np.zeros(3))

    bounded = plan(KeepStill(OBJECT, weight=0, bound=0.3))
    assert bounded.terms["1 KeepStill"] <= 0.3 and bounded.note.find("exceeded") < 0
    assert 0.25 < bounded.terms["1 KeepStill"] and plan().terms["0 ObjectToPoint"] < bounded.terms["0 ObjectToPoint"]
    impossible = plan(KeepStill(OBJECT, weight=0, bound=-1))
    assert "bounds are exceeded by 1" in impossible.note


def test_candidates_that_fail_and_costs_that_are_nan_come_last():
    def picky(predicted, actions):
        return float("nan") if actions[-1, 0] > 0 else float(actions[-1, 0])

    plan = Planner([picky], horizon=2, deviation=0.3).plan(Pushed(fails=range(2, 20)), np.zeros(3))
    assert plan.actions[-1, 0] < -0.5 and list(plan.terms) == ["0 picky"]
    with pytest.raises(InterlacerError, match="no candidate"):
        Planner([lambda predicted, actions: float("nan")], horizon=2).plan(Pushed(), np.zeros(3))


@pytest.mark.parametrize("finite", [[5], [3, 7], list(range(20))])
def test_an_elite_is_of_finite_candidates_alone(finite):
    seen = []

    def cost(predicted, actions):
        seen.append(actions[0])
        return float(len(seen))

    fails = set(range(64)) - set(finite)
    planner = Planner([cost], horizon=1, knots=1, iterations=2, seed=2, deviation=0.3)
    found = planner.plan(Pushed(fails=fails), np.zeros(3))
    if len(finite) == 1:  # nothing is learnt from one, so both draws are from the first mean and deviation
        draws = [np.clip(0.3 * normal(2, PLANNER_STREAM, iteration, 5, np.arange(3)), -1, 1) for iteration in (0, 1)]
        np.testing.assert_allclose(seen, draws, atol=1e-12)
        assert not found.mean.any()
    else:
        first, second = (np.mean(seen[i:][:min(8, len(finite))], axis=0) for i in (0, len(finite)))
        np.testing.assert_allclose(found.mean[0], 0.1 * 0.9 * first + 0.9 * second, atol=1e-12)


def test_a_budget_draws_fewer_candidates_and_says_so():
    source = Pushed()
    planner = Planner([ObjectToPoint(OBJECT)], horizon=5, iterations=2, candidate_count=50)
    plan = planner.plan(source, np.zeros(3), budget_s=22.0)  # an iteration of n candidates takes 1 + n / 2 s
    assert plan.candidate_count == source.asked[0][0] == 20 and plan.note == "20 of 50 candidates fit 22 s"
    assert planner.plan(source, np.zeros(3), budget_s=1e6).candidate_count == 50
    with pytest.raises(InterlacerError, match="budget_s: expected at least 4 s"):
        planner.plan(source, np.zeros(3), budget_s=3.0)


def test_it_stops_without_gain_and_goes_on_from_the_last_plan():
    planner = Planner([lambda predicted, actions: 1.0], horizon=3, iterations=9)
    stopped = planner.plan(Pushed(), np.zeros(3))
    assert len(stopped.best_costs) == 3 and "no gain" in stopped.note
    initial = np.array([[0.1, 0, 0], [0.2, 0, 0], [0.3, 0, 0]])
    mean = Planner([lambda predicted, actions: 0.0], horizon=3, knots=3, iterations=1, deviation=0.0).plan(
        Pushed(), np.zeros(3), initial=initial)
    np.testing.assert_allclose(mean.actions, initial, atol=1e-12)
    np.testing.assert_allclose(mean.shifted(1)[:, 0], [0.2, 0.3, 0.3], atol=1e-12)


@pytest.mark.parametrize("change", [{"method": "genetic"}, {"horizon": 0}, {"candidate_count": 1}, {"deviation": {"z": 1}}])
def test_what_no_search_can_do_is_refused(change):
    with pytest.raises(InterlacerError, match="INVALID_ARGUMENT"):
        Planner(**{"costs": [SmoothAction()], **change}).plan(Pushed(), np.zeros(3))
    with pytest.raises(InterlacerError, match="ACTION_SHAPE"):
        Planner([SmoothAction()]).plan(Pushed(), np.zeros(2))


def test_a_plan_of_the_real_model(client, model, episode, frames):
    source = FrameSource(client, frames)
    region = Box((-0.3, -0.3, 0.0), (0.3, 0.3, 0.2))
    planner = Planner([KeepStill(region), SmallAction(weight=0.1)], horizon=2, knots=1, candidate_count=2, iterations=2,
                      deviation={"left_joint_1": 0.1, "right_joint_1": 0.1})
    first, second = (planner.plan(source, episode.states[1]) for _ in range(2))
    np.testing.assert_array_equal(first.actions, second.actions)
    assert np.isfinite(first.cost) and first.best_costs[1] <= first.best_costs[0]
    assert source.cost_s(3, 2) == pytest.approx(model.ingest_cost_s + 3 * 2 * model.step_cost_s)

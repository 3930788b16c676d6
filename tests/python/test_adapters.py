"""Other people's planners: the forms that they ask for, and one of them for real where it is installed."""

from types import SimpleNamespace

import numpy as np
import pytest
from interlacer_client import (Box, Candidate, FrameSource, InterlacerError, KeepOut, ObjectToPoint, Output, as_costable,
                               as_rollout_backend)
from test_planner import OBJECT, Pushed, prediction

GOAL = ObjectToPoint(OBJECT, target_m=(0.4, 0.3, 0.1))


class PushedInSteps(Pushed):
    """Answers every step that is asked for: the object is where the row of that step puts it."""

    def candidates(self, candidates, output):
        for index, rows in enumerate(candidates):
            if index in self.fails:
                yield Candidate(index, None, "PREDICTION_NOT_FINITE")
                continue
            clouds = []
            for step in output.steps:
                cloud = self.start()
                cloud[:10, :2] += rows[step - 1][:2] if step > 0 else 0
                clouds.append(cloud)
            yield Candidate(index, prediction(*clouds))


def starting(source, joints):
    """The source, which says where its robot is."""
    source.frames = SimpleNamespace(newest_joints=np.array(joints, np.float32))
    return source


def rows(count, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (1, count, 4, 3)).astype(np.float32)


class TestCostable:
    def test_costs_are_those_of_the_terms(self):
        source = Pushed()
        candidates = rows(5)
        costs = as_costable(source, [GOAL]).get_cost({}, candidates)
        start = source.start()[:10]
        for cost, sample in zip(costs[0], candidates[0]):
            end = start.mean(axis=0) + np.append(sample[-1][:2], 0)
            assert cost == pytest.approx(np.linalg.norm(end - GOAL.target_m), abs=1e-5)
        assert costs.shape == (1, 5) and costs.dtype == np.float32

    def test_without_a_prediction_and_out_of_bounds_come_last(self):
        source = Pushed(fails=[1])
        candidates = np.zeros((1, 3, 2, 3), np.float32)
        candidates[0, 2, :, 0] = 0.5  # into the forbidden box
        costs = as_costable(source, [GOAL, KeepOut(box=Box((0.5, -1, -1), (1, 1, 1)), bound=0.1, region=OBJECT)]).get_cost(
            {}, candidates)[0]
        assert costs[0] < costs[2] < costs[1] == np.inf

    def test_environments_have_a_source_each_and_may_come_in_parts(self):
        near, far = Pushed(), Pushed()
        far.start = lambda: near.start() + [0.05, 0, 0]
        both = as_costable([near, far], [GOAL])
        candidates = np.repeat(rows(4), 2, axis=0)
        costs = both.get_cost({}, candidates)
        assert not np.allclose(costs[0], costs[1])
        part = both.get_cost({"source_index": np.full((1, 4), 1)}, candidates[:1])
        np.testing.assert_array_equal(part[0], costs[1])
        with pytest.raises(InterlacerError, match="source_index"):
            both.get_cost({}, candidates[:1])

    def test_rows_stay_in_range_and_odd_shapes_are_refused(self):
        wide = 10 * rows(3)
        costs = as_costable(Pushed(), [GOAL])
        np.testing.assert_array_equal(costs.get_cost({}, wide), costs.get_cost({}, np.clip(wide, -1, 1)))
        for shape in ((1, 3, 4, 2), (3, 4, 3)):
            with pytest.raises(InterlacerError, match="ACTION_SHAPE"):
                costs.get_cost({}, np.zeros(shape))

    def test_tensors_give_tensors(self):
        torch = pytest.importorskip("torch")
        costs = as_costable(Pushed(), [GOAL])
        candidates = torch.from_numpy(rows(3))
        given = costs.get_cost({}, candidates)
        assert isinstance(given, torch.Tensor) and given.dtype == torch.float32
        np.testing.assert_array_equal(given.numpy(), costs.get_cost({}, rows(3)))

    def test_the_solver_of_stable_worldmodel_finds_the_goal(self):
        torch = pytest.importorskip("torch")
        cem = pytest.importorskip("stable_worldmodel.solver.cem")
        spaces = pytest.importorskip("gymnasium.spaces")
        solver = cem.CEMSolver(as_costable(Pushed(), [GOAL]), num_samples=64, n_steps=12, topk=8, seed=3)
        solver.configure(action_space=spaces.Box(-1, 1, (1, 3)), n_envs=1, config=SimpleNamespace(horizon=2, action_block=1))
        plan = solver.solve({"pixels": torch.zeros(1, 1)})["actions"][0, -1]
        target = np.array(GOAL.target_m[:2]) - Pushed().start()[:10, :2].mean(axis=0)
        np.testing.assert_allclose(plan[:2], target, atol=0.05)

    def test_rows_change_by_no_more_than_a_step_may(self):
        source = starting(Pushed(change=0.1), [0.5, 0, 0])
        ranks = as_costable(source, [lambda prediction, actions: actions[:, 0].sum()])
        candidates = np.zeros((1, 2, 3, 3), np.float32)
        candidates[0, 1, :, 0] = [2, 0.5, 0.9]
        np.testing.assert_allclose(ranks.get_cost({}, candidates), [[0.4 + 0.3 + 0.2, 0.6 + 0.5 + 0.6]], atol=1e-6)
        del source.frames  # it does not say where the robot is: the first row is free
        np.testing.assert_allclose(ranks.get_cost({}, candidates), [[0, 1 + 0.9 + 0.9]], atol=1e-6)

    def test_against_a_server(self, client, episode, frames):
        candidates = np.tile(np.asarray(episode.states[1], np.float32), (1, 3, 2, 1))
        candidates[0, 1, :, 1] += 0.1
        candidates[0, 2, 1] *= -1  # further than a step reaches
        costs = as_costable(FrameSource(client, frames), [ObjectToPoint(target_m=(0, 0, 0))]).get_cost({}, candidates)
        assert costs.shape == (1, 3) and np.isfinite(costs).all()


class TestRolloutBackend:
    def test_states_and_sensors_are_read_from_every_step(self):
        backend = as_rollout_backend(PushedInSteps(), lambda step: step.positions_m[:10].mean(axis=0),
                                     sensors=lambda step: [step.positions_m[0, 0]])
        controls = rows(3)[0]
        states, sensors, policy = backend.rollout(np.zeros(7), controls)
        assert (states.shape, sensors.shape, policy) == ((3, 4, 3), (3, 4, 1), None)
        moved = states - Pushed().start()[:10].mean(axis=0)
        np.testing.assert_allclose(moved[..., :2], controls[..., :2], atol=1e-5)
        backend.update(4)
        assert backend.num_threads == 4

    def test_no_prediction_is_nan(self):
        backend = as_rollout_backend(PushedInSteps(fails=[0]), lambda step: step.positions_m[0])
        states, sensors, _ = backend.rollout(None, rows(2)[0])
        assert np.isnan(states[0]).all() and np.isfinite(states[1]).all() and sensors.shape == (2, 4, 0)
        with pytest.raises(InterlacerError, match="PREDICTION_NOT_FINITE"):
            as_rollout_backend(PushedInSteps(fails=[0, 1]), lambda step: 0).rollout(None, rows(2)[0])

    def test_controls_change_by_no_more_than_a_step_may(self):
        backend = as_rollout_backend(starting(PushedInSteps(change=0.1), [0.5, 0, 0]),
                                     lambda step: step.positions_m[:10].mean(axis=0))
        states, _, _ = backend.rollout(None, np.ones((1, 2, 3), np.float32))
        moved = states[0] - Pushed().start()[:10].mean(axis=0)
        np.testing.assert_allclose(moved[:, :2], [[0.6, 0.1], [0.7, 0.2]], atol=1e-5)

    def test_what_is_asked_for(self):
        asked = []
        source = PushedInSteps()
        answer = source.candidates
        source.candidates = lambda candidates, output: asked.append(output) or answer(candidates, output)
        as_rollout_backend(source, lambda step: [0.0], output=Output(region=OBJECT)).rollout(None, rows(2)[0])
        assert (asked[0].steps, asked[0].positions, asked[0].region) == ([1, 2, 3, 4], "float32", OBJECT)


class TestGym:
    def make(self, source, **options):
        gym_env = pytest.importorskip("interlacer_client.gym_env")
        from gymnasium import spaces
        return gym_env.PredictedEnv(lambda: source, lambda step: step.positions_m[:10].mean(axis=0),
                                    spaces.Box(-10, 10, (3,), np.float32), [GOAL], horizon=3, **options)

    def test_an_episode_is_a_rollout(self):
        source = PushedInSteps()
        env = self.make(source)
        start, _ = env.reset(options={"hold": np.zeros(3)})
        np.testing.assert_allclose(start, source.start()[:10].mean(axis=0), atol=1e-6)
        ends = []
        for i in range(3):
            seen, reward, terminated, truncated, _ = env.step(np.array([0.1 * (i + 1), 0, 0]))
            np.testing.assert_allclose(seen - start, [0.1 * (i + 1), 0, 0], atol=1e-5)
            assert reward == pytest.approx(-np.linalg.norm(seen - GOAL.target_m), abs=1e-4)
            assert len(env.prediction.steps) == 2
            ends.append((terminated, truncated))
        assert ends == [(False, False), (False, False), (False, True)]
        assert env.action_space.low.tolist() == [-1, -1, -1]

    def test_actions_begin_where_the_robot_is_and_keep_to_their_limits(self):
        source = starting(PushedInSteps(change=0.1), [0.5, 0, 0])
        held = []
        answer = source.candidates
        source.candidates = lambda candidates, output: held.append(candidates[0]) or answer(candidates, output)
        env = self.make(source)
        start, _ = env.reset()
        np.testing.assert_array_equal(held[0], [[0.5, 0, 0]])
        for x in (0.6, 0.7):
            seen, *_ = env.step(np.array([2.0, 0, 0]))
            np.testing.assert_allclose(seen - start, [x, 0, 0], atol=1e-5)

    def test_sampled_actions_against_a_server(self, client, frames):
        env = self.make(FrameSource(client, frames))
        env.reset(seed=1)
        env.action_space.seed(1)
        for _ in range(2):
            _, reward, terminated, _, _ = env.step(env.action_space.sample())
            assert np.isfinite(reward) and not terminated

    def test_what_cannot_be_predicted_ends_the_episode(self):
        source = PushedInSteps()
        env = self.make(source)
        env.reset()
        source.fails = [0]
        _, reward, terminated, _, info = env.step(np.zeros(3))
        assert terminated and reward == -np.inf and info["reason"] == "PREDICTION_NOT_FINITE"

    def test_gymnasium_finds_it_in_order(self):
        env = self.make(PushedInSteps())
        pytest.importorskip("gymnasium.utils.env_checker").check_env(env, skip_render_check=True)

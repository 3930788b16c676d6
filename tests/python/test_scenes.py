"""Scenes that the server keeps, and candidates over them, against the real server and a shipped checkpoint."""

import asyncio
import time

import numpy as np
import pytest
from interlacer_client import (AsyncClient, Box, Client, InterlacerError, KeepStill, Output, Planner, Recorder, SceneFrames,
                               SceneSource, read_recording)

EXACT = Output(positions="float32", colors=True, views=["left"])


def same(first, second):
    np.testing.assert_array_equal(first.positions_m, second.positions_m)
    np.testing.assert_array_equal(first.colors, second.colors)
    np.testing.assert_array_equal(first.views["left"], second.views["left"])


def test_a_scene_gives_the_bytes_of_its_frames(client, frames, plan):
    by_frames = client.predict(frames, plan, EXACT).result()
    with client.scene(frames, ttl_s=20) as scene:
        assert scene.time_to_live_s == 20 and len(scene.scene_id) == 32
        assert scene.report == client.validate(frames)
        by_scene = scene.predict(plan, EXACT).result()
        assert by_scene.summary.scene_report is None
        for first, second in zip(by_frames.steps, by_scene.steps):
            same(first, second)


def test_candidates_have_the_bytes_of_rollouts(client, frames, plan):
    plans = [plan, np.repeat(plan[:1], 3, axis=0), plan]
    with client.scene(frames) as scene:
        output = Output(positions="float32", colors=True, views=["left"], steps=[1, 3])
        found = list(scene.candidates(plans, output))
        assert [c.index for c in found] == [0, 1, 2] and found[-1].prediction.summary.computed_step_count == 9
        for candidate, actions in zip(found, plans):
            alone = client.predict(frames, actions, output).result()
            for first, second in zip(candidate.prediction.steps, alone.steps):
                same(first, second)
    assert (found[0].prediction.positions_m != found[1].prediction.positions_m).any()


def test_an_updated_scene_is_that_of_the_newest_frames(client, model, episode, frames, plan):
    later = episode.frames(model, 2)
    with client.scene(frames) as scene:
        scene.update(later)
        same(scene.predict(plan, EXACT).result().steps[0], client.predict(later, plan, EXACT).result().steps[0])
        with pytest.raises(InterlacerError) as caught:
            scene.update(later)
        assert (caught.value.reason, caught.value.field) == ("HISTORY_SPACING", "observation")


def test_a_scene_that_is_gone_is_made_again(client, model, episode, frames, plan):
    expected = client.predict(frames, plan, EXACT).result().steps[-1]
    scene = client.scene(frames)
    for use in (lambda: scene.predict(plan, EXACT).result().steps[-1],
                lambda: list(scene.candidates([plan], EXACT))[0].prediction.steps[-1]):
        gone = scene.scene_id
        scene.delete()
        same(use(), expected)
        assert scene.scene_id != gone
    scene.delete()
    later = episode.frames(model, 2)
    scene.update(later)
    same(scene.predict(plan, EXACT).result().steps[0], client.predict(later, plan, EXACT).result().steps[0])
    scene.delete()
    scene.delete()


def test_cancelling_while_a_scene_is_made_again_ends_the_call(client, frames, plan):
    with client.scene(frames) as scene:
        scene.delete()
        rollout = scene.predict(plan)
        create_again = scene.create_again
        scene.create_again = lambda lost_id: rollout.cancel() or create_again(lost_id)
        with pytest.raises(InterlacerError, match="CANCELLED"):
            rollout.result()


def test_an_update_that_fails_leaves_the_scene_as_it_was(client, model, episode, frames, plan):
    expected = client.predict(frames, plan, EXACT).result().steps[-1]
    later, too_late = episode.frames(model, 2), episode.frames(model, 4)
    lacking = SceneFrames(model).add(0, {})
    with client.scene(frames) as scene:
        with pytest.raises(InterlacerError, match="HISTORY_SPACING"):
            scene.update(too_late)
        scene.delete()
        with pytest.raises(InterlacerError, match="HISTORY_LENGTH"):  # when it is made again
            scene.update(lacking)
        same(scene.predict(plan, EXACT).result().steps[-1], expected)
        scene.update(later)
        scene.delete()
        same(scene.predict(plan, EXACT).result().steps[-1], client.predict(later, plan, EXACT).result().steps[-1])


def test_one_bad_candidate_is_named(client, frames, plan):
    with client.scene(frames) as scene, pytest.raises(InterlacerError) as caught:
        list(scene.candidates([plan, plan + 90]))
    assert (caught.value.reason, caught.value.field) == ("ACTION_OUT_OF_RANGE", "candidates[1].joint_positions.values_f32le")
    with pytest.raises(InterlacerError, match="LIMIT_CANDIDATES"):
        list(client.candidates(frames, [plan] * 1000))
    with pytest.raises(InterlacerError, match="ACTION_SHAPE"):
        list(client.candidates(frames, []))


def test_leaving_the_loop_ends_the_call(client, frames, plan):
    with client.scene(frames) as scene:
        start_s = time.monotonic()
        list(scene.candidates([plan]))
        one_s = time.monotonic() - start_s
        for candidate in scene.candidates([plan] * 200, deadline_s=600):
            break
        assert candidate.index == 0
        start_s = time.monotonic()
        list(scene.candidates([plan], deadline_s=600))
        assert time.monotonic() - start_s < 60 * one_s  # 199 more, before it in the one worker, would take longer


def test_statistics_count(client, frames, plan):
    def counts():
        model = client.statistics().models[0]
        return model.step_count, model.candidate_count

    steps, candidates = counts()
    with client.scene(frames) as scene:
        assert client.statistics().scene_count >= 1
        list(scene.candidates([plan, plan]))
    assert counts() == (steps + 6, candidates + 2)
    assert client.info().limits.max_scene_count == 16 and "candidates" in client.info().features


def test_a_planner_over_a_scene(client, model, episode, frames):
    start = dict(zip([column.joint for column in model.action_columns], episode.states[1]))
    planner = Planner([KeepStill(Box((-0.2, -0.2, 0.0), (0.2, 0.2, 0.2)))], horizon=2, candidate_count=3, iterations=1,
                      deviation={"left_joint_1": 0.05})
    with client.scene(frames) as scene:
        plan = planner.plan(SceneSource(scene), np.array([start[c.joint] for c in model.action_columns]))
    assert plan.actions.shape == (2, len(model.action_columns)) and np.isfinite(plan.cost)


def test_recordings_hold_scenes(address, frames, plan, tmp_path):
    with Client(address, deadline_s=300) as client, Recorder(client, tmp_path / "run.ipb"):
        with client.scene(frames) as scene:
            list(scene.candidates([plan, plan]))
    names = [type(message).__name__ for message in read_recording(tmp_path / "run.ipb")]
    assert names == ["CreateSceneRequest", "CreateSceneResponse", "PredictCandidatesRequest",
                     *["PredictCandidatesResponse"] * 2, "DeleteSceneRequest", "DeleteSceneResponse"]


def test_the_asyncio_client_does_the_same(address, client, frames, plan):
    expected = client.predict(frames, plan, EXACT).result().steps[-1]

    async def main():
        async with AsyncClient(address, deadline_s=300) as aio:
            async with await aio.scene(frames) as scene:
                same((await scene.predict(plan, EXACT).result()).steps[-1], expected)
                gone = scene.scene_id
                await scene.delete()
                found = [candidate async for candidate in scene.candidates([plan, plan], EXACT)]
                assert len(found) == 2 and scene.scene_id != gone
                same(found[1].prediction.steps[0], expected)
                await scene.delete()
                same((await scene.predict(plan, EXACT).result()).steps[-1], expected)
            assert (await aio.statistics()).models[0].model_name == "small"

    asyncio.run(main())


def test_asyncio_updates_that_fail_leave_the_scene_as_it_was(address, client, model, episode, frames, plan):
    expected = client.predict(frames, plan, EXACT).result().steps[-1]

    async def main():
        async with AsyncClient(address, deadline_s=300) as aio, await aio.scene(frames) as scene:
            with pytest.raises(InterlacerError, match="HISTORY_SPACING"):
                await scene.update(episode.frames(model, 4))
            await scene.delete()
            with pytest.raises(InterlacerError, match="HISTORY_LENGTH"):
                await scene.update(SceneFrames(model).add(0, {}))
            same((await scene.predict(plan, EXACT).result()).steps[-1], expected)

    asyncio.run(main())


def test_a_scene_that_is_gone_is_made_again_once_for_all_its_tasks(address, client, model, episode, frames, plan):
    later = episode.frames(model, 2)
    expected = client.predict(later, plan, EXACT).result().steps[-1]
    sent = []

    async def main():
        async with AsyncClient(address, deadline_s=300) as aio, await aio.scene(frames) as scene:

            async def candidate():
                return [candidate async for candidate in scene.candidates([plan])][0]

            aio.tap = lambda message: sent.append(type(message).__name__)
            for more in ([], [scene.update(later)]):
                await scene.delete()
                sent.clear()
                tasks = [scene.predict(plan).result(), scene.predict(plan).result(), candidate(), candidate()]
                await asyncio.gather(*tasks, *more)
                assert sent.count("CreateSceneRequest") == 1
            same((await scene.predict(plan, EXACT).result()).steps[-1], expected)

    asyncio.run(main())

"""Every method that answers, against the real server."""

import threading
import time

import numpy as np
import pytest
from interlacer_client import Box, Client, InterlacerError, Output, RenderView, SceneFrames


def test_server_and_model_say_what_they_are(client, model):
    info = client.info()
    assert (info.state, info.models[0].model_name, info.models[0].state) == ("SERVING", "small", "READY")
    assert info.limits.max_request_bytes == 64 << 20 and info.limits.max_camera_skew_s == 0.05
    assert model.model_name == "small" and len(model.weights_sha256) == 64
    assert [camera.name for camera in model.cameras] == ["left", "right"]
    assert model.accepts_joints and model.step_duration_s == 0.5 and model.step_cost_s > 0
    assert model.action_columns[0].joint == "left_joint_1" and model.action_columns[0].unit == "rad"
    assert client.is_serving() and client.is_serving("live")


def test_validate_reports_the_scene(client, frames):
    report = client.validate(frames)
    assert [camera.camera_name for camera in report.cameras] == ["left", "right"]
    assert report.cameras[0].valid_depth_ratio > 0.5 and report.candidate_point_count > 1000
    assert "CALIBRATION_SUSPECT" not in [finding.reason for finding in report.findings]


def test_a_rollout_of_an_episode(client, model, frames, plan):
    output = Output(positions="float32", colors=True, views=["left", RenderView("depth", "left", encoding="depth")])
    rollout = client.predict(frames, plan, output, request_id="a.rollout")
    steps = list(rollout)
    assert [step.step for step in steps] == [1, 2, 3]
    assert [step.predict_time_ns - frames.newest_time_ns for step in steps] == [500_000_000, 10**9, 1_500_000_000]
    for step in steps:
        assert step.positions_m.shape == step.colors.shape == (rollout.summary.selected_particle_count, 3)
        assert np.isfinite(step.positions_m).all() and not step.positions_m.flags.writeable
        assert step.views["left"].shape == (64, 64, 3) and step.views["depth"].shape == (64, 64)
        assert 0.3 < np.median(step.views["depth"]) < model.far_m
    assert rollout.summary.computed_step_count == 3 and rollout.summary.durations_s["dynamics"] > 0
    assert rollout.summary.scene_report.cameras[0].camera_name == "left"


def test_nothing_heavy_is_sent_unasked(client, frames, plan):
    step = next(client.predict(frames, plan))
    assert (step.positions_m, step.colors, step.indices, step.views, step.files) == (None, None, None, {}, {})


def test_positions_of_16_bits_are_those_of_32(client, model, frames, plan):
    exact = client.predict(frames, plan, Output(positions="float32")).result().positions_m
    short = client.predict(frames, plan, Output(positions="u16")).result().positions_m
    size_m = np.subtract(model.workspace.max_m, model.workspace.min_m)
    inside = model.workspace.contains(exact)
    assert inside.mean() > 0.5
    assert (np.abs(short - exact) / size_m)[inside].max() <= 0.5 / 65535 + 1e-6


def test_region_and_stride_choose_particles(client, frames, plan):
    everything = client.predict(frames, plan, Output(positions="float32", steps=[0, 2])).result()
    box = Box((-0.3, -0.3, 0.0), (0.3, 0.3, 0.2))
    chosen = client.predict(frames, plan, Output(positions="float32", steps=[0, 2], region=box, stride=3)).result()
    assert 0 < len(chosen.steps[0].indices) < everything.positions_m.shape[1] / 3
    assert box.contains(chosen.steps[0].positions_m).all()
    np.testing.assert_array_equal(chosen.positions_m, everything.positions_m[:, chosen.steps[0].indices])


def test_pictures_may_come_as_files(client, frames, plan):
    views = [RenderView("p", "left", compression="png"), RenderView("j", "left", compression="jpeg", jpeg_quality=80)]
    step = next(client.predict(frames, plan, Output(views=views)))
    assert step.files["p"][:4] == b"\x89PNG" and step.files["j"][:2] == b"\xff\xd8" and step.views == {}


def test_a_camera_of_ones_own_sees_what_the_scenes_camera_sees(client, model, episode, frames, plan):
    camera = episode.view(episode.manifest["cameras"][0], 1).camera
    half = [[camera.intrinsics[0][0] / 2, 0, (camera.intrinsics[0][2] + 0.5) / 2 - 0.5],
            [0, camera.intrinsics[1][1] / 2, (camera.intrinsics[1][2] + 0.5) / 2 - 0.5], [0, 0, 1]]
    own = type(camera)(64, 64, half, camera.world_from_camera)
    step = next(client.predict(frames, plan, Output(views=["left", RenderView("own", camera=own)])))
    assert np.abs(step.views["own"].astype(int) - step.views["left"].astype(int)).max() <= 1


def test_equal_requests_give_equal_bytes(client, frames, plan):
    first, second = (client.predict(frames, plan, Output(positions="float32")).result().positions_m for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_candidates_are_rollouts(client, frames, plan):
    still = np.repeat(plan[:1], 3, axis=0)
    output = Output(positions="float32")
    found = {c.index: c for c in client.candidates(frames, [plan, still], output)}
    assert found[0].prediction.summary is None and found[1].prediction.summary.computed_step_count == 6
    assert sorted(found) == [0, 1] and [step.step for step in found[0].prediction.steps] == [3]
    for index, actions in enumerate((plan, still)):
        alone = client.predict(frames, actions, output).result().steps[-1]
        np.testing.assert_array_equal(found[index].prediction.steps[0].positions_m, alone.positions_m)


class TestErrors:
    def test_carry_code_reason_field_expected_and_got(self, client, frames, plan):
        bad = np.array(plan)
        bad[1, 0] = 90  # degrees, sent as radians
        with pytest.raises(InterlacerError) as caught:
            client.predict(frames, bad).result()
        error = caught.value
        assert (error.code, error.reason) == ("INVALID_ARGUMENT", "ACTION_OUT_OF_RANGE")
        assert error.field.startswith("actions") and error.got and error.expected
        assert str(error).startswith("INVALID_ARGUMENT ACTION_OUT_OF_RANGE: ")

    def test_of_frames_name_their_path(self, client, model, episode):
        frames = SceneFrames(model)
        for step in (0, 1):
            left = episode.view(episode.manifest["cameras"][0], step)
            frames.add(step * 500_000_000, {"left": left}, joints=episode.states[step])
        with pytest.raises(InterlacerError) as caught:
            client.validate(frames)
        assert caught.value.reason == "CAMERA_MISSING" and "observations[0]" in caught.value.field

    def test_of_a_limit_name_it(self, client, frames, plan):
        with pytest.raises(InterlacerError) as caught:
            client.predict(frames, np.repeat(plan, 100, axis=0)).result()
        assert (caught.value.code, caught.value.reason, caught.value.limit) == ("OUT_OF_RANGE", "LIMIT_STEPS", "128")

    def test_of_an_unknown_model_and_service(self, client):
        with pytest.raises(InterlacerError) as caught:
            client.metadata("absent")
        assert (caught.value.code, caught.value.reason) == ("NOT_FOUND", "MODEL_NOT_FOUND")
        with pytest.raises(InterlacerError, match="NOT_FOUND"):
            client.is_serving("absent")

    def test_of_a_deadline_name_it(self, client, frames, plan):
        with pytest.raises(InterlacerError) as caught:
            client.predict(frames, np.repeat(plan, 40, axis=0), deadline_s=0.02).result()
        assert caught.value.code == "DEADLINE_EXCEEDED"

    def test_of_an_absent_server_come_at_once_or_after_the_wait(self):
        with Client("127.0.0.1:1", retry=False) as absent:
            with pytest.raises(InterlacerError, match="UNAVAILABLE"):
                absent.info(deadline_s=20)
            start_s = time.monotonic()
            with pytest.raises(InterlacerError, match="not serving within 0.3 s") as caught:
                absent.wait_until_serving(0.3)
            assert caught.value.code == "DEADLINE_EXCEEDED" and 0.3 <= time.monotonic() - start_s < 20


def test_cancelling_ends_the_call_on_the_server(client, frames, plan):
    def duration_s():
        start_s = time.monotonic()
        client.predict(frames, plan, priority="background").result()
        return time.monotonic() - start_s

    before_s = duration_s()
    with client.predict(frames, np.repeat(plan, 40, axis=0), deadline_s=300) as rollout:
        next(rollout)
    with pytest.raises(InterlacerError, match="CANCELLED"):
        rollout.result()
    assert duration_s() < 10 * before_s  # 119 steps more, before it in the one worker, would make it 40 times that


# fm-42
def test_one_client_serves_many_threads(client, frames, plan):
    expected = client.predict(frames, plan, Output(positions="float32")).result().positions_m
    results = []
    threads = [threading.Thread(target=lambda: results.append(
        client.predict(frames, plan, Output(positions="float32")).result().positions_m)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and all(np.array_equal(result, expected) for result in results)


def test_a_proxy_variable_does_not_catch_calls_of_this_machine(address, monkeypatch):
    for name in ("http_proxy", "grpc_proxy", "https_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    with Client(address) as client:
        assert client.info(deadline_s=10).state == "SERVING"


def test_a_closed_client_connects_again(address):
    client = Client(address)
    assert client.is_serving()
    client.close()
    assert client.is_serving()
    client.close()

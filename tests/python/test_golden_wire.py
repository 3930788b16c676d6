"""The same messages as the C++ client (tests/client/golden_wire_test.cpp), byte for byte, from the same numbers."""

import json
from pathlib import Path

import numpy as np
from google.protobuf import text_format
from interlacer.v1 import interlacer_service_pb2 as service
from interlacer_client import Box, Camera, Output, RenderView, RgbdView, SceneFrames
from interlacer_client.actions import to_proto
from interlacer_client.metadata import ModelMetadata
from interlacer_client.prediction import PredictedStep

GOLDEN = Path(__file__).parent.parent / "golden/wire"
WIDTH, HEIGHT = 4, 3


def read(name, message):
    return text_format.Parse((GOLDEN / name).read_text(), message)


def model():
    return ModelMetadata.from_proto(read("model_metadata.txtpb", service.GetModelMetadataResponse()))


def camera(index):
    pose = np.diag([1.0, -1, -1, 1])
    pose[:3, 3] = (0.125 + index, -0.25, 1.25)
    lens = ("plumb_bob", (0.1, -0.2, 0.001, 0.002, 0.05)) if index else ("none", ())
    return Camera(WIDTH, HEIGHT, [[2.5, 0, 1.5], [0, 2.75, 1], [0, 0, 1]], pose, *lens)


def view(index, time):
    i = np.arange(WIDTH * HEIGHT * 3)
    depth_m = 0.5 + 0.25 * np.arange(WIDTH * HEIGHT) + index + time
    depth_m[0] = 0  # no measurement
    return RgbdView(((7 * i + 31 * index + 101 * time) % 256).astype(np.uint8).reshape(HEIGHT, WIDTH, 3),
                    depth_m.astype(np.float32).reshape(HEIGHT, WIDTH), camera(index))


def frames():
    scene = SceneFrames(model(), seed=42, workspace=Box((-1, -2, -0.5), (1, 2, 3.5)), near_m=0.25, far_m=4)
    for time in range(2):
        scene.add(1_000_000_000 + 500_000_000 * time, {"left": view(0, time), "right": view(1, time)},
                  [0.5 * time, -0.25, 0.03125])
    return scene


def test_a_request_is_that_of_the_other_client():
    expected = read("predict_rollout_request.txtpb", service.PredictRolloutRequest())
    output = Output(steps=[0, 2], positions="u16", colors=True, spread=True, region=Box((-0.5, -0.5, 0), (0.5, 0.5, 1)),
                    stride=2, render_mode="field",
                    views=["left", RenderView("free", camera=camera(0), encoding="depth")])
    assert frames().to_proto() == expected.source.scene_input
    assert to_proto(model(), [[0.5, -0.25, 0], [1, -0.5, 0.03125]]) == expected.actions
    assert output.to_proto() == expected.output


def test_costs_are_in_seconds():
    costs = model()
    assert (costs.step_cost_s, costs.render_cost_s, costs.ingest_cost_s) == (0.125, 2, 0.25)
    assert (costs.carry_cost_s, costs.longest_unit_s) == (0.0625, 1.5)


def test_an_answer_says_the_same_to_both():
    response = read("predict_rollout_response.txtpb", service.PredictRolloutResponse())
    expected = json.loads((GOLDEN / "predicted_step.json").read_text())
    step = PredictedStep.from_proto(response.step, model().workspace)
    assert (step.step, step.predict_time_ns) == (expected["step"], expected["predict_time_ns"])
    np.testing.assert_allclose(step.positions_m, expected["positions_m"], atol=1e-6)
    assert step.colors.tolist() == expected["colors"]
    assert step.indices.tolist() == expected["indices"]
    assert step.spread_m.tolist() == expected["spread_m"]
    assert step.views["left"].tolist() == expected["left"]
    assert step.views["free"].tolist() == expected["free_m"]
    assert response.summary.computed_step_count == expected["computed_step_count"]

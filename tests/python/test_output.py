"""What is drawn and what moves are choices of the request."""

import numpy as np
from images import still, table
from interlacer_client import Output, RgbdView


def table_at_rest(model):
    """Without a robot, and as large as the model's pictures, so that nothing is resampled."""
    color, depth_mm, camera = table(model.cameras[0].width_px, model.cameras[0].height_px)
    return color, still(model, None, lambda: RgbdView(color, depth_mm, camera, depth_unit_m=0.001))


def test_views_are_observed_pixels_or_the_field_alone(client, model):
    color, frames = table_at_rest(model)
    drawn = {mode: client.predict(frames, output=Output(steps=[0], views=["left"], render_mode=mode)).result()
             for mode in ("observed", "field")}
    error = {mode: np.abs(p.view("left")[0, 8:].astype(int) - color[8:]).mean() for mode, p in drawn.items()}
    assert error["observed"] < 1 and error["field"] > 20, error  # no field shows noise


def test_robot_motion_moves_the_robot_alone(client, frames, plan):
    moved = {}
    for motion in ("model", "robot_only"):
        prediction = client.predict(frames, plan, Output(steps=[0, 2], positions="float32", motion=motion)).result()
        moved[motion] = np.linalg.norm(prediction.positions_m[1] - prediction.positions_m[0], axis=1) > 0
    assert 0 < moved["robot_only"].mean() < 0.8
    assert (moved["model"] >= moved["robot_only"]).all() and moved["model"].sum() > moved["robot_only"].sum()


def test_without_a_robot_robot_motion_moves_nothing(client, model):
    _, frames = table_at_rest(model)
    output = Output(steps=[0, 2], positions="float32", motion="robot_only")
    positions_m = client.predict(frames, output=output).result().positions_m
    np.testing.assert_array_equal(positions_m[0], positions_m[1])


def test_a_spread_comes_beside_the_particles_and_leaves_them_as_they_are(client, frames, plan):
    plain = client.predict(frames, plan, Output(steps=[0, 2], positions="float32")).result()
    unsure = client.predict(frames, plan, Output(steps=[0, 2], positions="float32", spread=True)).result()
    np.testing.assert_array_equal(plain.positions_m, unsure.positions_m)
    assert plain.steps[1].spread_m is None
    assert unsure.steps[1].spread_m.shape == (len(unsure.steps[1].positions_m),)
    assert (unsure.steps[0].spread_m == 0).all() and unsure.steps[1].spread_m.max() > 0

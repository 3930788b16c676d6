"""Frames, cameras and joints: what goes over the wire, and what is refused before it does."""

import numpy as np
import pytest
from images import HEIGHT, WIDTH, png, still, table
from interlacer_client import (Box, Camera, InterlacerError, KinematicPoints, Output, RgbdView, SceneFrames, joint_names,
                               pose_matrix)
from interlacer_client.actions import joint_rows, to_proto
from interlacer_client.camera import quaternion_xyzw


class TestImages:
    def test_every_form_of_a_picture_gives_the_same_prediction(self, client, model, episode, plan):
        color, depth_mm, camera = table()
        big_endian = depth_mm.astype(">u2").astype(np.uint16)
        padded = np.zeros((HEIGHT, WIDTH + 5, 3), np.uint8)
        padded[:, :WIDTH] = color
        forms = {
            "raw": RgbdView(color, depth_mm, camera, depth_unit_m=0.001),
            "files": RgbdView(png(color), png(depth_mm), camera, depth_unit_m=0.001),
            "bgr, not contiguous": RgbdView(color[:, :, ::-1], big_endian, camera, depth_unit_m=0.001, is_bgr=True),
            "rows with a margin": RgbdView(padded[:, :WIDTH], depth_mm, camera, depth_unit_m=0.001),
            "other unit": RgbdView(color, (depth_mm * 10).astype(np.uint16), camera, depth_unit_m=0.0001),
        }
        output = Output(positions="float32", colors=True)
        steps = {name: client.predict(still(model, episode.states[0], lambda v=view: v), plan[:1], output).result().steps[0]
                 for name, view in forms.items()}
        for name, step in steps.items():
            tolerance_m = 1e-4 if name == "other unit" else 0
            np.testing.assert_allclose(step.positions_m, steps["raw"].positions_m, atol=tolerance_m, err_msg=name)
            np.testing.assert_array_equal(step.colors, steps["raw"].colors, err_msg=name)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_metres_are_what_millimetres_are(self, client, model, episode, dtype):
        color, depth_mm, camera = table()
        depth_m = depth_mm.astype(dtype) / 1000
        depth_m[0], depth_m[1], depth_m[2] = np.nan, np.inf, -1
        reports = [client.validate(still(model, episode.states[0], lambda v=view: v)) for view in (
            RgbdView(color, depth_mm, camera, depth_unit_m=0.001), RgbdView(color, depth_m, camera))]
        assert reports[0].candidate_point_count == reports[1].candidate_point_count > 1000
        assert reports[0].cameras[0].valid_depth_ratio == reports[1].cameras[0].valid_depth_ratio == 60 / 64
        assert reports[0].cameras[0].median_depth_m == pytest.approx(reports[1].cameras[0].median_depth_m, abs=1e-6)

    @pytest.mark.parametrize("change, reason", [
        ({"depth_unit_m": None}, "DEPTH_UNIT_MISSING"),
        ({"depth": np.ones((HEIGHT, WIDTH), np.float32)}, "DEPTH_UNIT_MISSING"),
        ({"depth": np.ones((HEIGHT, WIDTH), np.int32), "depth_unit_m": None}, "PIXEL_ENCODING_UNSUPPORTED"),
        ({"depth": np.ones((HEIGHT, WIDTH), int)}, "PIXEL_ENCODING_UNSUPPORTED"),
        ({"depth": np.ones((HEIGHT, WIDTH, 1), np.float32)}, "PIXEL_ENCODING_UNSUPPORTED"),
        ({"depth": np.ones((HEIGHT, WIDTH, 1), np.uint16)}, "PIXEL_ENCODING_UNSUPPORTED"),
        ({"color": np.ones((HEIGHT, WIDTH, 3))}, "PIXEL_ENCODING_UNSUPPORTED"),
        ({"color": np.ones((HEIGHT, WIDTH), np.uint8)}, "PIXEL_ENCODING_UNSUPPORTED"),
        ({"depth": b"\xff\xd8\xff\xe0 a JPEG"}, "COMPRESSION_UNSUPPORTED"),
        ({"depth": b"BM not a PNG"}, "IMAGE_UNDECODABLE"),
        ({"color": b"BM not a PNG"}, "IMAGE_UNDECODABLE"),
        ({"color": b""}, "IMAGE_UNDECODABLE"),
        ({"color": np.ma.masked_equal(np.ones((HEIGHT, WIDTH, 3), np.uint8), 1)}, "PIXEL_ENCODING_UNSUPPORTED"),
    ])
    def test_what_no_message_can_say_is_refused_at_once(self, change, reason):
        color, depth_mm, camera = table()
        fields = {"color": color, "depth": depth_mm, "depth_unit_m": 0.001, **change}
        with pytest.raises(InterlacerError) as caught:
            RgbdView(camera=camera, **fields).to_proto("left", 0, "views['left']")
        assert (caught.value.code, caught.value.reason) == ("INVALID_ARGUMENT", reason)
        assert caught.value.field.startswith("views['left'].") and caught.value.expected and caught.value.got

    def test_what_a_mask_hides_of_depth_is_not_sent(self):
        color, depth_mm, camera = table()
        hidden = np.zeros((HEIGHT, WIDTH), bool)
        hidden[:, :WIDTH // 2] = True
        whole = np.ma.masked_array(color, mask=np.zeros(color.shape, bool))
        millimetres = RgbdView(whole, np.ma.masked_array(depth_mm, mask=hidden), camera, depth_unit_m=0.001)
        metres = RgbdView(color, np.ma.masked_array(depth_mm / 1000, mask=hidden), camera)
        sent = [np.frombuffer(view.to_proto("left", 0, "view").depth.data, dtype).reshape(HEIGHT, WIDTH)
                for view, dtype in ((millimetres, "<u2"), (metres, "<f4"))]
        np.testing.assert_array_equal(sent[0], np.where(hidden, 0, depth_mm))
        np.testing.assert_array_equal(sent[1], np.where(hidden, np.nan, depth_mm / 1000).astype(np.float32))

    @pytest.mark.parametrize("time_ns", [float("nan"), float("inf"), None, "now"])
    def test_a_time_that_is_none_is_named(self, model, time_ns):
        color, depth_mm, camera = table()
        late = RgbdView(color, depth_mm, camera, depth_unit_m=0.001, depth_time_ns="now")
        for add in (lambda: SceneFrames(model).add(time_ns, {}), lambda: SceneFrames(model).add(0, {"left": late})):
            with pytest.raises(InterlacerError, match="nanoseconds") as caught:
                add()
            assert caught.value.field in ("time_ns", "views['left'].depth_time_ns")

    def test_a_size_that_is_not_the_cameras_is_the_servers_to_refuse(self, client, model, episode):
        color, depth_mm, camera = table()
        view = RgbdView(color[:-1], depth_mm[:-1], camera, depth_unit_m=0.001)
        with pytest.raises(InterlacerError) as caught:
            client.validate(still(model, episode.states[0], lambda: view))
        assert caught.value.reason == "CALIBRATION_SIZE_MISMATCH"


class TestCamera:
    def test_quaternions_come_back(self):
        random = np.random.default_rng(5)
        cases = [*random.normal(size=(50, 4)), *np.eye(4), [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, -1], [1e-9, 1, 0, 0]]
        for q in cases:
            q = np.asarray(q) / np.linalg.norm(q)
            back = np.array(quaternion_xyzw(pose_matrix((0, 0, 0), q)[:3, :3]))
            assert min(np.abs(back - q).max(), np.abs(back + q).max()) < 1e-9, q
            assert back[3] >= 0

    @pytest.mark.parametrize("matrix", [
        np.diag([1, 1, -1, 1]), np.diag([2, 2, 2, 1]), np.eye(3), np.full((4, 4), np.nan),
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]], ids=["mirror", "scale", "3x3", "nan", "projective"])
    def test_poses_that_are_none_are_refused(self, matrix):
        with pytest.raises(InterlacerError) as caught:
            table()[2].at(matrix).to_proto()
        assert caught.value.reason == "CALIBRATION_INVALID" and caught.value.field == "calibration.world_from_camera"

    def test_a_quaternion_that_is_not_unit_is_refused(self):
        with pytest.raises(InterlacerError, match="QUATERNION_NOT_UNIT"):
            pose_matrix((0, 0, 0), (0, 0, 0, 0.5))

    def test_skewed_intrinsics_and_unknown_lenses_are_refused(self):
        with pytest.raises(InterlacerError, match="CALIBRATION_INVALID"):
            Camera(4, 4, [[1, 0.1, 2], [0, 1, 2], [0, 0, 1]], np.eye(4)).to_proto()
        with pytest.raises(InterlacerError, match="DISTORTION_INVALID"):
            Camera(4, 4, np.eye(3), np.eye(4), "equidistant", (0.1,)).to_proto()


    def test_lenses_come_as_opencv_has_them(self):
        camera = table()[2]
        values = [0.1, -0.2, 0.001, 0.002, 0.3]
        for form in (values, tuple(values), np.array(values), np.array([values]), np.array([values]).T):
            lens = Camera(camera.width_px, camera.height_px, camera.intrinsics, camera.world_from_camera, "plumb_bob", form)
            assert list(lens.to_proto().distortion_coefficients) == values
        for form in (0.1, np.ones((2, 5)), "strong", [[0.1], [0.2, 0.3]]):
            with pytest.raises(InterlacerError, match="DISTORTION_INVALID") as caught:
                Camera(4, 4, np.eye(3), np.eye(4), "plumb_bob", form).to_proto()
            assert caught.value.field == "calibration.distortion_coefficients"


class TestJoints:
    def test_names_give_what_positions_give(self, model, plan):
        by_name = {name: plan[:, i] for i, name in enumerate(joint_names(model))}
        shuffled = dict(sorted(by_name.items(), reverse=True))
        with_units = {column.name: plan[:, i] for i, column in enumerate(model.action_columns)}
        rows = [{name: values[i] for name, values in by_name.items()} for i in range(len(plan))]
        for joints in (by_name, shuffled, with_units, rows, plan.tolist()):
            np.testing.assert_array_equal(joint_rows(model, joints), plan.astype(np.float32))

    def test_one_value_holds_for_every_row(self, model):
        joints = {name: 0 for name in joint_names(model)}
        rows = joint_rows(model, {**joints, "left_joint_2": [0.1, 0.2, 0.3]})
        assert rows.shape == (3, 16) and rows[:, 1].tolist() == pytest.approx([0.1, 0.2, 0.3]) and not rows[:, 0].any()

    @pytest.mark.parametrize("change, said", [
        ({"left_joint_1": None}, "left_joint_1_rad"), ({"wrist": 0.0}, "wrist"),
        ({"left_joint_1": [0, 0], "left_joint_2": [0, 0, 0]}, "equally many"), ({"left_joint_1": [[0]]}, "one a row")])
    def test_names_are_complete_and_known(self, model, change, said):
        joints = {**{name: 0.0 for name in joint_names(model)}, **change}
        joints = {name: value for name, value in joints.items() if value is not None}
        with pytest.raises(InterlacerError, match=said) as caught:
            joint_rows(model, joints)
        assert caught.value.reason == "ACTION_SHAPE"

    @pytest.mark.parametrize("rows", [np.zeros((2, 15)), np.zeros((2, 3, 16)), [], 0.0])
    def test_shapes_that_fit_no_robot_are_refused(self, model, rows):
        with pytest.raises(InterlacerError, match="ACTION_SHAPE"):
            joint_rows(model, rows)

    def test_values_behind_a_mask_are_refused(self, model, plan):
        masked = np.ma.masked_array(plan, mask=np.zeros(plan.shape, bool))
        np.testing.assert_array_equal(joint_rows(model, masked), plan.astype(np.float32))
        masked[0, 0] = np.ma.masked
        for joints in (masked, {name: masked[:, i] for i, name in enumerate(joint_names(model))}):
            with pytest.raises(InterlacerError, match="ACTION_NOT_FINITE"):
                joint_rows(model, joints)

    def test_points_are_rows_of_x_y_z(self, model):
        matrix = to_proto(model, KinematicPoints(np.arange(12).reshape(2, 2, 3))).kinematic_points_m
        assert (matrix.row_count, matrix.column_count) == (2, 6)
        assert np.frombuffer(matrix.values_f32le, "<f4").tolist() == list(range(12))


class TestSceneFrames:
    def test_the_newest_observations_stay(self, model):
        color, depth_mm, camera = table()
        view = RgbdView(color, depth_mm, camera, depth_unit_m=0.001)
        frames = SceneFrames(model, seed=7, workspace=Box((-1, -1, 0), (1, 1, 1)), far_m=3)
        with pytest.raises(InterlacerError, match="HISTORY_LENGTH"):
            frames.to_proto()
        for step in range(3):
            assert frames.is_complete == (step == 2)
            frames.add(step * 10**9, {"left": view}, {name: step / 100 for name in joint_names(model)})
        other = frames.copy().add(9 * 10**9, {"left": view}, np.zeros(16))
        message = frames.to_proto()
        assert [o.views[0].capture_time.seconds for o in message.observations] == [1, 2]
        assert frames.newest_time_ns == 2 * 10**9
        assert other.newest_time_ns == 9 * 10**9
        history = np.frombuffer(message.history_actions.joint_positions.values_f32le, "<f4").reshape(2, 16)
        np.testing.assert_allclose(history[:, 0], [0.01, 0.02])
        assert (message.seed, message.far_m, message.HasField("near_m"), message.workspace.max_m.x) == (7, 3, False, 1)

    def test_joints_come_with_every_observation_or_with_none(self, model):
        frames = SceneFrames(model)
        frames.add(0, {}, np.zeros(16)).add(1, {})
        with pytest.raises(InterlacerError, match="ACTION_KIND"):
            frames.to_proto()
        assert not SceneFrames(model).add(0, {}).add(1, {}).to_proto().HasField("history_actions")
        with pytest.raises(InterlacerError, match="one row"):
            SceneFrames(model).add(0, {}, np.zeros((2, 16))).add(1, {}, np.zeros(16)).to_proto()

    def test_a_scene_without_a_robot_is_predicted_by_steps(self, client, model):
        color, depth_mm, camera = table()
        frames = still(model, None, lambda: RgbdView(color, depth_mm, camera, depth_unit_m=0.001))
        steps = client.predict(frames, output=Output(steps=[0, 2], positions="float32")).result().steps
        assert [step.step for step in steps] == [0, 2]

    def test_words_that_nobody_knows_are_refused(self):
        with pytest.raises(InterlacerError, match="'float32' or 'u16'"):
            Output(positions="f64").to_proto()

"""Messages of ROS 1 and ROS 2, as plain objects with their fields."""

from types import SimpleNamespace as Message

import numpy as np
import pytest
from images import HEIGHT, WIDTH, png, table
from interlacer_client import InterlacerError, Output, SceneFrames, joint_names, ros


def header(sec):
    return Message(stamp=Message(sec=sec, nanosec=500_000_000), frame_id="camera")


def image(pixels, encoding, margin=0, is_bigendian=0):
    rows = pixels.reshape(len(pixels), -1).astype(pixels.dtype.newbyteorder(">" if is_bigendian else "<"))
    data = b"".join(row.tobytes() + b"\xab" * margin for row in rows)
    return Message(header=header(3), height=pixels.shape[0], width=pixels.shape[1], encoding=encoding,
                   is_bigendian=is_bigendian, step=len(data) // len(pixels), data=data)


def info(camera, d=(), model="plumb_bob"):
    return Message(width=WIDTH, height=HEIGHT, k=np.ravel(camera.intrinsics), d=list(d), distortion_model=model, binning_x=0,
                   binning_y=0, roi=Message(x_offset=0, y_offset=0, width=0, height=0))


@pytest.mark.parametrize("encoding, dtype, channels", [
    ("rgb8", np.uint8, 3), ("bgra8", np.uint8, 4), ("16UC1", np.uint16, 1), ("mono16", np.uint16, 1),
    ("32FC1", np.float32, 1)])
@pytest.mark.parametrize("margin", [0, 7])
@pytest.mark.parametrize("is_bigendian", [0, 1])
def test_images_of_every_encoding_come_back(encoding, dtype, channels, margin, is_bigendian):
    shape = (5, 4, channels) if channels > 1 else (5, 4)
    pixels = np.random.default_rng(1).integers(0, 250, shape).astype(dtype)
    back = ros.image(image(pixels, encoding, margin, is_bigendian))
    np.testing.assert_array_equal(back, pixels)
    assert back.dtype == dtype and back.dtype.isnative


def test_images_that_are_none_are_refused():
    pixels = np.zeros((5, 4, 3), np.uint8)
    with pytest.raises(InterlacerError, match="PIXEL_ENCODING_UNSUPPORTED"):
        ros.image(image(pixels, "yuv422"))
    short = image(pixels, "rgb8")
    short.data = short.data[:-1]
    with pytest.raises(InterlacerError, match="IMAGE_DATA_LENGTH"):
        ros.image(short)


def test_a_prediction_from_messages_is_that_from_arrays(client, model, episode, plan):
    color, depth_mm, camera = table()
    pose = Message(transform=Message(translation=Message(x=0, y=0, z=1.2), rotation=Message(x=1, y=0, z=0, w=0)))
    robot_names = {name: "lbr_" + name for name in joint_names(model)}
    order = list(reversed(joint_names(model)))
    state = Message(name=["wheel"] + [robot_names[name] for name in order],
                    position=[9.0] + [episode.states[0][joint_names(model).index(name)] for name in order])
    compressed_color = Message(header=header(3), format="rgb8; png compressed bgr8", data=png(color))
    compressed_depth = Message(header=header(3), format="16UC1; compressedDepth png", data=b"\0" * 12 + png(depth_mm))
    forms = [(image(color, "rgb8"), image(depth_mm, "16UC1")),
             (image(color[:, :, ::-1], "bgr8"), image(depth_mm, "16UC1", 2)),
             (compressed_color, compressed_depth),
             (image(color, "rgb8"), image((depth_mm / 1000).astype(np.float32), "32FC1"))]
    predictions = []
    for color_msg, depth_msg in forms:
        frames = SceneFrames(model)
        for step in range(2):
            for msg in (color_msg, depth_msg):
                msg.header = Message(stamp=Message(sec=step // 2, nanosec=step % 2 * 500_000_000))
            view = ros.view(color_msg, depth_msg, info(camera), ros.transform(pose))
            frames.add(ros.time_ns(color_msg.header.stamp), {c.name: view for c in model.cameras},
                       ros.joints(state, model, robot_names))
        predictions.append(client.predict(frames, plan[:1], Output(positions="float32", colors=True)).result().steps[0])
    for step in predictions[1:]:
        np.testing.assert_allclose(step.positions_m, predictions[0].positions_m, atol=1e-6)
        np.testing.assert_array_equal(step.colors, predictions[0].colors)


def test_poses_of_every_message():
    t, q = Message(x=1, y=2, z=3), Message(x=0, y=0, z=1, w=0)
    expected = [[-1, 0, 0, 1], [0, -1, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    plain = Message(translation=t, rotation=q)
    pose = Message(position=t, orientation=q)
    for msg in (plain, Message(transform=plain), pose, Message(pose=pose), Message(pose=Message(pose=pose))):
        np.testing.assert_array_equal(ros.transform(msg), expected)


def test_lenses_and_binned_pictures():
    camera = table()[2]
    lens = ros.camera(info(camera, (0.1, 0.2, 0, 0, 0)), camera.world_from_camera)
    assert lens.distortion_model == "plumb_bob" and lens.distortion_coefficients == (0.1, 0.2, 0, 0, 0)
    assert ros.camera(info(camera, (0, 0, 0, 0, 0)), camera.world_from_camera).distortion_model == "none"
    binned = info(camera)
    binned.binning_x = 2
    with pytest.raises(InterlacerError, match="binning"):
        ros.camera(binned, camera.world_from_camera)
    cropped = info(camera)
    cropped.roi.width, cropped.roi.height = 10, 10
    with pytest.raises(InterlacerError, match="region of interest"):
        ros.camera(cropped, camera.world_from_camera)
    old = Message(width=WIDTH, height=HEIGHT, K=np.ravel(camera.intrinsics), D=[], distortion_model="")  # ROS 1
    np.testing.assert_array_equal(ros.camera(old, camera.world_from_camera).intrinsics, camera.intrinsics)


def test_what_cannot_be_read_exactly_is_refused(model):
    color, depth_mm, camera = table()
    bad_depth = Message(format="32FC1; compressedDepth png", data=b"")
    with pytest.raises(InterlacerError, match="COMPRESSION_UNSUPPORTED"):
        ros.view(image(color, "rgb8"), bad_depth, info(camera), np.eye(4))
    with pytest.raises(InterlacerError, match="PIXEL_ENCODING_UNSUPPORTED"):
        ros.view(image(depth_mm, "16UC1"), image(depth_mm, "16UC1"), info(camera), np.eye(4))
    with pytest.raises(InterlacerError, match="left_joint_1"):
        ros.joints(Message(name=["a"], position=[0.0]), model)


def test_times_of_both_generations():
    assert ros.time_ns(Message(sec=2, nanosec=7)) == ros.time_ns(Message(secs=2, nsecs=7)) == 2_000_000_007


@pytest.mark.parametrize("colors", [False, True])
def test_particles_fill_a_point_cloud(client, frames, plan, colors):
    step = next(client.predict(frames, plan, Output(positions="float32", colors=colors)))
    cloud = ros.fill_point_cloud(Message(), step, lambda **fields: Message(**fields))
    assert (cloud.height, cloud.width, cloud.row_step) == (1, len(step.positions_m), len(cloud.data))
    kinds = {field.name: (np.uint32 if field.name == "rgb" else np.float32, field.offset) for field in cloud.fields}
    points = np.frombuffer(cloud.data, np.dtype({"names": list(kinds), "formats": [kind for kind, _ in kinds.values()],
                                                "offsets": [offset for _, offset in kinds.values()],
                                                "itemsize": cloud.point_step}))
    np.testing.assert_array_equal(np.stack([points["x"], points["y"], points["z"]], 1), step.positions_m)
    assert list(kinds) == ["x", "y", "z"] + ["rgb"] * colors
    if colors:
        packed = step.colors.astype(int)
        np.testing.assert_array_equal(points["rgb"], packed[:, 0] << 16 | packed[:, 1] << 8 | packed[:, 2])

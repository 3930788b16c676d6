"""bags_of_others.py --cache=DIR --work=DIR --interlacer=FILE

rosbags, mcap and foxglove-sdk write recordings of the same three frames; each is imported, exported and read: in Foxglove's
messages by mcap with its CRCs checked, in those of ROS 2 by rosbags, by its own definitions and by the file's. Known: depth of 1000 + 10 x frame millimetres. Exit code 77: a package of scripts/wheels/bags.txt is
not there.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

parser = argparse.ArgumentParser(usage=__doc__)
for name in ("cache", "work", "interlacer"):
    parser.add_argument("--" + name, required=True, type=Path)
options = parser.parse_args()
sys.path[:0] = [str(options.cache / "bags"), str(options.cache / "python-client")]
try:
    import foxglove
    import numpy as np
    from foxglove import channels, messages
    from mcap.reader import NonSeekingReader, make_reader
    from mcap.writer import CompressionType
    from mcap.writer import Writer as McapWriter
    from mcap_protobuf.decoder import DecoderFactory
    from rosbags.highlevel import AnyReader
    from rosbags.rosbag2 import StoragePlugin
    from rosbags.rosbag2 import Writer as RosWriter
    from rosbags.typesys import Stores, get_typestore
except ImportError as error:
    print(f"skipped: {error}; scripts/setup installs it")
    sys.exit(77)

WIDTH, HEIGHT, FRAMES = 32, 24, 3
K = [30, 0, 15.5, 0, 30, 11.5, 0, 0, 1]
P = [30, 0, 15.5, 0, 0, 30, 11.5, 0, 0, 0, 1, 0]
EYE = [1, 0, 0, 0, 1, 0, 0, 0, 1]
COLOR = np.arange(3 * WIDTH * HEIGHT, dtype=np.uint32).astype(np.uint8)


def time_ns(frame):
    return 10**11 + frame * 10**8


def depth_of(frame):
    """One pixel is farther, so that the image is not constant."""
    depth = np.full(WIDTH * HEIGHT, 1000 + 10 * frame, np.uint16)
    depth[-1] = 2000
    return depth


def ros_messages(store):
    """Topic, type, time and CDR of each message."""
    make = {kind: store.types[f"sensor_msgs/msg/{kind}"] for kind in ("Image", "CameraInfo", "RegionOfInterest")}
    make |= {"Header": store.types["std_msgs/msg/Header"], "Time": store.types["builtin_interfaces/msg/Time"]}
    region = make["RegionOfInterest"](0, 0, 0, 0, False)
    for frame in range(FRAMES):
        now = time_ns(frame)
        header = make["Header"](make["Time"](now // 10**9, now % 10**9), "left_optical")
        image = make["Image"]
        for topic, message in (
            ("color/image_raw", image(header, HEIGHT, WIDTH, "rgb8", 0, 3 * WIDTH, COLOR)),
            ("depth/image_raw", image(header, HEIGHT, WIDTH, "16UC1", 0, 2 * WIDTH, depth_of(frame).view(np.uint8))),
            ("color/camera_info", make["CameraInfo"](header, HEIGHT, WIDTH, "plumb_bob", np.zeros(5), np.array(K, float),
                                                     np.array(EYE, float), np.array(P, float), 0, 0, region)),
        ):
            yield "/left/" + topic, message.__msgtype__, now, store.serialize_cdr(message, message.__msgtype__)


def write_rosbags(path, plugin):
    store = get_typestore(Stores.ROS2_HUMBLE)
    with RosWriter(path, version=9, storage_plugin=plugin) as writer:
        connections = {}
        for topic, kind, now, data in ros_messages(store):
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=store)
            writer.write(connections[topic], now, data)


def write_mcap(path, compression, **kwargs):
    with open(path, "wb") as file:
        writer = McapWriter(file, compression=compression, **kwargs)
        writer.start()
        ids = {}
        for topic, kind, now, data in ros_messages(get_typestore(Stores.ROS2_HUMBLE)):
            if topic not in ids:
                schema = writer.register_schema(name=kind, encoding="ros2msg", data=b"")
                ids[topic] = writer.register_channel(topic=topic, message_encoding="cdr", schema_id=schema)
            writer.add_message(ids[topic], now, data, now)
        writer.finish()


def write_foxglove(path):
    with foxglove.open_mcap(str(path), context=(context := foxglove.Context())):
        color = channels.RawImageChannel("/left/color", context=context)
        depth = channels.RawImageChannel("/left/depth", context=context)
        info = channels.CameraCalibrationChannel("/left/calibration", context=context)
        for frame in range(FRAMES):
            now = time_ns(frame)
            common = {"timestamp": messages.Timestamp(sec=now // 10**9, nsec=now % 10**9), "frame_id": "left_optical",
                      "width": WIDTH, "height": HEIGHT}
            color.log(messages.RawImage(**common, encoding="rgb8", step=3 * WIDTH, data=COLOR.tobytes()), log_time=now)
            depth.log(messages.RawImage(**common, encoding="16UC1", step=2 * WIDTH, data=depth_of(frame).tobytes()),
                      log_time=now)
            info.log(messages.CameraCalibration(**common, distortion_model="plumb_bob", D=[0] * 5, K=K, R=EYE, P=P),
                     log_time=now)


def interlacer(*arguments):
    return subprocess.run([options.interlacer, *map(str, arguments), "--json", "--progress", "never"], check=True,
                          capture_output=True, text=True).stdout


def check_ros(episode, exported):
    """Exports in ROS 2's messages, and reads them by rosbags."""
    interlacer("export", "mcap", episode, "-o", exported, "--profile", "ros2")
    with open(exported, "rb") as file:
        assert sum(1 for _ in NonSeekingReader(file, validate_crcs=True).iter_messages()) == 4 * FRAMES
    for store in (get_typestore(Stores.ROS2_HUMBLE), get_typestore(Stores.EMPTY)):
        with AnyReader([exported], default_typestore=store) as reader:
            seen = {}
            for connection, log_time, data in reader.messages():
                message = reader.deserialize(data, connection.msgtype)
                frame = seen.setdefault(connection.topic, 0)
                seen[connection.topic] += 1
                assert log_time == time_ns(frame), log_time
                if connection.topic == "/left/depth":
                    assert message.encoding == "16UC1" and message.step == 2 * WIDTH, message
                    assert np.array_equal(message.data.view(np.uint16), depth_of(frame)), frame
                elif connection.topic == "/left/color":
                    assert message.encoding == "rgb8" and np.array_equal(message.data, COLOR), frame
                elif connection.topic == "/left/calibration":
                    assert list(message.k) == K and message.header.frame_id == "left_optical_frame", message
                else:
                    assert message.transforms[0].transform.rotation.w == 1, message
            assert len(seen) == 4 and set(seen.values()) == {FRAMES}, seen


def check(source):
    """Imports, exports, and reads by mcap what was exported."""
    episode, exported = options.work / (source.name + "_episode"), options.work / (source.name + "_exported.mcap")
    report = json.loads(interlacer("import", "ros2", source, "-o", episode, "--world-frame", "left_optical"))
    assert report["frame_count"] == FRAMES, report
    interlacer("validate", source, "--world-frame", "left_optical") if source.suffix == ".mcap" else None
    interlacer("export", "mcap", episode, "-o", exported)
    with open(exported, "rb") as file:
        assert sum(1 for _ in NonSeekingReader(file, validate_crcs=True).iter_messages()) == 4 * FRAMES
    with open(exported, "rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        summary = reader.get_summary()
        assert summary.statistics.message_count == 4 * FRAMES and summary.chunk_indexes, summary
        (record,) = reader.iter_metadata()
        assert json.loads(record.metadata["manifest"])["step_count"] == FRAMES, record
        for frame, (schema, _, message, image) in enumerate(reader.iter_decoded_messages(topics=["/left/depth"])):
            assert schema.name == "foxglove.RawImage" and image.encoding == "16UC1", schema
            assert message.log_time == time_ns(frame), message.log_time
            assert np.array_equal(np.frombuffer(image.data, np.uint16), depth_of(frame)), frame
        for _, _, _, image in reader.iter_decoded_messages(topics=["/left/color"]):
            assert image.data == COLOR.tobytes()
        for _, _, _, calibration in reader.iter_decoded_messages(topics=["/left/calibration"]):
            assert list(calibration.K) == K and calibration.frame_id == "left_optical_frame", calibration
    check_ros(episode, exported.with_name(exported.stem + "_ros2.mcap"))
    print(f"{source.name}: imported, exported and read")


def check_simulated():
    """Robot and truth of a simulated episode are attachments that mcap reads."""
    source, exported = options.work / "set", options.work / "simulated.mcap"
    interlacer("simulate", "--seed", 8, "--steps", 3, "--width", 64, "--height", 48, "-o", source)
    (episode,) = source.glob("push_block*")
    interlacer("export", "mcap", episode, "-o", exported)
    with open(exported, "rb") as file:
        reader = make_reader(file, validate_crcs=True)
        attached = {attachment.name: attachment.data for attachment in reader.iter_attachments()}
        assert reader.get_summary().statistics.attachment_count == len(attached)
    files = [path for folder in ("robot", "truth") for path in (episode / folder).rglob("*") if path.is_file()]
    assert attached == {str(path.relative_to(episode)): path.read_bytes() for path in files} and len(files) > 8, attached.keys()
    print("attachments read")


shutil.rmtree(options.work, ignore_errors=True)
options.work.mkdir(parents=True)
for plugin in (StoragePlugin.MCAP, StoragePlugin.SQLITE3):
    write_rosbags(options.work / f"rosbags_{plugin.name.lower()}", plugin)
    check(options.work / f"rosbags_{plugin.name.lower()}")
for compression in (CompressionType.NONE, CompressionType.LZ4, CompressionType.ZSTD):
    path = options.work / f"mcap_{compression.name.lower()}.mcap"
    write_mcap(path, compression)
    check(path)
path = options.work / "mcap_unchunked.mcap"
write_mcap(path, CompressionType.NONE, use_chunking=False)
check(path)
write_foxglove(options.work / "foxglove.mcap")
check(options.work / "foxglove.mcap")
if json.loads(interlacer("version"))["parts"]["mujoco"]:
    check_simulated()

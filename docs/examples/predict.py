"""Asks a running server what a robot's motion does to a made-up table top, and prints a line a predicted step.

docs/examples/predict.cpp prints the same lines. Needs the Debian packages python3-grpcio, python3-protobuf and
protobuf-compiler-grpc. From the root of the repository:

    mkdir -p out/python
    protoc -I proto --python_out=out/python --grpc_out=out/python \
        --plugin=protoc-gen-grpc="$(command -v grpc_python_plugin)" proto/interlacer/v1/*.proto
    PYTHONPATH=out/python python3 docs/examples/predict.py [HOST:PORT]
"""

import struct
import sys

import grpc
from interlacer.v1 import interlacer_service_pb2 as service
from interlacer.v1 import interlacer_service_pb2_grpc as stubs
from interlacer.v1 import types_pb2 as types


def motion(first_step, step_count):
    """Two KUKA arms bent over the table with open grippers; the left one turns by 0.125 rad a step."""
    arm = [0, 0.65, 0, -1.89, 0, 0.6, 0, 0.04]  # 7 joints, rad; gripper, m
    rows = []
    for step in range(first_step, first_step + step_count):
        rows += [0.125 * step] + arm[1:] + arm
    return types.ActionSequence(joint_positions=types.FloatMatrix(
        row_count=step_count, column_count=2 * len(arm), values_f32le=struct.pack(f"<{len(rows)}f", *rows)))


def table_view(camera, time_s):
    """A chequered table top, 1.2 m below the camera that looks straight down on it."""
    width, height = camera.width_px, camera.height_px
    grey = [60 if (i % width // 8 + i // width // 8) % 2 == 0 else 190 for i in range(width * height)]
    view = types.RgbdView(
        camera_name=camera.name,
        color=types.Image(width_px=width, height_px=height, encoding=types.PIXEL_ENCODING_RGB8,
                          compression=types.IMAGE_COMPRESSION_NONE, data=bytes(g for g in grey for _ in range(3))),
        depth=types.Image(width_px=width, height_px=height, encoding=types.PIXEL_ENCODING_DEPTH_F32,
                          compression=types.IMAGE_COMPRESSION_NONE, data=struct.pack("<f", 1.2) * len(grey)),
        calibration=types.CameraCalibration(
            width_px=width, height_px=height, fx_px=width, fy_px=width, cx_px=(width - 1) / 2, cy_px=(height - 1) / 2,
            distortion_model=types.DISTORTION_MODEL_NONE,
            world_from_camera=types.Transform(translation_m=types.Vector3(z=1.2), rotation=types.Quaternion(x=1))))
    view.capture_time.FromNanoseconds(round(time_s * 1e9))
    return view


def table_scene(model):
    """Two observations, one model step apart, and what the robot did meanwhile."""
    scene = service.SceneInput(history_actions=motion(0, model.history_step_count))
    for time in range(model.history_step_count):
        time_s = time * model.step_duration.ToNanoseconds() / 1e9
        scene.observations.add(views=[table_view(camera, time_s) for camera in model.cameras])
    return scene


def print_step(step):
    particles, picture = step.particles, step.images[0].image
    heights = struct.unpack(f"<{3 * particles.particle_count}f", particles.positions)[2::3]
    red = picture.data[0::3]
    print(f"step {step.step}: {particles.particle_count} particles, {100 * sum(heights) / len(heights):.3f} cm high in the mean; "
          f"{picture.width_px} x {picture.height_px} px, mean red {sum(red) / len(red):.2f}")


address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:50051"
channel = grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", 64 << 20)])
server = stubs.InterlacerServiceStub(channel)
model = server.GetModelMetadata(service.GetModelMetadataRequest(), timeout=10, wait_for_ready=True)
request = service.PredictRolloutRequest(
    source=service.PredictionSource(scene_input=table_scene(model)),  # two observations, RGB-D
    actions=motion(2, 4),  # joint angles of the next 4 steps
    output=service.OutputOptions(include_positions=True))
request.output.render_targets.add(target_name="view", scene_camera_name=model.cameras[0].name)
for response in server.PredictRollout(request, timeout=120):
    print_step(response.step)  # arrives while the next step is computed

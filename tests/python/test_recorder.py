"""Recordings hold what went over the wire, also when they were cut."""

import resource
from types import SimpleNamespace

import pytest
from google.protobuf import any_pb2
from interlacer.rpc import error_details_pb2
from interlacer.v1 import interlacer_service_pb2 as service
from interlacer_client import Client, InterlacerError, Output, Recorder, read_recording


def names(messages):
    return [type(message).__name__ for message in messages]


def test_requests_answers_and_errors_in_their_order(address, frames, plan, tmp_path):
    path = tmp_path / "run.ipb"
    with Client(address, deadline_s=300) as client, Recorder(client, path) as recorder:
        client.info()
        steps = client.predict(frames, plan, Output(positions="float32")).result().steps
        client.predict(frames, plan[:1], request_id="mine").result()
        with pytest.raises(InterlacerError):
            client.metadata("absent")
        assert recorder.dropped_count == 0
    client.close()
    messages = list(read_recording(path))
    assert names(messages) == [
        "GetServerInfoRequest", "GetServerInfoResponse", "PredictRolloutRequest", *["PredictRolloutResponse"] * 3,
        "PredictRolloutRequest", "PredictRolloutResponse", "GetModelMetadataRequest", "Status"]
    assert [message.request_id for message in messages[2:8]] == ["recorded-1"] * 4 + ["mine"] * 2
    assert messages[2].source.scene_input == frames.to_proto()
    assert messages[5].step.particles.positions == steps[2].positions_m.tobytes()
    assert messages[-1].code == 5 and messages[-1].details[0].type_url.endswith("google.rpc.ErrorInfo")


def test_errors_name_the_request_that_failed(address, frames, plan, tmp_path):
    path = tmp_path / "errors.ipb"
    with Client(address) as client, Recorder(client, path):
        for request_id in ("", "mine"):
            with pytest.raises(InterlacerError, match="ACTION_OUT_OF_RANGE"):
                client.predict(frames, plan + 100, request_id=request_id).result()
    messages = list(read_recording(path))
    assert names(messages) == ["PredictRolloutRequest", "Status"] * 2
    for request, status in zip(messages[::2], messages[1::2]):
        assert status.details[-1].type_url.endswith("google.rpc.RequestInfo")
        assert error_details_pb2.RequestInfo.FromString(status.details[-1].value).request_id == request.request_id
    assert [request.request_id for request in messages[::2]] == ["recorded-1", "mine"]


def test_nothing_is_written_before_after_and_past_the_limit(address, tmp_path):
    path = tmp_path / "short.ipb"
    with Client(address) as client:
        client.info()
        with Recorder(client, path, max_bytes=140) as recorder:
            client.info()
            assert recorder.dropped_count == 1  # the answer
            client.metadata()  # its request would fit
            assert recorder.dropped_count == 3
        client.info()
    assert names(read_recording(path)) == ["GetServerInfoRequest"]


def test_a_full_disk_fails_no_call(address):
    with Client(address) as client, Recorder(client, "/dev/full") as recorder:
        client.info()
        client.info()
    assert recorder.dropped_count == 4


def test_nothing_follows_what_the_disk_did_not_take(tmp_path):
    path = tmp_path / "full.ipb"
    client = SimpleNamespace(tap=None)
    small, large = service.DeleteSceneRequest(scene_id="small"), service.DeleteSceneRequest(scene_id="large" * 100)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Recorder(client, path) as recorder:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (300, limit[1]))
            client.tap(small)
            client.tap(large)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        client.tap(small)  # there is room again
    assert recorder.dropped_count == 2
    messages = read_recording(path)
    assert next(messages) == small
    with pytest.raises(InterlacerError, match="DATA_LOSS"):
        next(messages)


def test_a_recording_that_was_cut_gives_what_is_whole(address, tmp_path):
    path = tmp_path / "cut.ipb"
    with Client(address) as client, Recorder(client, path):
        client.metadata()
    whole = path.read_bytes()
    first = len(any_pb2.Any(type_url="type.googleapis.com/interlacer.v1.GetModelMetadataRequest").SerializeToString()) + 1
    for length, count in ((len(whole), 2), (len(whole) - 1, 1), (first + 1, 1), (first, 1), (first - 1, 0), (1, 0), (0, 0)):
        path.write_bytes(whole[:length])
        found = []
        try:
            found += read_recording(path)
            for message in read_recording(path):
                assert message in found
        except InterlacerError as error:
            assert error.code == "DATA_LOSS" and length not in (0, first, len(whole))
            assert f"at byte {first if count else 0}" in str(error)
            iterator = read_recording(path)
            found = [next(iterator) for _ in range(count)]
        assert len(found) == count, length


@pytest.mark.parametrize("length", [2**62, 2**63, 2**70 - 1])
def test_a_length_that_the_file_cannot_hold_is_that_of_a_cut_message(length, tmp_path):
    path = tmp_path / "damaged.ipb"
    varint = bytes(length >> shift & 0x7F | 0x80 for shift in range(0, 63, 7)) + bytes([length >> 63])
    path.write_bytes(varint + b"few bytes")
    with pytest.raises(InterlacerError, match="DATA_LOSS.* at byte 0"):
        list(read_recording(path))


def test_what_is_no_message_is_named(tmp_path):
    path = tmp_path / "damaged.ipb"
    broken = any_pb2.Any(type_url="type.googleapis.com/google.rpc.Status", value=b"\xff").SerializeToString()
    for record in (b"\xff", broken):
        path.write_bytes(bytes([len(record)]) + record)
        with pytest.raises(InterlacerError, match="SCHEMA_INVALID.*no message at byte 0"):
            list(read_recording(path))

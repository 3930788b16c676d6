"""Forks, signals, and messages that other packages know too."""

import os
import signal
import subprocess
import sys
import time

import pytest

FORK = """
import os, sys
from interlacer_client import Client, InterlacerError
client = Client(sys.argv[1], deadline_s=30)
if sys.argv[2] == "used": print("parent", client.info().state)
for _ in range(5):  # gRPC's own handlers let a fork hang now and then
    child = os.fork()
    if child == 0:
        try:
            print("child", client.info().state, flush=True)
        except InterlacerError as error:
            print("child", error.reason, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
print("parent", client.info().state)
"""


# fm-42
@pytest.mark.parametrize("when, child", [("unused", "SERVING"), ("used", "FORKED_AFTER_USE")])
def test_a_child_forked_before_the_first_call_has_its_own_connection_and_later_ones_are_told(address, when, child):
    done = subprocess.run([sys.executable, "-c", FORK, address, when], capture_output=True, text=True, timeout=120)
    said = sorted(done.stdout.split("\n"))
    assert done.returncode == 0, done.stderr
    assert "child " + child in said and "parent SERVING" in said, done


# fm-42
def test_ctrl_c_ends_the_waiting_and_the_call(address, client, episode, tmp_path):
    script = tmp_path / "wait.py"
    script.write_text(f"""
import signal, sys, pathlib
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background processes ignore it
sys.path.insert(0, {os.path.dirname(__file__)!r})
from conftest import Episode
from interlacer_client import Client
import numpy as np
client = Client({address!r}, deadline_s=600)  # the server refuses what it expects to take longer
model = client.metadata()
episode = Episode(pathlib.Path({str(episode.folder)!r}))
plan = np.repeat(episode.actions[2:5], 40, axis=0)
for step in client.predict(episode.frames(model, 1), plan):
    print(step.step, flush=True)
""")
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "1\n"
    process.send_signal(signal.SIGINT)
    start_s = time.monotonic()
    _, said = process.communicate(timeout=120)
    assert time.monotonic() - start_s < 60 and process.returncode != 0
    assert "KeyboardInterrupt" in said


def test_other_packages_may_bring_messages_of_the_same_name():
    """As googleapis-common-protos and grpcio-health-checking do, of another version: Python keeps one file of a name in a
    process, and refuses another."""
    code = """
from google.protobuf import descriptor_pb2, descriptor_pool
import interlacer_client
for name in ("google/rpc/status.proto", "google/rpc/error_details.proto", "grpc/health/v1/health.proto"):
    file = descriptor_pb2.FileDescriptorProto(name=name, package=name.rsplit("/", 1)[0].replace("/", "."))
    names = {"status": "Status", "error_details": "ErrorInfo", "health": "HealthCheckRequest"}
    file.message_type.add(name=names[name.split("/")[-1][:-6]])
    descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr

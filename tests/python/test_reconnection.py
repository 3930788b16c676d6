"""A server dies and comes back under clients that go on asking."""

import asyncio
import subprocess
import sys
import time

import pytest
from interlacer_client import AsyncClient, Client, InterlacerError, calls, channel

#: A server without methods: who gets through to it hears UNIMPLEMENTED.
SERVER = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
import grpc
server = grpc.server(ThreadPoolExecutor(1))
print(server.add_insecure_port("127.0.0.1:" + sys.argv[1]), flush=True)
server.start()
print("started", flush=True)
time.sleep(600)
"""


class Server:
    def __init__(self):
        self.port = 0
        self.start()

    def start(self):
        self._process = subprocess.Popen([sys.executable, "-c", SERVER, str(self.port)], stdout=subprocess.PIPE, text=True)
        self.port = int(self._process.stdout.readline())
        assert self.port > 0 and self._process.stdout.readline() == "started\n"

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.kill()


@pytest.fixture(params=["blocking", "asyncio"])
def ask(request, server):
    """Code of a call's error, and how long it took."""
    if request.param == "blocking":
        client = Client(f"127.0.0.1:{server.port}", retry=False)
        info, close = client.info, client.close
    else:
        loop = asyncio.new_event_loop()

        async def make():
            return AsyncClient(f"127.0.0.1:{server.port}", retry=False)

        client = loop.run_until_complete(make())

        def info(deadline_s):
            loop.run_until_complete(client.info(deadline_s=deadline_s))

        def close():
            loop.run_until_complete(client.close())
            loop.close()

    def call(deadline_s=20):
        start_s = time.monotonic()
        with pytest.raises(InterlacerError) as caught:
            info(deadline_s=deadline_s)
        return caught.value.code, time.monotonic() - start_s

    yield call
    close()


# fm-27
def test_the_call_after_a_restart_is_answered(server, ask):
    assert ask()[0] == "UNIMPLEMENTED"
    server.kill()
    end_s = time.monotonic() + 4  # until the pauses between attempts are the longest
    while time.monotonic() < end_s:
        assert ask()[0] == "UNAVAILABLE"
    server.start()
    start_s = time.monotonic()
    codes = [ask()[0]]
    if codes[0] == "UNAVAILABLE":  # a loaded machine may take longer to connect
        codes.append(ask()[0])
    assert codes[-1] == "UNIMPLEMENTED", codes
    assert time.monotonic() - start_s < 3


def test_no_server_is_unavailable_and_no_timeout(server, ask):
    assert ask()[0] == "UNIMPLEMENTED"
    server.kill()
    for _ in range(3):
        code, seconds = ask()
        assert code == "UNAVAILABLE" and seconds < 5
    assert ask(deadline_s=1)[0] == "UNAVAILABLE"


def test_a_deadline_counts_from_the_call_and_not_from_the_iterator():
    answers = calls.Answers(0.2, None, channel.ProcessChannel(lambda: None))
    time.sleep(0.3)
    assert answers.left_s() > 0.15
    time.sleep(0.3)
    assert answers.left_s() < 0.01

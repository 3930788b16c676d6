"""LatestOnly gives every request a word. Time and order are a client's of the tests; the last test has the real server."""

import asyncio
import threading

import numpy as np
import pytest
from interlacer_client import Client, InterlacerError, LatestOnly, Output, Prediction


class ScriptedClient:
    """Answers when told: `release` lets the call in flight end, with `error` where there is one."""

    def __init__(self):
        self.calls = []
        self.started = threading.Semaphore(0)
        self.release = threading.Semaphore(0)
        self.error = None

    def predict(self, *arguments, **options):
        self.calls.append((arguments, options))
        self.started.release()
        return self

    def result(self):
        assert self.release.acquire(timeout=60)
        if self.error is not None:
            raise self.error
        return Prediction([], None)

    def cancel(self):
        self.error = InterlacerError("CANCELLED", "the caller ended the call")
        self.release.release()


class Frames:
    """Counts its copies."""

    def __init__(self, name):
        self.name = name

    def copy(self):
        return Frames(self.name + " copied")


def test_the_newest_request_wins_and_the_others_are_told():
    client = ScriptedClient()
    with LatestOnly(client, max_age_s=100) as loop:
        futures = [loop.submit(Frames("0"), "plan 0")]
        assert client.started.acquire(timeout=60)
        futures += [loop.submit(Frames(str(i)), f"plan {i}", Output(positions="u16")) for i in range(1, 5)]
        assert [future.done() for future in futures] == [False, True, True, True, False]
        client.release.release(2)
        answers = [future.result(60) for future in futures]
    assert [answer.word for answer in answers] == ["FRESH", "SUPERSEDED", "SUPERSEDED", "SUPERSEDED", "FRESH"]
    assert [answer.prediction is None for answer in answers] == [False, True, True, True, False]
    assert [(arguments[0].name, arguments[1]) for arguments, _ in client.calls] == [
        ("0 copied", "plan 0"), ("4 copied", "plan 4")]
    assert client.calls[1][0][2].positions == "u16"
    assert all(options["priority"] == "control" and 0 < options["deadline_s"] <= 100 for _, options in client.calls)


@pytest.mark.parametrize("plan_of", [lambda values: values, lambda values: {"left_joint_1": values}], ids=["rows", "names"])
def test_a_plan_that_is_filled_anew_is_sent_as_it_was(plan_of):
    client = ScriptedClient()
    values, steps = np.zeros(2), [1]
    with LatestOnly(client, max_age_s=100) as loop:
        loop.submit(Frames("runs"))
        assert client.started.acquire(timeout=60)
        waiting = loop.submit(Frames("waits"), plan_of(values), Output(steps=steps))
        values.fill(1)
        steps[0] = 2
        client.release.release(2)
        assert waiting.result(60).word == "FRESH"
    _, plan, output = client.calls[1][0]
    np.testing.assert_equal(plan, plan_of(np.zeros(2)))
    assert output.steps == [1]


def test_what_is_too_old_before_it_is_sent_is_stale():
    client = ScriptedClient()
    with LatestOnly(client, max_age_s=100) as loop:
        answer = loop.submit(Frames("0"), age_s=100.5).result(60)
        assert (answer.word, answer.prediction) == ("STALE", None) and answer.age_s > 100 and client.calls == []
        client.release.release()
        assert loop.submit(Frames("1"), age_s=90).result(60).word == "FRESH"
        assert client.calls[0][1]["deadline_s"] <= 10  # the call ends with its use


def test_a_call_that_ends_with_its_age_is_stale_and_other_errors_are_raised():
    client = ScriptedClient()
    with LatestOnly(client, max_age_s=100) as loop:
        for error in (InterlacerError("DEADLINE_EXCEEDED", "late"),
                      InterlacerError("DEADLINE_EXCEEDED", "foreseen", "DEADLINE_TOO_SHORT")):
            client.error = error
            client.release.release()
            assert loop.submit(Frames("0")).result(60).word == "STALE"
        for error in (InterlacerError("RESOURCE_EXHAUSTED", "full", "QUEUE_FULL"), ValueError("a mistake")):
            client.error = error
            client.release.release()
            with pytest.raises(type(error), match=str(error)):
                loop.submit(Frames("0")).result(60)


def test_closing_ends_what_runs_and_what_waits():
    client = ScriptedClient()
    loop = LatestOnly(client, max_age_s=100)
    futures = [loop.submit(Frames("0"))]
    assert client.started.acquire(timeout=60)
    futures.append(loop.submit(Frames("1")))
    loop.close()
    futures.append(loop.submit(Frames("2")))
    for future in futures:
        with pytest.raises(InterlacerError, match="CANCELLED"):
            future.result(60)


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("error", [None, ValueError("a mistake")])
def test_futures_that_were_given_up_harm_no_others(error):
    async def give_up(future):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(future), 0.01)

    client = ScriptedClient()
    client.error = error
    with LatestOnly(client, max_age_s=100) as loop:
        runs = loop.submit(Frames("runs"))
        assert client.started.acquire(timeout=60)
        asyncio.run(give_up(runs))
        for name in ("is superseded", "waits"):
            asyncio.run(give_up(loop.submit(Frames(name))))
        client.release.release()
        assert runs.exception(60) is error
        client.error = None
        client.release.release()
        assert loop.submit(Frames("is asked")).result(60).word == "FRESH"
        loop.submit(Frames("runs"))
        assert client.started.acquire(timeout=60) and client.started.acquire(timeout=60)
        assert loop.submit(Frames("waits for the end")).cancel()
    assert [arguments[0].name for arguments, _ in client.calls] == ["runs copied", "is asked copied", "runs copied"]


def test_an_age_that_nothing_can_keep_is_refused():
    with pytest.raises(InterlacerError, match="max_age_s"):
        LatestOnly(ScriptedClient(), max_age_s=0)


def test_against_the_server(address, client, frames, plan):
    expected = client.predict(frames, plan, Output(positions="float32")).result().positions_m
    with Client(address, retry=False) as control:
        with LatestOnly(control, max_age_s=300) as loop:
            answer = loop.submit(frames, plan, Output(positions="float32")).result(300)
            assert answer.word == "FRESH"
            np.testing.assert_array_equal(answer.prediction.positions_m, expected)
            with pytest.raises(InterlacerError, match="ACTION_OUT_OF_RANGE"):
                loop.submit(frames, plan + 90).result(300)
        with LatestOnly(control, max_age_s=0.05) as loop:
            answer = loop.submit(frames, np.repeat(plan, 40, axis=0)).result(300)
            assert (answer.word, answer.prediction) == ("STALE", None)

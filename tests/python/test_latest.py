"""LatestOnly against the real server: every request gets a word."""

import time

import numpy as np
import pytest
from interlacer_client import Client, InterlacerError, LatestOnly, Output


@pytest.fixture
def control(address):
    with Client(address, retry=False) as client:
        yield client


def test_the_newest_request_wins_and_the_others_are_told(control, client, frames, plan):
    expected = client.predict(frames, plan, Output(positions="float32")).result().positions_m
    with LatestOnly(control, max_age_s=60) as loop:
        futures = [loop.submit(frames, np.repeat(plan, 8, axis=0))]
        time.sleep(0.1)  # it is in flight
        futures += [loop.submit(frames, plan, Output(positions="float32")) for _ in range(4)]
        answers = [future.result(60) for future in futures]
    assert [answer.word for answer in answers] == ["FRESH", "SUPERSEDED", "SUPERSEDED", "SUPERSEDED", "FRESH"]
    assert [answer.prediction is None for answer in answers] == [False, True, True, True, False]
    assert len(answers[0].prediction.steps) == 24
    np.testing.assert_array_equal(answers[4].prediction.positions_m, expected)
    assert all(answer.age_s >= 0 for answer in answers) and answers[4].age_s > answers[1].age_s


def test_what_is_too_old_is_stale_before_and_during_the_call(control, frames, plan):
    with LatestOnly(control, max_age_s=0.3) as loop:
        assert loop.submit(frames, plan, age_s=0.5).result(60).word == "STALE"
        start_s = time.monotonic()
        answer = loop.submit(frames, np.repeat(plan, 40, axis=0)).result(60)
        assert (answer.word, answer.prediction) == ("STALE", None)
        assert time.monotonic() - start_s < 2  # the call ended with its use


def test_errors_reach_the_caller(control, frames, plan):
    with LatestOnly(control, max_age_s=10) as loop:
        with pytest.raises(InterlacerError, match="ACTION_OUT_OF_RANGE"):
            loop.submit(frames, plan + 90).result(60)
        with pytest.raises(InterlacerError, match="ACTION_SHAPE"):
            loop.submit(frames, plan[:, :3]).result(60)
        assert loop.submit(frames, plan).result(60).word == "FRESH"


def test_closing_ends_what_runs_and_what_waits(control, frames, plan):
    loop = LatestOnly(control, max_age_s=60)
    futures = [loop.submit(frames, np.repeat(plan, 40, axis=0))]
    time.sleep(0.2)
    futures.append(loop.submit(frames, plan))
    loop.close()
    futures.append(loop.submit(frames, plan))
    for future in futures:
        with pytest.raises(InterlacerError, match="CANCELLED"):
            future.result(10)


def test_an_age_that_nothing_can_keep_is_refused(control):
    with pytest.raises(InterlacerError, match="max_age_s"):
        LatestOnly(control, max_age_s=0)

"""The asyncio client gives what the blocking one gives."""

import asyncio
import dataclasses

import numpy as np
import pytest
from interlacer_client import AsyncClient, InterlacerError, Output


def run(address, body):
    async def main():
        async with AsyncClient(address, deadline_s=300) as client:  # time enough for a loaded machine
            return await body(client)

    return asyncio.run(main())


def without_costs(metadata):
    """Costs are as measured so far, so that they change from call to call."""
    costs = [f.name for f in dataclasses.fields(metadata) if f.name.endswith("_cost_s")]
    return dataclasses.replace(metadata, longest_unit_s=0, **dict.fromkeys(costs, 0))


def test_unary_methods(address, client, frames):
    async def body(aio):
        await aio.wait_until_serving(10)
        return await aio.info(), await aio.metadata(), await aio.validate(frames), await aio.is_serving()

    info, metadata, report, serving = run(address, body)
    assert metadata.step_cost_s > 0
    assert without_costs(metadata) == without_costs(client.metadata())
    assert (info, report, serving) == (client.info(), client.validate(frames), True)


def test_rollouts_and_candidates(address, client, frames, plan):
    output = Output(positions="float32")
    expected = client.predict(frames, plan, output).result().positions_m

    async def body(aio):
        rollout = aio.predict(frames, plan, output)
        steps = [step async for step in rollout]
        assert rollout.summary.computed_step_count == 3
        together = await asyncio.gather(*(aio.predict(frames, plan, output).result() for _ in range(2)))
        last = [candidate async for candidate in aio.candidates(frames, [plan], output)]
        return [step.positions_m for step in steps], [p.positions_m for p in together], last

    steps, together, last = run(address, body)
    np.testing.assert_array_equal(steps, expected)
    for positions in together:
        np.testing.assert_array_equal(positions, expected)
    np.testing.assert_array_equal(last[0].prediction.positions_m[0], expected[-1])


def test_a_call_that_waits_for_a_lost_connection(address, client, frames, plan):
    output = Output(positions="float32")
    expected = client.predict(frames, plan, output).result().positions_m

    async def body(aio):
        def lost():
            aio._channel.is_lost = True  # as after a call that found no server
            return aio

        assert await lost().info() == client.info() and not aio._channel.is_lost
        rollout = lost().predict(frames, plan, output)
        first = await rollout.__anext__()
        steps = [first] + [step async for step in rollout]
        np.testing.assert_array_equal([step.positions_m for step in steps], expected)
        async for candidate in lost().candidates(frames, [plan, plan], output):
            np.testing.assert_array_equal(candidate.prediction.positions_m[0], expected[-1])
        for takes_a_step in (False, True):
            rollout = lost().predict(frames, np.repeat(plan, 40, axis=0))
            if takes_a_step:
                await rollout.__anext__()
            rollout.cancel()
            with pytest.raises(InterlacerError, match="CANCELLED"):
                await rollout.result()

    run(address, body)


def test_errors(address, frames, plan):
    async def body(aio):
        with pytest.raises(InterlacerError, match="MODEL_NOT_FOUND"):
            await aio.metadata("absent")
        with pytest.raises(InterlacerError, match="ACTION_OUT_OF_RANGE") as caught:
            await aio.predict(frames, plan + 90).result()
        assert caught.value.got
        with pytest.raises(InterlacerError, match="NOT_FOUND"):
            await aio.is_serving("absent")

    run(address, body)

    async def absent(aio):
        with pytest.raises(InterlacerError, match="DEADLINE_EXCEEDED: not serving"):
            await aio.wait_until_serving(0.2)

    run("127.0.0.1:1", absent)


def test_cancelling_while_a_scene_is_made_again_ends_the_call(address, frames, plan):
    async def body(aio):
        async with await aio.scene(frames) as scene:
            await scene.delete()
            rollout = scene.predict(plan)
            create_again = scene.create_again

            async def cancelled_meanwhile(lost_id):
                rollout.cancel()
                return await create_again(lost_id)

            scene.create_again = cancelled_meanwhile
            with pytest.raises(InterlacerError, match="CANCELLED"):
                await rollout.result()

    run(address, body)


def test_cancelling_a_rollout_and_cancelling_its_task(address, frames, plan):
    long_plan = np.repeat(plan, 40, axis=0)

    async def body(aio):
        async with aio.predict(frames, long_plan, deadline_s=600) as rollout:
            await rollout.__anext__()
        with pytest.raises(InterlacerError, match="CANCELLED"):
            await rollout.result()
        task = asyncio.ensure_future(aio.predict(frames, long_plan, deadline_s=600).result())
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # The worker is free again. Until the server knows that, it counts what was cancelled as ahead of this call.
        await asyncio.wait_for(aio.predict(frames, plan, deadline_s=600).result(), 120)

    run(address, body)

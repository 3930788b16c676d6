"""The asyncio twin of the blocking client: the same methods, awaited."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Optional, Sequence, Union

import grpc
from interlacer.v1 import interlacer_service_pb2 as service

from . import calls
from . import channel as channels
from .actions import Actions
from .candidates import Candidate, failed_candidate, output_of_candidate
from .errors import InterlacerError
from .frames import SceneFrames
from .metadata import ModelMetadata, ServerInfo
from .output import Output
from .prediction import PredictedStep, Prediction, SceneReport, Summary


class AsyncRollout(AsyncIterator[PredictedStep]):
    """Steps of one call, each as soon as the server has it; see Rollout. Cancelling the task that waits for a step ends
    the call too."""

    def __init__(self, call: Any, answers: calls.Answers) -> None:
        self._call = call
        self._responses = call.__aiter__()
        self._answers = answers
        self._is_cancelled = False

    @property
    def summary(self) -> Optional[Summary]:
        """Facts about the call, after its last step."""
        return self._answers.summary

    async def __anext__(self) -> PredictedStep:
        try:
            async for response in self._responses:
                step = self._answers.step(response)
                if step is not None:
                    return step
        except grpc.RpcError as error:
            raise self._answers.failed(error) from None
        except asyncio.CancelledError:
            self._call.cancel()
            if self._is_cancelled:  # by cancel(), not with the task
                raise InterlacerError("CANCELLED", "the caller ended the call") from None
            raise
        self._answers.finished()
        raise StopAsyncIteration

    async def result(self) -> Prediction:
        """All steps that were not taken yet, and the summary."""
        steps = [step async for step in self]
        return Prediction(steps, self._answers.finished())

    def cancel(self) -> None:
        """Ends the call; whoever waits for a step gets CANCELLED. After the last step it does nothing."""
        self._is_cancelled = True
        self._call.cancel()

    async def __aenter__(self) -> AsyncRollout:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cancel()


class AsyncClient(calls.BaseClient):
    """As Client, for one event loop, to which the connection belongs."""

    def __init__(self, address: str, *, deadline_s: Optional[float] = None, wait_for_ready: bool = False,
                 retry: bool = True, max_message_bytes: int = channels.MAX_MESSAGE_BYTES) -> None:
        super().__init__(grpc.aio.insecure_channel, address, deadline_s, wait_for_ready, retry, max_message_bytes)

    async def info(self, *, deadline_s: Optional[float] = None) -> ServerInfo:
        return ServerInfo.from_proto(await self._unary("GetServerInfo", service.GetServerInfoRequest(), deadline_s))

    async def metadata(self, model_name: str = "", *, deadline_s: Optional[float] = None) -> ModelMetadata:
        request = service.GetModelMetadataRequest(model_name=model_name)
        return ModelMetadata.from_proto(await self._unary("GetModelMetadata", request, deadline_s))

    async def validate(self, frames: SceneFrames, *, deadline_s: Optional[float] = None) -> SceneReport:
        response = await self._unary("ValidateScene", calls.validate_request(frames), deadline_s)
        return SceneReport.from_proto(response.report)

    def predict(self, frames: SceneFrames, actions: Optional[Actions] = None, output: Output = Output(), *,
                priority: str = "normal", request_id: str = "", deadline_s: Optional[float] = None) -> AsyncRollout:
        """`async for step in client.predict(...)`, or `await client.predict(...).result()`."""
        answers = self._answers(deadline_s, channels.STREAM_DEADLINE_S, frames)
        return AsyncRollout(self._start_rollout(frames, actions, output, priority, request_id, answers), answers)

    async def candidates(self, frames: SceneFrames, candidates: Sequence[Actions], output: Output = Output(), *,
                         priority: str = "normal", deadline_s: Optional[float] = None) -> AsyncIterator[Candidate]:
        for index, actions in enumerate(candidates):
            asked = output_of_candidate(frames.model, actions, output)
            try:
                rollout = self.predict(frames, actions, asked, priority=priority, deadline_s=deadline_s)
                yield Candidate(index, await rollout.result())
            except InterlacerError as error:
                yield failed_candidate(index, error)

    async def is_serving(self, service_name: str = calls.SERVICE, *, deadline_s: Optional[float] = None) -> bool:
        answers = self._answers(deadline_s, channels.UNARY_DEADLINE_S)
        try:
            return calls.says_serving(await self._start_health_check(service_name, answers))
        except grpc.RpcError as error:
            raise answers.failed(error) from None

    async def wait_until_serving(self, timeout_s: float) -> None:
        wait = calls.ServingWait(timeout_s)
        while True:
            why: Union[str, InterlacerError] = "it answers that it is not"
            try:
                if await self.is_serving(deadline_s=wait.left_s()):
                    return
            except InterlacerError as error:
                why = error
            await asyncio.sleep(wait.pause_s(why))

    async def close(self) -> None:
        """Ends calls in flight; a later call connects again."""
        channel = self._channel.take()
        if channel is not None:
            await channel.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _unary(self, method: str, request: Any, deadline_s: Optional[float]) -> Any:
        answers = self._answers(deadline_s, channels.UNARY_DEADLINE_S)
        try:
            response = await self._start(method, request, answers)
        except grpc.RpcError as error:
            raise answers.failed(error) from None
        answers.show(response)
        return response

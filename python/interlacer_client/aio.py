"""The asyncio twin of the blocking client: the same methods, awaited."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Awaitable, Callable, Coroutine, Generator, Optional, Sequence, Union

import grpc
from interlacer.v1 import interlacer_service_pb2 as service

from . import calls
from . import channel as channels
from .actions import Actions
from .candidates import Candidate
from .errors import InterlacerError
from .frames import SceneFrames
from .metadata import ModelMetadata, ServerInfo, Statistics
from .output import Output
from .prediction import PredictedStep, Prediction, SceneReport, Summary


class AsyncRollout(AsyncIterator[PredictedStep]):
    """Steps of one call, each as soon as the server has it; see Rollout. Cancelling the task that waits for a step ends
    the call too."""

    def __init__(self, call: Any, answers: calls.Answers,
                 call_again: Optional[Callable[[], Awaitable[Any]]] = None) -> None:
        self._call = call
        self._responses = call.__aiter__()
        self._answers = answers
        self._call_again = call_again  # for a server that has lost the scene
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
            failure = self._answers.failed(error)
            if self._call_again is None or not self._answers.may_begin_again(failure):
                raise failure from None
            self._call = await self._call_again()
            if self._is_cancelled:  # while the scene was made again
                self._call.cancel()
            self._responses = self._call.__aiter__()
            return await self.__anext__()
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


class _LaterCall:
    """A call of gRPC that begins once something else is over."""

    def __init__(self, begin: Coroutine[Any, Any, Any]) -> None:
        self._begun = asyncio.ensure_future(begin)

    def __await__(self) -> Generator[Any, None, Any]:
        return self._answer().__await__()

    async def _answer(self) -> Any:
        return await (await self._begun)

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for response in await self._begun:
            yield response

    def cancel(self) -> None:
        if not self._begun.cancel() and not self._begun.cancelled() and self._begun.exception() is None:
            self._begun.result().cancel()


class AsyncScene:
    """As Scene; `async with await client.scene(frames) as scene`."""

    def __init__(self, client: AsyncClient, frames: SceneFrames, ttl_s: float, deadline_s: Optional[float]) -> None:
        self._client = client
        self._ttl_s = ttl_s
        self._deadline_s = deadline_s
        self.frames = frames.copy()
        self.scene_id = ""
        self.time_to_live_s = 0.0
        self.report: SceneReport
        self._lock = asyncio.Lock()

    async def create_again(self, lost_id: str, newer: Optional[SceneFrames] = None) -> bool:
        async with self._lock:
            if self.scene_id != lost_id:
                return False
            frames = newer or self.frames
            request = calls.create_request(frames, self._ttl_s)
            created = calls.created_scene(await self._client._unary("CreateScene", request, self._deadline_s))
            self.scene_id, self.time_to_live_s, self.report = created
            self.frames = frames
            return True

    def predict(self, actions: Optional[Actions] = None, output: Output = Output(), *, priority: str = "normal",
                request_id: str = "", deadline_s: Optional[float] = None) -> AsyncRollout:
        return self._client._predict(self.frames, actions, output, priority, request_id, deadline_s, self)

    def candidates(self, candidates: Sequence[Actions], output: Output = Output(), *, priority: str = "normal",
                   request_id: str = "", deadline_s: Optional[float] = None) -> AsyncIterator[Candidate]:
        return self._client._candidates(self.frames, candidates, output, priority, request_id, deadline_s, self)

    async def update(self, frames: SceneFrames, *, priority: str = "normal", deadline_s: Optional[float] = None) -> None:
        newer, lost_id = frames.copy(), self.scene_id
        try:
            request = calls.update_request(lost_id, newer, priority)
            self.report = SceneReport.from_proto((await self._client._unary("UpdateScene", request, deadline_s)).report)
            self.frames = newer
        except InterlacerError as error:
            if error.reason != "SCENE_NOT_FOUND":
                raise
            if not await self.create_again(lost_id, newer):
                await self.update(newer, priority=priority, deadline_s=deadline_s)

    async def delete(self, *, deadline_s: Optional[float] = None) -> None:
        await self._client._unary("DeleteScene", service.DeleteSceneRequest(scene_id=self.scene_id), deadline_s)

    async def __aenter__(self) -> AsyncScene:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        try:
            await self.delete()
        except InterlacerError:
            if kind is None:  # what went wrong inside matters more
                raise


class AsyncClient(calls.BaseClient):
    """As Client, for one event loop, to which the connection belongs."""

    def __init__(self, address: str, *, deadline_s: Optional[float] = None, wait_for_ready: bool = False,
                 retry: bool = True, max_message_bytes: int = channels.MAX_MESSAGE_BYTES,
                 credentials: Optional[grpc.ChannelCredentials] = None) -> None:
        super().__init__(channels.maker(grpc.aio, credentials), address, deadline_s, wait_for_ready, retry, max_message_bytes)

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
        return self._predict(frames, actions, output, priority, request_id, deadline_s)

    def candidates(self, frames: SceneFrames, candidates: Sequence[Actions], output: Output = Output(), *,
                   priority: str = "normal", request_id: str = "",
                   deadline_s: Optional[float] = None) -> AsyncIterator[Candidate]:
        return self._candidates(frames, candidates, output, priority, request_id, deadline_s)

    async def scene(self, frames: SceneFrames, *, ttl_s: float = 0.0, deadline_s: Optional[float] = None) -> AsyncScene:
        scene = AsyncScene(self, frames, ttl_s, deadline_s)
        await scene.create_again("")
        return scene

    async def statistics(self, *, deadline_s: Optional[float] = None) -> Statistics:
        return Statistics.from_proto(await self._unary("GetStatistics", service.GetStatisticsRequest(), deadline_s))

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

    def _connect_and_call(self, method: Callable[[Any], Any], request: Any, answers: calls.Answers) -> Any:
        channel = self._channel.get()
        if not self._channel.is_lost:
            return self._call(method, request, answers)

        async def begin() -> Any:
            try:
                await asyncio.wait_for(channel.channel_ready(), self._channel.patience_s(answers.left_s()))
                self._channel.is_lost = False
            except asyncio.TimeoutError:
                pass  # the call says what is wrong
            return self._call(method, request, answers)

        return _LaterCall(begin())

    def _predict(self, frames: SceneFrames, actions: Optional[Actions], output: Output, priority: str, request_id: str,
                 deadline_s: Optional[float], scene: Optional[AsyncScene] = None) -> AsyncRollout:
        answers = self._answers(deadline_s, channels.STREAM_DEADLINE_S, frames)

        def start() -> Any:
            scene_id = "" if scene is None else scene.scene_id
            return self._start_rollout(frames, actions, output, priority, request_id, answers, scene_id)

        return AsyncRollout(start(), answers, None if scene is None else _after_creation(scene, start))

    def _candidates(self, frames: SceneFrames, candidates: Sequence[Actions], output: Output, priority: str,
                    request_id: str, deadline_s: Optional[float],
                    scene: Optional[AsyncScene] = None) -> AsyncIterator[Candidate]:
        answers = self._candidate_answers(deadline_s, frames, candidates, output)

        def start() -> Any:
            scene_id = "" if scene is None else scene.scene_id
            return self._start_candidates(frames, candidates, output, priority, request_id, answers, scene_id)

        return _each_candidate(start, answers, None if scene is None else _after_creation(scene, start))

    async def _unary(self, method: str, request: Any, deadline_s: Optional[float]) -> Any:
        answers = self._answers(deadline_s, channels.UNARY_DEADLINE_S)
        try:
            response = await self._start(method, request, answers)
        except grpc.RpcError as error:
            raise answers.failed(error) from None
        answers.show(response)
        return response


def _after_creation(scene: AsyncScene, start: Callable[[], Any]) -> Callable[[], Awaitable[Any]]:
    """Starts a call over a scene that is made again first; to be called before the call that finds it lost."""
    lost_id = scene.scene_id

    async def again() -> Any:
        await scene.create_again(lost_id)
        return start()

    return again


async def _each_candidate(start: Callable[[], Any], answers: calls.Answers,
                          start_again: Optional[Callable[[], Awaitable[Any]]]) -> AsyncIterator[Candidate]:
    call = start()
    while call is not None:
        again: Optional[Any] = None
        try:
            async for response in call:
                yield answers.candidate(response)
            answers.finished()
        except grpc.RpcError as error:
            failure = answers.failed(error)
            if start_again is None or not answers.may_begin_again(failure):
                raise failure from None
            again = await start_again()
        finally:
            call.cancel()
        call = again

"""The blocking client."""

from __future__ import annotations

import time
from typing import Any, Callable, Iterator, Optional, Sequence, Tuple, Union

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
from .scene import Scene


class Rollout(Iterator[PredictedStep]):
    """Steps of one call, each as soon as the server has it. Leaving the `with` block, or `cancel`, ends the call on the
    server within one step of its work; so does what interrupts the waiting, such as Ctrl-C."""

    def __init__(self, call: Any, answers: calls.Answers, call_again: Optional[Callable[[], Any]] = None) -> None:
        self._call = call
        self._answers = answers
        self._call_again = call_again  # for a server that has lost the scene
        self._is_cancelled = False

    @property
    def summary(self) -> Optional[Summary]:
        """Facts about the call, after its last step."""
        return self._answers.summary

    def __next__(self) -> PredictedStep:
        try:
            for response in self._call:
                step = self._answers.step(response)
                if step is not None:
                    return step
        except grpc.RpcError as error:
            failure = self._answers.failed(error)
            if self._call_again is None or not self._answers.may_begin_again(failure):
                raise failure from None
            self._call = self._call_again()
            if self._is_cancelled:  # while the scene was made again
                self._call.cancel()
            return self.__next__()
        except BaseException:
            self.cancel()
            raise
        self._answers.finished()
        raise StopIteration

    def result(self) -> Prediction:
        """All steps that were not taken yet, and the summary."""
        steps = list(self)
        return Prediction(steps, self._answers.finished())

    def cancel(self) -> None:
        """Ends the call; whoever waits for a step gets CANCELLED. After the last step it does nothing."""
        self._is_cancelled = True
        self._call.cancel()

    def __enter__(self) -> Rollout:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()


class Client(calls.BaseClient):
    """A client of one address. Methods raise InterlacerError, and may be called from several threads at once. The
    connection is made by the first call; a process that was forked off before it makes its own, later ones are refused
    with FORKED_AFTER_USE."""

    def __init__(self, address: str, *, deadline_s: Optional[float] = None, wait_for_ready: bool = False,
                 retry: bool = True, max_message_bytes: int = channels.MAX_MESSAGE_BYTES,
                 credentials: Optional[grpc.ChannelCredentials] = None) -> None:
        """address         "127.0.0.1:50051", "[::1]:50051", "unix:/run/interlacer.sock" or "dns:///host:port"
        deadline_s      of every call that says no other; by default 10 s, and 60 s of predictions
        wait_for_ready  wait for a connection until the deadline where UNAVAILABLE would come at once
        retry           try again after UNAVAILABLE, but for updates of scenes; off in control loops, where an early error beats a late answer
        credentials     grpc.ssl_channel_credentials(authority, key, certificate) with TLS, of the server or of a proxy; by
                        default none
        """
        super().__init__(channels.maker(grpc, credentials), address, deadline_s, wait_for_ready, retry, max_message_bytes)

    def info(self, *, deadline_s: Optional[float] = None) -> ServerInfo:
        """Version, device, state, models and limits; answers while models load."""
        return ServerInfo.from_proto(self._unary("GetServerInfo", service.GetServerInfoRequest(), deadline_s))

    def metadata(self, model_name: str = "", *, deadline_s: Optional[float] = None) -> ModelMetadata:
        """The contract of a model; by default of the server's first."""
        request = service.GetModelMetadataRequest(model_name=model_name)
        return ModelMetadata.from_proto(self._unary("GetModelMetadata", request, deadline_s))

    def validate(self, frames: SceneFrames, *, deadline_s: Optional[float] = None) -> SceneReport:
        """Decodes, checks and lifts the frames on the server; runs no dynamics."""
        return SceneReport.from_proto(self._unary("ValidateScene", calls.validate_request(frames), deadline_s).report)

    def predict(self, frames: SceneFrames, actions: Optional[Actions] = None, output: Output = Output(), *,
                priority: str = "normal", request_id: str = "", deadline_s: Optional[float] = None) -> Rollout:
        """What `actions` do to the scene: row s - 1 is the robot's planned state at step s. Without a robot
        `output.steps` says how far. `priority` is "control", "normal" or "background"."""
        return self._predict(frames, actions, output, priority, request_id, deadline_s)

    def candidates(self, frames: SceneFrames, candidates: Sequence[Actions], output: Output = Output(), *,
                   priority: str = "normal", request_id: str = "",
                   deadline_s: Optional[float] = None) -> Iterator[Candidate]:
        """Many action sequences over one scene, each as soon as it is finished; of each its last step unless `output`
        says others. All have as many rows. One whose prediction is not finite does not end the others. Leave the loop to
        stop early: that ends the call within one step of its work.

        `deadline_s` is that of all; by default 60 s, or three times their published cost where that is more."""
        return self._candidates(frames, candidates, output, priority, request_id, deadline_s)

    def scene(self, frames: SceneFrames, *, ttl_s: float = 0.0, deadline_s: Optional[float] = None) -> Scene:
        """Lifts the frames once and keeps them on the server for many predictions. `ttl_s`: time to live since the last
        use, up to the server's limit; 0 takes the server's default. `with client.scene(frames) as scene:` deletes it."""
        return Scene(self, frames, ttl_s, deadline_s)

    def statistics(self, *, deadline_s: Optional[float] = None) -> Statistics:
        """Counters of the server since its start."""
        return Statistics.from_proto(self._unary("GetStatistics", service.GetStatisticsRequest(), deadline_s))

    def is_serving(self, service_name: str = calls.SERVICE, *, deadline_s: Optional[float] = None) -> bool:
        """What the health service says: whether predictions are accepted."""
        answers = self._answers(deadline_s, channels.UNARY_DEADLINE_S)
        try:
            return calls.says_serving(self._start_health_check(service_name, answers))
        except grpc.RpcError as error:
            raise answers.failed(error) from None

    def wait_until_serving(self, timeout_s: float) -> None:
        """Until models are loaded and warm. Raises DEADLINE_EXCEEDED."""
        wait = calls.ServingWait(timeout_s)
        while True:
            why: Union[str, InterlacerError] = "it answers that it is not"
            try:
                if self.is_serving(deadline_s=wait.left_s()):
                    return
            except InterlacerError as error:
                why = error
            time.sleep(wait.pause_s(why))

    def close(self) -> None:
        """Ends calls in flight; a later call connects again."""
        channel = self._channel.take()
        if channel is not None:
            channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connect_and_call(self, method: Callable[[Any], Any], request: Any, answers: calls.Answers) -> Any:
        channel = self._channel.get()
        if self._channel.is_lost:
            ready = grpc.channel_ready_future(channel)
            try:
                ready.result(timeout=self._channel.patience_s(answers.left_s()))
                self._channel.is_lost = False
            except grpc.FutureTimeoutError:
                pass  # the call says what is wrong
            finally:
                ready.cancel()
        return self._call(method, request, answers)

    def _predict(self, frames: SceneFrames, actions: Optional[Actions], output: Output, priority: str, request_id: str,
                 deadline_s: Optional[float], scene: Optional[Scene] = None) -> Rollout:
        answers = self._answers(deadline_s, channels.STREAM_DEADLINE_S, frames)

        def start() -> Any:
            scene_id = "" if scene is None else scene.scene_id
            return self._start_rollout(frames, actions, output, priority, request_id, answers, scene_id)

        again = None if scene is None else _after_creation(scene, start)
        return Rollout(start(), answers, again)

    def _candidates(self, frames: SceneFrames, candidates: Sequence[Actions], output: Output, priority: str,
                    request_id: str, deadline_s: Optional[float], scene: Optional[Scene] = None) -> Iterator[Candidate]:
        answers = self._candidate_answers(deadline_s, frames, candidates, output)

        def start() -> Any:
            scene_id = "" if scene is None else scene.scene_id
            return self._start_candidates(frames, candidates, output, priority, request_id, answers, scene_id)

        return _each_candidate(start, answers, None if scene is None else _after_creation(scene, start))

    def _create_scene(self, frames: SceneFrames, ttl_s: float,
                      deadline_s: Optional[float]) -> Tuple[str, float, SceneReport]:
        return calls.created_scene(self._unary("CreateScene", calls.create_request(frames, ttl_s), deadline_s))

    def _update_scene(self, scene_id: str, frames: SceneFrames, priority: str, deadline_s: Optional[float]) -> SceneReport:
        request = calls.update_request(scene_id, frames, priority)
        return SceneReport.from_proto(self._unary("UpdateScene", request, deadline_s).report)

    def _delete_scene(self, scene_id: str, deadline_s: Optional[float]) -> None:
        self._unary("DeleteScene", service.DeleteSceneRequest(scene_id=scene_id), deadline_s)

    def _unary(self, method: str, request: Any, deadline_s: Optional[float]) -> Any:
        answers = self._answers(deadline_s, channels.UNARY_DEADLINE_S)
        try:
            response = self._start(method, request, answers)
        except grpc.RpcError as error:
            raise answers.failed(error) from None
        answers.show(response)
        return response


def _after_creation(scene: Scene, start: Callable[[], Any]) -> Callable[[], Any]:
    """Starts a call over a scene that is made again first; to be called before the call that finds it lost."""
    lost_id = scene.scene_id

    def again() -> Any:
        scene.create_again(lost_id)
        return start()

    return again


def _each_candidate(start: Callable[[], Any], answers: calls.Answers,
                    start_again: Optional[Callable[[], Any]]) -> Iterator[Candidate]:
    """The call begins with the first candidate that is asked for, and ends with the loop."""
    call = start()
    while call is not None:
        again: Optional[Any] = None
        try:
            for response in call:
                yield answers.candidate(response)
            answers.finished()
        except grpc.RpcError as error:
            failure = answers.failed(error)
            if start_again is None or not answers.may_begin_again(failure):
                raise failure from None
            again = start_again()
        finally:
            call.cancel()
        call = again

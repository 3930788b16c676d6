"""The blocking client."""

from __future__ import annotations

import time
from typing import Any, Iterator, Optional, Sequence, Union

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


class Rollout(Iterator[PredictedStep]):
    """Steps of one call, each as soon as the server has it. Leaving the `with` block, or `cancel`, ends the call on the
    server within one step of its work; so does what interrupts the waiting, such as Ctrl-C."""

    def __init__(self, call: Any, answers: calls.Answers) -> None:
        self._call = call
        self._answers = answers

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
            raise self._answers.failed(error) from None
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
                 retry: bool = True, max_message_bytes: int = channels.MAX_MESSAGE_BYTES) -> None:
        """address         "127.0.0.1:50051", "[::1]:50051", "unix:/run/interlacer.sock" or "dns:///host:port"
        deadline_s      of every call that says no other; by default 10 s, and 60 s of predictions
        wait_for_ready  wait for a connection until the deadline where UNAVAILABLE would come at once
        retry           try again after UNAVAILABLE; off in control loops, where an early error beats a late answer
        """
        super().__init__(grpc.insecure_channel, address, deadline_s, wait_for_ready, retry, max_message_bytes)

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
        answers = self._answers(deadline_s, channels.STREAM_DEADLINE_S, frames)
        return Rollout(self._start_rollout(frames, actions, output, priority, request_id, answers), answers)

    def candidates(self, frames: SceneFrames, candidates: Sequence[Actions], output: Output = Output(), *,
                   priority: str = "normal", deadline_s: Optional[float] = None) -> Iterator[Candidate]:
        """Many action sequences over one scene, each as soon as it is finished; of each its last step unless `output`
        says others. One whose prediction is not finite does not end the others. Leave the loop to stop early.

        Runs a rollout for each, one after another; `deadline_s` is that of one."""
        for index, actions in enumerate(candidates):
            asked = output_of_candidate(frames.model, actions, output)
            try:
                rollout = self.predict(frames, actions, asked, priority=priority, deadline_s=deadline_s)
                yield Candidate(index, rollout.result())
            except InterlacerError as error:
                yield failed_candidate(index, error)

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

    def _unary(self, method: str, request: Any, deadline_s: Optional[float]) -> Any:
        answers = self._answers(deadline_s, channels.UNARY_DEADLINE_S)
        try:
            response = self._start(method, request, answers)
        except grpc.RpcError as error:
            raise answers.failed(error) from None
        answers.show(response)
        return response

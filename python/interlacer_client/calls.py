"""What the blocking client and the asyncio client have in common: requests, and how answers are read."""

from __future__ import annotations

import time
from typing import Any, Callable, Optional, Union

from interlacer.rpc import health_pb2 as health
from interlacer.v1 import interlacer_service_pb2 as service
from interlacer.v1.interlacer_service_pb2_grpc import InterlacerServiceStub

from . import actions as action_rows
from . import channel as channels
from .actions import Actions
from .errors import InterlacerError, details_of, from_rpc
from .frames import SceneFrames
from .output import Output, choose
from .prediction import PredictedStep, Summary

SERVICE = "interlacer.v1.InterlacerService"
_PRIORITIES = {"normal": service.REQUEST_PRIORITY_NORMAL, "control": service.REQUEST_PRIORITY_CONTROL,
               "background": service.REQUEST_PRIORITY_BACKGROUND}

#: Gets every request and answer, and the google.rpc.Status of a call that failed.
Tap = Callable[[Any], None]


class Answers:
    """Reads the answers of one call in their order; shows them, and an error, to the tap."""

    def __init__(self, deadline_s: float, tap: Optional[Tap], frames: Optional[SceneFrames] = None) -> None:
        self.deadline_s = deadline_s
        self._tap = tap
        self._frames = frames
        self.summary: Optional[Summary] = None

    def show(self, message: Any) -> None:
        if self._tap is not None:
            self._tap(message)

    def step(self, response: service.PredictRolloutResponse) -> Optional[PredictedStep]:
        """The step of an answer to PredictRollout, if it has one."""
        self.show(response)
        if response.HasField("summary"):
            self.summary = Summary.from_proto(response.summary)
        if not response.HasField("step") or self._frames is None:
            return None
        return PredictedStep.from_proto(response.step, self._frames.workspace or self._frames.model.workspace)

    def finished(self) -> Summary:
        if self.summary is None:
            raise InterlacerError("INTERNAL", "the stream ended without a summary")
        return self.summary

    def failed(self, error: Any) -> InterlacerError:
        """Of a grpc.RpcError."""
        self.show(details_of(error))
        return from_rpc(error, self.deadline_s)


class BaseClient:
    """Connection and defaults; `make_channel` decides whether calls block or are awaited."""

    def __init__(self, make_channel: Callable[..., Any], address: str, deadline_s: Optional[float], wait_for_ready: bool,
                 retry: bool, max_message_bytes: int) -> None:
        options = channels.options(address, retry, max_message_bytes)
        self._channel = channels.ProcessChannel(lambda: make_channel(address, options))
        self._deadline_s = deadline_s
        self._wait_for_ready = wait_for_ready
        self.tap: Optional[Tap] = None  # a Recorder's

    def _answers(self, asked_s: Optional[float], default_s: float, frames: Optional[SceneFrames] = None) -> Answers:
        return Answers(asked_s or self._deadline_s or default_s, self.tap, frames)

    def _start(self, method: str, request: Any, answers: Answers) -> Any:
        """The call of a method, or its answer where calls block."""
        answers.show(request)
        stub = InterlacerServiceStub(self._channel.get())  # type: ignore[no-untyped-call]
        return getattr(stub, method)(request, timeout=answers.deadline_s, wait_for_ready=self._wait_for_ready)

    def _start_rollout(self, frames: SceneFrames, actions: Optional[Actions], output: Output, priority: str,
                       request_id: str, answers: Answers) -> Any:
        request = service.PredictRolloutRequest(
            model_name=frames.model.model_name, request_id=request_id, priority=choose(_PRIORITIES, priority, "priority"),
            source=service.PredictionSource(scene_input=frames.to_proto()), output=output.to_proto())
        if actions is not None:
            request.actions.CopyFrom(action_rows.to_proto(frames.model, actions))
        return self._start("PredictRollout", request, answers)

    def _start_health_check(self, service_name: str, answers: Answers) -> Any:
        check = self._channel.get().unary_unary(
            "/grpc.health.v1.Health/Check", request_serializer=health.HealthCheckRequest.SerializeToString,
            response_deserializer=health.HealthCheckResponse.FromString)
        return check(health.HealthCheckRequest(service=service_name), timeout=answers.deadline_s,
                     wait_for_ready=self._wait_for_ready)


def validate_request(frames: SceneFrames) -> service.ValidateSceneRequest:
    return service.ValidateSceneRequest(model_name=frames.model.model_name, scene_input=frames.to_proto())


def says_serving(response: health.HealthCheckResponse) -> bool:
    return response.status == health.HealthCheckResponse.SERVING


class ServingWait:
    """How long to go on asking a server whether it serves."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._end_s = time.monotonic() + timeout_s
        self._why = "no answer"

    def left_s(self) -> float:
        return max(0.001, self._end_s - time.monotonic())

    def pause_s(self, why: Union[str, InterlacerError]) -> float:
        """Before the next question, after this answer; or raises."""
        if isinstance(why, InterlacerError) and why.code not in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
            raise why
        if isinstance(why, str) or why.code == "UNAVAILABLE":  # the last question has no time for an answer
            self._why = str(why)
        if time.monotonic() >= self._end_s:
            raise InterlacerError("DEADLINE_EXCEEDED", f"not serving within {self._timeout_s:g} s: {self._why}",
                                  metadata={"limit": f"{self._timeout_s:g}"})
        return min(0.1, self.left_s())

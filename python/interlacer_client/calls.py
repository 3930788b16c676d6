"""What the blocking client and the asyncio client have in common: requests, and how answers are read."""

from __future__ import annotations

import time
from typing import Any, Callable, Optional, Sequence, Tuple, Union

from interlacer.rpc import health_pb2 as health
from interlacer.v1 import interlacer_service_pb2 as service
from interlacer.v1.interlacer_service_pb2_grpc import InterlacerServiceStub

from . import actions as action_rows
from . import channel as channels
from .actions import Actions
from .candidates import Candidate, default_deadline_s
from .errors import InterlacerError, details_of, from_rpc
from .frames import SceneFrames
from .metadata import seconds
from .output import Output, choose
from .prediction import PredictedStep, Prediction, SceneReport, Summary

SERVICE = "interlacer.v1.InterlacerService"
_SPREAD_STEPS = 4  # that a step with a spread costs
_PRIORITIES = {"normal": service.REQUEST_PRIORITY_NORMAL, "control": service.REQUEST_PRIORITY_CONTROL,
               "background": service.REQUEST_PRIORITY_BACKGROUND}

#: Gets every request and answer, and the google.rpc.Status of a call that failed.
Tap = Callable[[Any], None]


class Answers:
    """Reads the answers of one call in their order; shows them, and an error, to the tap."""

    def __init__(self, deadline_s: float, tap: Optional[Tap], channel: channels.ProcessChannel,
                 frames: Optional[SceneFrames] = None, proxy: str = "") -> None:
        self.deadline_s = deadline_s
        self._end_s: Optional[float] = None  # of a call that has not been made
        self._channel = channel
        self._proxy = proxy
        self._tap = tap
        self._frames = frames
        self._request_id = ""
        self.summary: Optional[Summary] = None
        self.has_begun = False

    def left_s(self) -> float:
        """Until the deadline, which counts from the first call: an iterator may be read long after it was made."""
        now_s = time.monotonic()
        if self._end_s is None:
            self._end_s = now_s + self.deadline_s
        return max(0.001, self._end_s - now_s)

    def show_request(self, request: Any) -> None:
        self.show(request)
        self._request_id = getattr(request, "request_id", "")  # a recorder may have given it one

    def show(self, message: Any) -> None:
        if self._tap is not None:
            self._tap(message)

    def step(self, response: service.PredictRolloutResponse) -> Optional[PredictedStep]:
        """The step of an answer to PredictRollout, if it has one."""
        self._begin(response)
        return self._step(response.step) if response.HasField("step") else None

    def candidate(self, response: service.PredictCandidatesResponse) -> Candidate:
        """Of an answer to PredictCandidates."""
        self._begin(response)
        if response.failure_reason:
            return Candidate(response.candidate_index, None, response.failure_reason, response.failed_step)
        return Candidate(response.candidate_index, Prediction([self._step(step) for step in response.steps], self.summary))

    def _begin(self, response: Any) -> None:
        self.show(response)
        self.has_begun = True
        if response.HasField("summary"):
            self.summary = Summary.from_proto(response.summary)

    def _step(self, step: Any) -> PredictedStep:
        assert self._frames is not None
        return PredictedStep.from_proto(step, self._frames.workspace or self._frames.model.workspace)

    def finished(self) -> Summary:
        if self.summary is None:
            raise InterlacerError("INTERNAL", "the stream ended without a summary")
        return self.summary

    def failed(self, error: Any) -> InterlacerError:
        """Of a grpc.RpcError."""
        self.show(details_of(error, self._request_id))
        failure = from_rpc(error, self.deadline_s, self._proxy)
        if failure.code == "UNAVAILABLE" and not failure.reason:
            self._channel.is_lost = True
        return failure

    def may_begin_again(self, error: InterlacerError) -> bool:
        """Whether the server has lost the scene of a call that has not begun; true once."""
        if error.reason != "SCENE_NOT_FOUND" or self.has_begun:
            return False
        self.has_begun = True
        return True


class BaseClient:
    """Connection and defaults; `make_channel` decides whether calls block or are awaited."""

    def __init__(self, make_channel: Callable[..., Any], address: str, deadline_s: Optional[float], wait_for_ready: bool,
                 retry: bool, max_message_bytes: int) -> None:
        options = channels.options(address, retry, max_message_bytes)
        self._channel = channels.ProcessChannel(lambda: make_channel(address, options))
        self._proxy = channels.proxy_for(address)
        self._deadline_s = deadline_s
        self._wait_for_ready = wait_for_ready
        self.tap: Optional[Tap] = None  # a Recorder's

    def _answers(self, asked_s: Optional[float], default_s: float, frames: Optional[SceneFrames] = None) -> Answers:
        return Answers(asked_s or self._deadline_s or default_s, self.tap, self._channel, frames, self._proxy)

    def _start(self, method: str, request: Any, answers: Answers) -> Any:
        """The call of a method, or its answer where calls block."""
        answers.show_request(request)

        def of_stub(channel: Any) -> Any:
            return getattr(InterlacerServiceStub(channel), method)  # type: ignore[no-untyped-call]

        return self._connect_and_call(of_stub, request, answers)

    def _connect_and_call(self, method: Callable[[Any], Any], request: Any, answers: Answers) -> Any:
        """As _call, after the wait for a connection that was lost."""
        raise NotImplementedError

    def _call(self, method: Callable[[Any], Any], request: Any, answers: Answers) -> Any:
        """`method` of a channel."""
        return method(self._channel.get())(request, timeout=answers.left_s(), wait_for_ready=self._wait_for_ready)

    def _start_rollout(self, frames: SceneFrames, actions: Optional[Actions], output: Output, priority: str,
                       request_id: str, answers: Answers, scene_id: str = "") -> Any:
        request = service.PredictRolloutRequest(
            model_name=frames.model.model_name, request_id=request_id, priority=choose(_PRIORITIES, priority, "priority"),
            source=_source(frames, scene_id), output=output.to_proto())
        if actions is not None:
            request.actions.CopyFrom(action_rows.to_proto(frames.model, actions))
        return self._start("PredictRollout", request, answers)

    def _candidate_answers(self, asked_s: Optional[float], frames: SceneFrames, candidates: Sequence[Actions],
                           output: Output) -> Answers:
        step_count = action_rows.row_count(frames.model, candidates[0]) if len(candidates) > 0 else 0
        default_s = default_deadline_s(frames.model, len(candidates), step_count * (_SPREAD_STEPS if output.spread else 1))
        return self._answers(asked_s, default_s, frames)

    def _start_candidates(self, frames: SceneFrames, candidates: Sequence[Actions], output: Output, priority: str,
                          request_id: str, answers: Answers, scene_id: str = "") -> Any:
        rows = [action_rows.to_proto(frames.model, actions, f"candidates[{i}]") for i, actions in enumerate(candidates)]
        request = service.PredictCandidatesRequest(
            model_name=frames.model.model_name, request_id=request_id, priority=choose(_PRIORITIES, priority, "priority"),
            source=_source(frames, scene_id), candidates=rows, output=output.to_proto())
        return self._start("PredictCandidates", request, answers)

    def _start_health_check(self, service_name: str, answers: Answers) -> Any:
        def check(channel: Any) -> Any:
            return channel.unary_unary(
                "/grpc.health.v1.Health/Check", request_serializer=health.HealthCheckRequest.SerializeToString,
                response_deserializer=health.HealthCheckResponse.FromString)

        return self._connect_and_call(check, health.HealthCheckRequest(service=service_name), answers)


def validate_request(frames: SceneFrames) -> service.ValidateSceneRequest:
    return service.ValidateSceneRequest(model_name=frames.model.model_name, scene_input=frames.to_proto())


def create_request(frames: SceneFrames, ttl_s: float) -> service.CreateSceneRequest:
    request = service.CreateSceneRequest(model_name=frames.model.model_name, scene_input=frames.to_proto())
    request.time_to_live.FromNanoseconds(round(ttl_s * 1e9))
    return request


def update_request(scene_id: str, frames: SceneFrames, priority: str) -> service.UpdateSceneRequest:
    observation, robot = frames.newest_to_proto()
    request = service.UpdateSceneRequest(scene_id=scene_id, observation=observation,
                                         priority=choose(_PRIORITIES, priority, "priority"))
    if robot.WhichOneof("kind"):
        request.history_action.CopyFrom(robot)
    return request


def created_scene(response: service.CreateSceneResponse) -> Tuple[str, float, SceneReport]:
    """Id, time to live in seconds, report."""
    return response.scene_id, seconds(response.time_to_live), SceneReport.from_proto(response.report)


def _source(frames: SceneFrames, scene_id: str) -> service.PredictionSource:
    if scene_id:
        return service.PredictionSource(scene_id=scene_id)
    return service.PredictionSource(scene_input=frames.to_proto())


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

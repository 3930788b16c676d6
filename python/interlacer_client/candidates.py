"""Many action sequences over one scene, and the seam between planners and what answers them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Iterator, Optional, Protocol, Sequence

from .actions import Actions
from .channel import STREAM_DEADLINE_S
from .frames import SceneFrames
from .metadata import ModelMetadata
from .output import Output
from .prediction import Prediction

if TYPE_CHECKING:
    from .client import Client
    from .scene import Scene


@dataclass(frozen=True)
class Candidate:
    """One finished candidate: its prediction, or why there is none (PREDICTION_NOT_FINITE) and from which step on."""

    index: int
    prediction: Optional[Prediction]
    failure_reason: str = ""
    failed_step: int = 0


class CandidateSource(Protocol):
    """Answers a planner: a server, several, or a model of one's own in tests. Where it has `frames`, a SceneFrames, adapters
    to planners of others know from them where the robot is."""

    @property
    def model(self) -> ModelMetadata: ...

    def candidates(self, candidates: Sequence[Actions], output: Output) -> Iterator[Candidate]:
        """A Candidate for each, in any order."""
        ...

    def cost_s(self, candidate_count: int, step_count: int) -> float:
        """Time that so many candidates of so many steps are expected to take."""
        ...


class FrameSource:
    """A server that gets the frames with every call, and lifts them for it: Client.candidates."""

    def __init__(self, client: Client, frames: SceneFrames, *, priority: str = "normal",
                 deadline_s: Optional[float] = None) -> None:
        self._client = client
        self.frames = frames.copy()
        self._priority = priority
        self._deadline_s = deadline_s

    @property
    def model(self) -> ModelMetadata:
        return self.frames.model

    def candidates(self, candidates: Sequence[Actions], output: Output) -> Iterator[Candidate]:
        return self._client.candidates(self.frames, candidates, output, priority=self._priority,
                                       deadline_s=self._deadline_s)

    def cost_s(self, candidate_count: int, step_count: int) -> float:
        return self.model.ingest_cost_s + candidate_count * step_count * self.model.step_cost_s


class SceneSource:
    """A scene that a server keeps: Scene.candidates."""

    def __init__(self, scene: Scene, *, priority: str = "normal", deadline_s: Optional[float] = None) -> None:
        self._scene = scene
        self._priority = priority
        self._deadline_s = deadline_s

    @property
    def frames(self) -> SceneFrames:
        return self._scene.frames

    @property
    def model(self) -> ModelMetadata:
        return self.frames.model

    def candidates(self, candidates: Sequence[Actions], output: Output) -> Iterator[Candidate]:
        return self._scene.candidates(candidates, output, priority=self._priority, deadline_s=self._deadline_s)

    def cost_s(self, candidate_count: int, step_count: int) -> float:
        return candidate_count * step_count * self.model.step_cost_s


def default_deadline_s(model: ModelMetadata, candidate_count: int, step_count: int) -> float:
    """Of a call that says none: more than its cost, which the server would refuse otherwise."""
    return max(STREAM_DEADLINE_S, 3 * candidate_count * step_count * model.step_cost_s)

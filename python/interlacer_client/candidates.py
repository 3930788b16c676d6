"""Many action sequences over one scene, and the seam between planners and what answers them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Iterator, Optional, Protocol, Sequence

from .actions import Actions, row_count
from .errors import InterlacerError
from .frames import SceneFrames
from .metadata import ModelMetadata
from .output import Output
from .prediction import Prediction

if TYPE_CHECKING:
    from .client import Client


@dataclass(frozen=True)
class Candidate:
    """One finished candidate: its prediction, or why there is none (PREDICTION_NOT_FINITE)."""

    index: int
    prediction: Optional[Prediction]
    failure_reason: str = ""


class CandidateSource(Protocol):
    """Answers a planner: a server, several, or a model of one's own in tests."""

    @property
    def model(self) -> ModelMetadata: ...

    def candidates(self, candidates: Sequence[Actions], output: Output) -> Iterator[Candidate]:
        """A Candidate for each, in any order."""
        ...

    def cost_s(self, candidate_count: int, step_count: int) -> float:
        """Time that so many candidates of so many steps are expected to take."""
        ...


class FrameSource:
    """A server that gets the frames with every candidate: Client.candidates. Each is lifted anew."""

    def __init__(self, client: Client, frames: SceneFrames, *, priority: str = "normal",
                 deadline_s: Optional[float] = None) -> None:
        self._client = client
        self._frames = frames.copy()
        self._priority = priority
        self._deadline_s = deadline_s

    @property
    def model(self) -> ModelMetadata:
        return self._frames.model

    def candidates(self, candidates: Sequence[Actions], output: Output) -> Iterator[Candidate]:
        return self._client.candidates(self._frames, candidates, output, priority=self._priority,
                                       deadline_s=self._deadline_s)

    def cost_s(self, candidate_count: int, step_count: int) -> float:
        return candidate_count * (self.model.ingest_cost_s + step_count * self.model.step_cost_s)


def output_of_candidate(model: ModelMetadata, actions: Actions, output: Output) -> Output:
    """The last step, unless steps are asked for."""
    return output if output.steps is not None else replace(output, steps=(row_count(model, actions),))


def failed_candidate(index: int, error: InterlacerError) -> Candidate:
    """A prediction that is not finite fails its candidate alone; every other error is raised."""
    if error.reason != "PREDICTION_NOT_FINITE":
        raise error
    return Candidate(index, None, error.reason)

"""Many action sequences over one scene, and the seam between planners and what answers them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Iterator, Optional, Protocol, Sequence

from .actions import Actions, row_count
from .errors import InterlacerError
from .metadata import ModelMetadata
from .output import Output
from .prediction import Prediction


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


def output_of_candidate(model: ModelMetadata, actions: Actions, output: Output) -> Output:
    """The last step, unless steps are asked for."""
    return output if output.steps is not None else replace(output, steps=(row_count(model, actions),))


def failed_candidate(index: int, error: InterlacerError) -> Candidate:
    """A prediction that is not finite fails its candidate alone; every other error is raised."""
    if error.reason != "PREDICTION_NOT_FINITE":
        raise error
    return Candidate(index, None, error.reason)

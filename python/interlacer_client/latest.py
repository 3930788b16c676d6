"""Predictions for a control loop: the newest request wins, and every request gets a word."""

from __future__ import annotations

import copy
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Optional

from .actions import Actions
from .client import Client, Rollout
from .errors import InterlacerError
from .frames import SceneFrames
from .output import Output
from .prediction import Prediction

FRESH, SUPERSEDED, STALE = "FRESH", "SUPERSEDED", "STALE"


@dataclass(frozen=True)
class Answer:
    """What became of a request: "FRESH" with its prediction; "SUPERSEDED" by a newer request before it was sent; or
    "STALE", older than max_age_s before there was an answer. age_s: of the frames, when this was known."""

    word: str
    prediction: Optional[Prediction]
    age_s: float


class _Request:
    def __init__(self, arguments: Any, born_s: float) -> None:
        self.arguments = arguments
        self.born_s = born_s
        self.future: Future[Answer] = Future()

    def age_s(self) -> float:
        return time.monotonic() - self.born_s

    def begin(self) -> bool:
        """Before `end`. False where the caller has cancelled the future, which from now on nobody can."""
        return self.future.set_running_or_notify_cancel()

    def end(self, word: str, prediction: Optional[Prediction] = None) -> None:
        self.future.set_result(Answer(word, prediction, self.age_s()))


class LatestOnly:
    """Keeps one call in flight and one request waiting; a newer request takes the place of the waiting one.

    Use it with Client(retry=False). Calls go out with priority "control" and end when their frames are max_age_s old,
    so that a late answer costs the server nothing more. All methods may be called from several threads at once.
    """

    def __init__(self, client: Client, *, max_age_s: float) -> None:
        if not max_age_s > 0:
            raise InterlacerError("INVALID_ARGUMENT", f"max_age_s: expected above 0, got {max_age_s}", "ARGUMENT_INVALID")
        self._client = client
        self._max_age_s = max_age_s
        self._changed = threading.Condition()
        self._waiting: Optional[_Request] = None
        self._rollout: Optional[Rollout] = None
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="interlacer LatestOnly", daemon=True)
        self._thread.start()

    def submit(self, frames: SceneFrames, actions: Optional[Actions] = None, output: Output = Output(), *,
               age_s: float = 0.0) -> Future[Answer]:
        """Never blocks, and takes copies, so that arrays may be filled anew. `age_s`: how old the frames are already. The
        future raises what the call raised, and CANCELLED after `close`; asyncio.wrap_future makes it awaitable. One that is
        cancelled while it waits is not sent."""
        request = _Request((frames.copy(), *copy.deepcopy((actions, output))), time.monotonic() - age_s)
        with self._changed:
            replaced, self._waiting = self._waiting, request
            if self._is_closed:
                self._waiting = None
                request.future.set_exception(InterlacerError("CANCELLED", "LatestOnly is closed"))
            self._changed.notify()
        if replaced is not None and replaced.begin():
            replaced.end(SUPERSEDED)
        return request.future

    def close(self) -> None:
        """Ends the call in flight and the waiting request with CANCELLED, and waits for that."""
        with self._changed:
            self._is_closed = True
            if self._rollout is not None:
                self._rollout.cancel()
            self._changed.notify()
        self._thread.join()

    def __enter__(self) -> LatestOnly:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting is not None or self._is_closed)
                request, self._waiting = self._waiting, None
                if self._is_closed:
                    break
            if request is not None and request.begin():
                self._answer(request)
        if request is not None and request.begin():
            request.future.set_exception(InterlacerError("CANCELLED", "LatestOnly is closed"))

    def _answer(self, request: _Request) -> None:
        left_s = self._max_age_s - request.age_s()
        if left_s <= 0:
            return request.end(STALE)
        try:
            request.end(FRESH, self._predict(request, left_s))
        except InterlacerError as error:
            # The call's deadline is the age; a server that foresees it refuses with the same code.
            if error.code == "DEADLINE_EXCEEDED":
                request.end(STALE)
            else:
                request.future.set_exception(error)
        except BaseException as error:  # a mistake in the arguments must not leave a caller without a word
            request.future.set_exception(error)

    def _predict(self, request: _Request, deadline_s: float) -> Prediction:
        rollout = self._client.predict(*request.arguments, priority="control", deadline_s=deadline_s)
        with self._changed:
            self._rollout = rollout
            if self._is_closed:
                rollout.cancel()
        try:
            return rollout.result()
        finally:
            with self._changed:
                self._rollout = None

"""A scene that the server keeps, for predictions that need no frames."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Iterator, Optional, Sequence

from .actions import Actions
from .candidates import Candidate
from .errors import InterlacerError
from .frames import SceneFrames
from .output import Output
from .prediction import SceneReport

if TYPE_CHECKING:
    from .client import Client, Rollout


class Scene:
    """Made by Client.scene; `with` deletes it at the end. Every use lets its time to live start anew. A server that has
    lost it (SCENE_NOT_FOUND: expired, restarted) gets the frames once more, and the call is repeated: by `predict` and
    `candidates` before their first answer only. Threads: `predict` and `candidates` may be called from several at once,
    but not while `update` runs."""

    def __init__(self, client: Client, frames: SceneFrames, ttl_s: float, deadline_s: Optional[float]) -> None:
        self._client = client
        self._ttl_s = ttl_s
        self._deadline_s = deadline_s
        self.frames = frames.copy()
        self.scene_id = ""
        self.time_to_live_s = 0.0  #: as granted
        self.report: SceneReport
        self._lock = threading.Lock()
        self.create_again("")

    def create_again(self, lost_id: str, newer: Optional[SceneFrames] = None) -> bool:
        """Sends the frames again, or newer ones; False where another thread has done that since `lost_id` was the scene."""
        with self._lock:
            if self.scene_id != lost_id:
                return False
            frames = newer or self.frames
            created = self._client._create_scene(frames, self._ttl_s, self._deadline_s)
            self.scene_id, self.time_to_live_s, self.report = created
            self.frames = frames
            return True

    def predict(self, actions: Optional[Actions] = None, output: Output = Output(), *, priority: str = "normal",
                request_id: str = "", deadline_s: Optional[float] = None) -> Rollout:
        """As Client.predict."""
        return self._client._predict(self.frames, actions, output, priority, request_id, deadline_s, self)

    def candidates(self, candidates: Sequence[Actions], output: Output = Output(), *, priority: str = "normal",
                   request_id: str = "", deadline_s: Optional[float] = None) -> Iterator[Candidate]:
        """As Client.candidates."""
        return self._client._candidates(self.frames, candidates, output, priority, request_id, deadline_s, self)

    def update(self, frames: SceneFrames, *, priority: str = "normal", deadline_s: Optional[float] = None) -> None:
        """Moves the scene on to `frames`, whose newest observation alone is sent: the one that followed the scene's
        newest. Calls in flight go on with what the scene was; after an error the scene is what it was."""
        newer, lost_id = frames.copy(), self.scene_id
        try:
            self.report = self._client._update_scene(lost_id, newer, priority, deadline_s)
            self.frames = newer
        except InterlacerError as error:
            if error.reason != "SCENE_NOT_FOUND":
                raise
            if not self.create_again(lost_id, newer):
                self.update(newer, priority=priority, deadline_s=deadline_s)

    def delete(self, *, deadline_s: Optional[float] = None) -> None:
        """Frees the scene on the server; twice is fine."""
        self._client._delete_scene(self.scene_id, deadline_s)

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.delete()
        except InterlacerError:
            if kind is None:  # what went wrong inside matters more
                raise

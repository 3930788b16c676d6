"""What a prediction sends back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Optional, Sequence, TypeVar, Union

from interlacer.v1 import interlacer_service_pb2 as service
from interlacer.v1 import types_pb2 as types

from .camera import Camera
from .errors import mismatch
from .metadata import Box

_POSITIONS = {"": types.POSITION_ENCODING_UNSPECIFIED, "float32": types.POSITION_ENCODING_FLOAT32,
              "u16": types.POSITION_ENCODING_WORKSPACE_U16}
_RENDER_MODES = {"observed": types.RENDER_MODE_OBSERVED, "field": types.RENDER_MODE_FIELD}
_MOTIONS = {"model": types.MOTION_SOURCE_MODEL, "robot_only": types.MOTION_SOURCE_ROBOT_ONLY}
_ENCODINGS = {"rgb8": types.PIXEL_ENCODING_RGB8, "depth": types.PIXEL_ENCODING_DEPTH_F32}
_COMPRESSIONS = {"none": types.IMAGE_COMPRESSION_NONE, "png": types.IMAGE_COMPRESSION_PNG,
                 "jpeg": types.IMAGE_COMPRESSION_JPEG}


_Value = TypeVar("_Value")


def choose(words: Mapping[str, _Value], word: str, field: str) -> _Value:
    """The value of a word, or an error that lists them."""
    if word not in words:
        raise mismatch(field, " or ".join(repr(name) for name in words), repr(word))
    return words[word]


@dataclass(frozen=True)
class RenderView:
    """A view to render in every step sent, "rgb8" or "depth" (expected depth along z, metres).

    From `camera`, which must be rectified, or else from the camera of the scene that is called `scene_camera`, or else
    `name`. Compression "png" or "jpeg" (colour only) is for links; the picture then comes as the bytes of a file.
    """

    name: str
    scene_camera: str = ""
    camera: Optional[Camera] = None
    encoding: str = "rgb8"
    compression: str = "none"
    jpeg_quality: int = 0

    def to_proto(self, field: str) -> types.RenderTarget:
        target = types.RenderTarget(
            target_name=self.name, encoding=choose(_ENCODINGS, self.encoding, field + ".encoding"),
            compression=choose(_COMPRESSIONS, self.compression, field + ".compression"), jpeg_quality=self.jpeg_quality)
        if self.camera is not None:
            target.camera.CopyFrom(self.camera.to_proto(field + ".camera"))
        else:
            target.scene_camera_name = self.scene_camera or self.name
        return target


@dataclass(frozen=True)
class Output:
    """Nothing heavy is sent unless asked for.

    steps        ascending; 0 is the reconstruction of the newest observation. None: all from 1 (of candidates: the
                 last). The rollout ends at the largest
    positions    "float32", "u16" (16 bits over the workspace box; half the bytes) or "": none
    colors       of the pixels that the particles came from
    spread       how unsure the model is of each particle, metres; every step then takes four times as long
    region       only particles that lie in it at step 0
    stride       every n-th of those
    views        names of the scene's cameras, or RenderViews
    render_mode  "observed": pixels of the newest frames, carried to where they have moved, and the field in their holes;
                 "field": the point-based NeRF of all particles alone
    motion       "model": all that the model predicts; "robot_only": the robot by its joints, all else stands still
    """

    steps: Optional[Sequence[int]] = None
    positions: str = ""
    colors: bool = False
    spread: bool = False
    region: Optional[Box] = None
    stride: int = 1
    views: Sequence[Union[str, RenderView]] = ()
    render_mode: str = "observed"
    motion: str = "model"

    def to_proto(self) -> service.OutputOptions:
        views = [RenderView(view) if isinstance(view, str) else view for view in self.views]
        output = service.OutputOptions(
            steps=list(self.steps or ()), include_positions=self.positions != "", include_colors=self.colors,
            include_spread=self.spread,
            position_encoding=choose(_POSITIONS, self.positions, "output.positions"),
            render_mode=choose(_RENDER_MODES, self.render_mode, "output.render_mode"),
            motion=choose(_MOTIONS, self.motion, "output.motion"),
            render_targets=[view.to_proto(f"output.views[{i}]") for i, view in enumerate(views)])
        if self.stride != 1:
            output.particle_selection.stride = self.stride
        if self.region is not None:
            output.particle_selection.initial_region.CopyFrom(self.region.to_proto())
        return output

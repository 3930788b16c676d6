"""A client of the GRF Interlacer: RGB-D frames and a robot's planned motion in, predicted particles and views out.

    with Client("127.0.0.1:50051") as client:
        model = client.metadata()
        frames = SceneFrames(model)
        frames.add(time_ns, {"left": RgbdView(rgb, depth_m, camera), ...}, joints={"left_joint_1": 0.2, ...})
        ...                                            # model.history_step_count observations in all
        for step in client.predict(frames, plan, Output(positions="float32", views=["left"])):
            step.positions_m, step.views["left"]       # each step while the next one is computed

Units are in the names: metres, radians, seconds, pixels. world_from_camera maps points of the camera to the world.
"""

from .actions import Actions, KinematicPoints, joint_names
from .adapters import as_costable, as_rollout_backend
from .aio import AsyncClient, AsyncRollout, AsyncScene
from .camera import Camera, pose_matrix
from .candidates import Candidate, CandidateSource, FrameSource, SceneSource
from .client import Client, Rollout
from .costs import GoalCloud, KeepOut, KeepStill, ObjectToBox, ObjectToPoint, SmallAction, SmoothAction, Term, Uncertainty
from .errors import InterlacerError
from .frames import RgbdView, SceneFrames
from .latest import Answer, LatestOnly
from .metadata import (ActionColumn, Box, CameraSpec, Limits, ModelMetadata, ModelStatistics, ModelStatus, ServerInfo,
                       Statistics)
from .output import Output, RenderView
from .planner import Plan, Planner
from .prediction import CameraReport, Finding, PredictedStep, Prediction, SceneReport, Summary
from .recorder import Recorder, read_recording
from .scene import Scene

__version__ = "0.1.0"
__all__ = [
    "ActionColumn", "Actions", "Answer", "AsyncClient", "AsyncRollout", "AsyncScene", "Box", "Camera", "CameraReport",
    "CameraSpec", "Candidate", "CandidateSource", "Client", "Finding", "FrameSource", "GoalCloud",
    "InterlacerError", "KeepOut", "KeepStill", "KinematicPoints", "LatestOnly", "Limits", "ModelMetadata",
    "ModelStatistics", "ModelStatus", "ObjectToBox", "ObjectToPoint", "Output", "Plan", "Planner", "PredictedStep",
    "Prediction", "Recorder", "RenderView", "RgbdView", "Rollout", "Scene", "SceneFrames", "SceneReport", "SceneSource",
    "ServerInfo", "SmallAction", "SmoothAction", "Statistics", "Summary", "Term", "Uncertainty",
    "as_costable", "as_rollout_backend", "joint_names", "pose_matrix", "read_recording",
]

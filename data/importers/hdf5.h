#pragma once

/// One demonstration of an HDF5 file of robomimic or robosuite (data/DEMO/obs/..., actions) as an
/// episode.
///
/// Cameras: data/importers/hdf5_views.h. Demonstrations sort by number; where there are several,
/// --demo names one. Joints, with --robot: data/importers/hdf5_joints.h. `actions` of these files
/// are normalised changes of the end effector and are not read: actions[s] are the joints of step
/// s, which the notes say. A step lasts --step-duration, else 1 / control_freq of env_args. Result:
/// manipulation with a robot, static_views of one step, else moving_camera.
/// Errors: those above; ARGUMENT_INVALID, ACTION_SHAPE, SCHEMA_INVALID. Thread-safe.

#include "data/importers/import_options.h"

namespace interlacer {

StatusOr<ImportReport> ImportHdf5(const ImportOptions& options);

}  // namespace interlacer

#pragma once

/// One demonstration of an HDF5 file of robomimic or robosuite (data/DEMO/obs/..., actions) as an
/// episode.
///
/// Cameras: data/importers/hdf5_views.h. Demonstrations sort by number; where there are several,
/// --demo names one. Joints: --joints DATASET=NAME,NAME,... says which joints the columns of an
/// array below the demonstration are, in radians and metres; with --robot every column of the robot
/// must be among them. `actions` of these files are normalised changes of the end effector and are
/// not read: actions[s] are the measured joints of step s, which the notes say. A step lasts
/// --step-duration, else 1 / control_freq of env_args. Result: manipulation with a robot,
/// static_views of one step, else moving_camera.
/// Errors: those above; ARGUMENT_INVALID, ACTION_SHAPE, SCHEMA_INVALID. Thread-safe.

#include "data/importers/import_options.h"

namespace interlacer {

StatusOr<ImportReport> ImportHdf5(const ImportOptions& options);

}  // namespace interlacer

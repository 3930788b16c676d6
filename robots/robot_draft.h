#pragma once

/// What the readers of URDF and MJCF share: a tree that is not finished yet.
///
/// In a draft a mimic joint may follow another mimic joint, and no columns are chosen. Errors:
/// those of robots/make_robot.h. Thread-safety: one thread a draft.

#include <string>
#include <vector>

#include "robots/made_robot.h"
#include "robots/surface_sampler.h"

namespace interlacer {

struct RobotDraft {
  Robot robot;
  std::vector<double> rest_values;  ///< [links] value at which a joint is held if it is held
  std::vector<std::string> notes;

  int AddLink(RobotLink link, double rest_value);
  /// Fixes the joint of a link at a value.
  void Hold(int link, double value);
};

/// The readers; the file's root element says which one is right. Surfaces are drawn, the rest of
/// the options is left to FinishRobot.
StatusOr<RobotDraft> ReadUrdf(const std::string& path, const MakeRobotOptions& options);
StatusOr<RobotDraft> ReadMjcf(const std::string& path, const MakeRobotOptions& options);

/// Whether a link shall have surface points; `is_default` where options.links is empty.
bool WantsSurface(const MakeRobotOptions& options, const std::string& link_name, bool is_default);
/// Draws the points of a link.
void AddSurface(const SurfaceSampler& sampler, int link, Robot* robot);

/// Mimic chains, columns, parts, base pose and name; a valid robot. Notes limits that would be
/// degrees and lengths that would be millimetres.
StatusOr<MadeRobot> FinishRobot(RobotDraft draft, const MakeRobotOptions& options);

/// "mesh FILE of link 'LINK': PROBLEM" at the file.
Status MeshError(const std::string& file, const std::string& link, const std::string& problem);
/// Refuses meshes that are not there or too large, before they are loaded; counts into
/// `total_bytes`.
Status CheckMeshSize(const std::string& file, const std::string& link, std::int64_t* total_bytes);

}  // namespace interlacer

#pragma once

/// Whose pictures and particles an evaluation scores: the model, and predictions that need no
/// learning.
///
///   model            the model's rollout, drawn as the evaluation asks (RenderMode)
///   model_field      the same rollout drawn by the field, where `model` shows observed pixels
///   kinematic        pixels and particles on the robot follow its commanded joints, all else
///                    stands still; every observed pixel is carried at full resolution, holes are
///                    inpainted
///   kinematic_field  the same motion, the model's field in the holes
///   contact          as `kinematic`, and what the robot grips, bears or pushes goes with it
///                    (contact_motion.h); drawn as `kinematic` is
///   copy_last        the newest observed frame of the same camera; particles stand still
///   reconstruction   the model's view at step 0, kept
///   splat            a plain z-buffer picture of the very particles that the model predicted
///   oracle_motion    simulated episodes: everything by its true motion, drawn as `kinematic` is;
///                    the bound of what predicting motion can gain
///   oracle_render    the true frames of the step itself, encoded and drawn by the field: no
///                    dynamics, the bound of encoder and renderer
/// Thread-safety: pure functions. Errors: INVALID_ARGUMENT ARGUMENT_INVALID.

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/prediction.h"
#include "common/status.h"

namespace interlacer {

inline constexpr std::string_view kModelSubject = "model";
inline constexpr std::string_view kModelField = "model_field";
inline constexpr std::string_view kKinematicSubject = "kinematic";
inline constexpr std::string_view kKinematicField = "kinematic_field";
inline constexpr std::string_view kContact = "contact";
inline constexpr std::string_view kCopyLast = "copy_last";
inline constexpr std::string_view kReconstruction = "reconstruction";
inline constexpr std::string_view kSplat = "splat";
inline constexpr std::string_view kOracleMotion = "oracle_motion";
inline constexpr std::string_view kOracleRender = "oracle_render";
/// In the order of tables.
inline constexpr std::array kSubjects{
    kModelSubject,   kModelField, kKinematicSubject, kKinematicField, kContact, kCopyLast,
    kReconstruction, kSplat,      kOracleMotion,     kOracleRender};

/// What one rollout of the model and the episode give: all but kinematic_field, model_field and
/// oracle_render, which ask the model again, and contact, which the study, whose subjects these
/// are, was planned without.
std::vector<std::string> SubjectsOfOneRollout();
/// What `evaluate` and reports show unless told otherwise: these, contact and kinematic_field. The
/// other two take as long again as the model's own rollout.
std::vector<std::string> SubjectsOfReports();
/// Names of kSubjects, or "all"; in the order of tables, each once.
StatusOr<std::vector<std::string>> ParseSubjects(std::span<const std::string> names);

bool Contains(std::span<const std::string> subjects, std::string_view subject);
/// Whether one of them is computed by a model.
bool NeedModel(std::span<const std::string> subjects);

}  // namespace interlacer

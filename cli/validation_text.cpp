#include "cli/validation_text.h"

#include <numbers>

#include "cli/describe.h"
#include "common/json.h"

namespace interlacer::cli {

std::string FindingsText(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += "  finding: " + finding.reason + (finding.field.empty() ? "" : " at ") + finding.field +
            ": " + finding.message + "\n";
  }
  return text;
}

nlohmann::ordered_json ToJson(const ValidationReport& report) {
  nlohmann::ordered_json cameras = nlohmann::ordered_json::array(),
                         errors = nlohmann::ordered_json::array(),
                         findings = nlohmann::ordered_json::array();
  for (const CameraCheck& camera : report.cameras) {
    cameras.push_back({{"name", camera.camera_name},
                       {"valid_depth_ratio", camera.valid_depth_ratio},
                       {"workspace_ratio", camera.workspace_ratio},
                       {"median_depth_m", camera.median_depth_m}});
  }
  for (const Status& error : report.errors) {
    errors.push_back(
        {{"reason", error.reason()}, {"message", error.message()}, {"field", error.field()}});
  }
  for (const Finding& finding : report.findings) findings.push_back(ToJson(finding));
  nlohmann::ordered_json attachment;
  if (const auto& score = report.attachment) {
    attachment = {{"robot_pixel_count", score->robot_pixels},
                  {"attached_pixel_count", score->attached_pixels},
                  {"precision", score->precision()},
                  {"recall", score->recall()},
                  {"held_object_pixel_count", score->held_pixels},
                  {"held_object_attached_ratio", score->held_share()}};
  }
  return {{"episode", report.episode_id},
          {"ok", report.ok()},
          {"step_count", report.step_count},
          {"frame_pair_count", report.frame_count},
          {"cross_camera_distance_m", report.cross_camera_distance_m},
          {"cameras", cameras},
          {"attachment", attachment},
          {"errors", errors},
          {"findings", findings}};
}

std::string ValidationText(const ValidationReport& report) {
  std::string text = Format("%s: %s, %d steps, %lld frames", report.episode_id.c_str(),
                            report.ok() ? "valid" : "BROKEN", report.step_count,
                            static_cast<long long>(report.frame_count));
  if (report.cross_camera_distance_m >= 0) {
    text += Format(", views agree to %.1f mm", report.cross_camera_distance_m * 1e3);
  }
  text += "\n";
  for (const CameraCheck& camera : report.cameras) {
    text += Format("  %-12s valid depth %3.0f %%, in the workspace %3.0f %%, median %.3f m\n",
                   camera.camera_name.c_str(), 100 * camera.valid_depth_ratio,
                   100 * camera.workspace_ratio, camera.median_depth_m);
  }
  if (const auto& score = report.attachment) {
    text += Format("  attachment   precision %.2f %%, recall %.2f %%", 100 * score->precision(),
                   100 * score->recall());
    if (score->held_pixels > 0) {
      text += Format(", of held objects %.2f %%", 100 * score->held_share());
    }
    text += "\n";
  }
  for (const Status& error : report.errors) text += "  error: " + error.ToString() + "\n";
  return text + FindingsText(report.findings);
}

nlohmann::ordered_json ToJson(const DatasetCoverage& coverage) {
  nlohmann::ordered_json cameras = nlohmann::ordered_json::array(),
                         joints = nlohmann::ordered_json::array(),
                         findings = nlohmann::ordered_json::array();
  for (const CameraSpread& camera : coverage.cameras) {
    cameras.push_back({{"name", camera.camera_name},
                       {"episode_count", camera.episode_count},
                       {"calibration_count", camera.calibration_count},
                       {"spread_m", camera.spread_m},
                       {"spread_rad", camera.spread_rad},
                       {"moves", camera.moves}});
  }
  for (const JointCoverage& joint : coverage.joints) {
    nlohmann::ordered_json share;
    if (joint.range_share >= 0) share = joint.range_share;
    joints.push_back({{"robot", joint.robot},
                      {"column", joint.column},
                      {"min", joint.low},
                      {"max", joint.high},
                      {"range_share", share}});
  }
  for (const Finding& finding : coverage.findings) findings.push_back(ToJson(finding));
  return {{"dataset_episode_count", coverage.episode_count},
          {"ok", true},
          {"cameras", cameras},
          {"joints", joints},
          {"errors", nlohmann::ordered_json::array()},
          {"findings", findings}};
}

std::string CoverageText(const DatasetCoverage& coverage) {
  std::string text = Format("all %d episodes with a robot\n", coverage.episode_count);
  for (const CameraSpread& camera : coverage.cameras) {
    text += Format("  %-12s ", camera.camera_name.c_str());
    if (camera.episode_count > 0) {
      text += Format("%d calibration%s, spread over %.1f cm and %.1f deg", camera.calibration_count,
                     camera.calibration_count == 1 ? "" : "s", 100 * camera.spread_m,
                     camera.spread_rad * 180 / std::numbers::pi);
    }
    if (camera.moves) text += camera.episode_count > 0 ? "; moves at times" : "moves";
    text += "\n";
  }
  for (const JointCoverage& joint : coverage.joints) {
    text += Format("  %-12s %.3f ... %.3f", joint.column.c_str(), joint.low, joint.high);
    if (joint.range_share >= 0) text += Format(", %.0f %% of its range", 100 * joint.range_share);
    text += "\n";
  }
  return text + FindingsText(coverage.findings);
}

}  // namespace interlacer::cli

#include "data/simulation_truth.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "common/image_codec.h"
#include "common/json.h"
#include "common/npy.h"
#include "common/transforms.h"

namespace interlacer {
namespace {

constexpr char kPosesFile[] = "truth/object_poses.npy";
constexpr char kObjectsFile[] = "truth/objects.json";
constexpr std::size_t kPoseNumbers = 7;

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

}  // namespace

StatusOr<std::optional<SimulationTruth>> SimulationTruth::Open(const EpisodeReader& episode) {
  const std::vector<std::string> files = episode.ListedFiles();
  if (std::find(files.begin(), files.end(), kPosesFile) == files.end()) {
    return std::optional<SimulationTruth>();
  }
  SimulationTruth truth(episode);
  INTERLACER_RETURN_IF_ERROR(truth.ReadNames());
  INTERLACER_RETURN_IF_ERROR(truth.ReadPoses());
  return std::optional<SimulationTruth>(std::move(truth));
}

Status SimulationTruth::ReadNames() {
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::uint8_t> bytes,
                              episode_->ReadFile(kObjectsFile));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document, ParseJson(text, kObjectsFile));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject root, JsonObject::Make(document, kObjectsFile));
  INTERLACER_ASSIGN_OR_RETURN(object_names_, root.Get<std::vector<std::string>>("objects"));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject labels, root.GetObject("mask_labels"));
  INTERLACER_ASSIGN_OR_RETURN(left_arm_label_, labels.Get<int>("left_arm"));
  INTERLACER_ASSIGN_OR_RETURN(right_arm_label_, labels.Get<int>("right_arm"));
  INTERLACER_ASSIGN_OR_RETURN(first_object_label_, labels.Get<int>("first_object"));
  return Status::Ok();
}

Status SimulationTruth::ReadPoses() {
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::uint8_t> bytes,
                              episode_->ReadFile(kPosesFile));
  INTERLACER_ASSIGN_OR_RETURN(const NpyArray array, ParseNpy(bytes));
  const std::vector<std::int64_t> expected{episode_->step_count(),
                                           static_cast<std::int64_t>(object_names_.size()),
                                           static_cast<std::int64_t>(kPoseNumbers)};
  if (array.shape != expected) {
    return Mismatch(reason::SHAPE_MISMATCH, kPosesFile, ShapeText(expected),
                    ShapeText(array.shape));
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<double> numbers, NpyToDoubles(array));
  for (std::size_t i = 0; i < numbers.size(); i += kPoseNumbers) {
    const Transform pose{{numbers[i], numbers[i + 1], numbers[i + 2]},
                         {numbers[i + 3], numbers[i + 4], numbers[i + 5], numbers[i + 6]}};
    const Status valid = ValidateTransform(pose);
    if (!valid.ok()) return Status(valid).WithFieldPrefix(kPosesFile);
    poses_.push_back(pose);
  }
  return Status::Ok();
}

StatusOr<DepthImage> SimulationTruth::ReadLabels(int step, const std::string& camera) const {
  char name[32];
  std::snprintf(name, sizeof name, "/%06d.png", step);
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::uint8_t> bytes,
                              episode_->ReadFile("truth/mask/" + camera + name));
  INTERLACER_ASSIGN_OR_RETURN(const DepthImage16 mask, DecodePngDepth(bytes, 1));
  return DepthImage{mask.width_px, mask.height_px, {mask.pixels.begin(), mask.pixels.end()}};
}

SimulationTruth::PixelTruth SimulationTruth::Classify(float label) const {
  const int number = static_cast<int>(std::lround(label));
  if (number == left_arm_label_ || number == right_arm_label_) return {PixelKind::kArm, 0};
  const int object = number - first_object_label_;
  if (object < 0 || object >= static_cast<int>(object_names_.size())) return {};
  return {PixelKind::kObject, object};
}

}  // namespace interlacer

#include "data/simulation_truth.h"

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
constexpr char kContactsFile[] = "truth/contacts.npy";
constexpr char kObjectsFile[] = "truth/objects.json";
constexpr std::size_t kPoseNumbers = 7;

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

}  // namespace

StatusOr<std::optional<SimulationTruth>> SimulationTruth::Open(const EpisodeReader& episode) {
  if (!episode.ListedFiles().contains(kPosesFile)) return std::optional<SimulationTruth>();
  SimulationTruth truth(episode);
  INTERLACER_RETURN_IF_ERROR(truth.ReadNames());
  INTERLACER_RETURN_IF_ERROR(truth.ReadPoses());
  if (episode.ListedFiles().contains(kContactsFile)) {
    INTERLACER_RETURN_IF_ERROR(truth.ReadContacts());
  }
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

Status SimulationTruth::ReadContacts() {
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::uint8_t> bytes,
                              episode_->ReadFile(kContactsFile));
  INTERLACER_ASSIGN_OR_RETURN(const NpyArray array, ParseNpy(bytes));
  const auto step_count = static_cast<std::int64_t>(episode_->step_count());
  const auto object_count = static_cast<std::int64_t>(object_names_.size());
  const bool fits = array.shape.size() == 3 && array.shape[0] == step_count &&
                    array.shape[2] == object_count && array.type == NpyType::kUint8;
  if (!fits) {
    return Mismatch(
        reason::SHAPE_MISMATCH, kContactsFile,
        std::to_string(step_count) + " x arms x " + std::to_string(object_count) + " of uint8",
        ShapeText(array.shape));
  }
  std::vector<ContactPhase> phases(object_names_.size(), ContactPhase::kBefore);
  const auto arm_count = static_cast<std::size_t>(array.shape[1]);
  for (std::size_t step = 0; step < static_cast<std::size_t>(step_count); ++step) {
    for (std::size_t object = 0; object < phases.size(); ++object) {
      bool is_touched = false;
      for (std::size_t arm = 0; arm < arm_count; ++arm) {
        is_touched =
            is_touched || array.data[(step * arm_count + arm) * phases.size() + object] != 0;
      }
      if (is_touched) {
        phases[object] = ContactPhase::kTouched;
      } else if (phases[object] == ContactPhase::kTouched) {
        phases[object] = ContactPhase::kAfter;
      }
    }
    phases_.insert(phases_.end(), phases.begin(), phases.end());
  }
  return Status::Ok();
}

std::optional<SimulationTruth::ContactPhase> SimulationTruth::PhaseAt(int step, int object) const {
  if (phases_.empty()) return std::nullopt;
  return phases_[static_cast<std::size_t>(step) * object_names_.size() +
                 static_cast<std::size_t>(object)];
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

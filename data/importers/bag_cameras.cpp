#include "data/importers/bag_cameras.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "common/duration.h"
#include "common/number_text.h"
#include "data/importers/match_times.h"
#include "data/importers/metre_units.h"
#include "data/manifest.h"

namespace interlacer {
namespace {

/// Of a single image, whose spacing is not known.
constexpr std::int64_t kMostOffsetNs = 50'000'000;
/// Of numbers that one program writes and another copies.
constexpr double kSameShare = 1e-6;

std::string Describe(const BagTopic& topic) {
  return topic.topic.name + " (" + topic.encoding + ", " +
         SizeText(topic.size.width_px, topic.size.height_px) + ", frame " + topic.frame_id + ")";
}

template <typename Wanted>
std::string ListTopics(const BagIndex& bag, const Wanted& is_wanted) {
  std::string list;
  for (const auto& [name, topic] : bag.topics()) {
    if (!is_wanted(topic)) continue;
    list += (list.empty() ? "" : ", ") + (topic.images.empty() ? name : Describe(topic));
  }
  return list.empty() ? "none" : list;
}

/// Topics of images of which none could be read, and why.
std::string Unread(const BagIndex& bag) {
  std::string list;
  for (const auto& [name, topic] : bag.topics()) {
    const bool is_image =
        topic.kind == MessageKind::kImage || topic.kind == MessageKind::kCompressedImage;
    if (!is_image || !topic.images.empty() || topic.damage.ok()) continue;
    list += "; not read: " + name + ", " + topic.damage.message();
  }
  return list;
}

std::vector<std::string> Parts(const std::string& topic) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < topic.size();) {
    const std::size_t end = std::min(topic.find('/', begin), topic.size());
    if (end > begin) parts.push_back(topic.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// The topic without the transport that image_transport appends.
std::vector<std::string> ImageParts(const BagTopic& topic) {
  std::vector<std::string> parts = Parts(topic.topic.name);
  if (parts.size() > 1 && topic.kind == MessageKind::kCompressedImage) parts.pop_back();
  return parts;
}

/// camera_info in the namespace of an image, or nothing.
const BagTopic* InfoBeside(const BagIndex& bag, const BagTopic& image) {
  std::vector<std::string> parts = ImageParts(image);
  if (!parts.empty()) parts.back() = "camera_info";
  std::string name;
  for (const std::string& part : parts) name += "/" + part;
  const BagTopic* const found = bag.Find(name);
  return found != nullptr && found->info ? found : nullptr;
}

bool IsRectified(const BagTopic& image) {
  const std::vector<std::string> parts = ImageParts(image);
  return !parts.empty() && parts.back().starts_with("image_rect");
}

bool AreClose(double a, double b) {
  return std::abs(a - b) <= kSameShare * std::max({1.0, std::abs(a), std::abs(b)});
}

bool HaveSameK(const CameraInfoMessage& a, const CameraInfoMessage& b) {
  return std::equal(a.k.begin(), a.k.end(), b.k.begin(), AreClose);
}

StatusOr<const BagTopic*> ImageTopic(const BagIndex& bag, const NamedTopic& named,
                                     const char* option, bool is_depth) {
  const BagTopic* const topic = bag.Find(named.topic);
  const auto is_wanted = [&](const BagTopic& t) { return is_depth ? t.is_depth() : t.is_color(); };
  if (topic != nullptr && is_wanted(*topic)) return topic;
  std::string got = named.topic;
  if (topic == nullptr) {
    got += ", which is not in the recording";
  } else if (!topic->damage.ok()) {
    got += ": " + topic->damage.message();
  } else {
    got += " (" + (topic->images.empty() ? topic->topic.schema : topic->encoding) + ")";
  }
  return Mismatch(reason::ARGUMENT_INVALID, option,
                  std::string("a topic of ") + (is_depth ? "depth" : "colour") +
                      " images: " + ListTopics(bag, is_wanted),
                  got);
}

bool ArePartners(const BagTopic& color, const BagTopic& depth) {
  return color.frame_id == depth.frame_id && color.size.width_px == depth.size.width_px &&
         color.size.height_px == depth.size.height_px;
}

Status NotRegistered(const BagTopic& color, const BagTopic& depth, const std::string& why) {
  return Mismatch(reason::NOT_REGISTERED, depth.topic.name,
                  "depth registered to its colour image " + Describe(color) +
                      "; record the aligned depth, such as aligned_depth_to_color, or register it "
                      "first (depth_image_proc register)",
                  Describe(depth) + why);
}

/// A name from a topic: what stands first in it.
std::string NameOf(const BagTopic& color) {
  const std::vector<std::string> parts = Parts(color.topic.name);
  std::string name = parts.empty() ? "camera" : parts.front();
  for (char& c : name) {
    if (!IsValidName(std::string("x") + c)) c = '_';
  }
  return IsValidName(name) ? name : "camera";
}

struct TopicPair {
  std::string name;
  const BagTopic* color;
  const BagTopic* depth;
};

StatusOr<const BagTopic*> PartnerOf(const BagIndex& bag, const std::string& name,
                                    const BagTopic& color) {
  std::vector<const BagTopic*> partners;
  const BagTopic* other = nullptr;
  for (const auto& [topic_name, topic] : bag.topics()) {
    if (!topic.is_depth()) continue;
    if (ArePartners(color, topic)) partners.push_back(&topic);
    other = &topic;
  }
  if (partners.size() == 1) return partners.front();
  if (partners.empty() && other != nullptr) return NotRegistered(color, *other, "");
  const auto is_depth = [](const BagTopic& topic) { return topic.is_depth(); };
  return Mismatch(reason::NO_DEPTH, "--depth",
                  "--depth " + name + "=TOPIC, one depth topic for " + color.topic.name,
                  ListTopics(bag, is_depth) + Unread(bag));
}

StatusOr<std::vector<TopicPair>> FindPairs(const BagIndex& bag, const BagOptions& options) {
  std::vector<TopicPair> pairs;
  std::vector<NamedTopic> colors = options.color;
  if (colors.empty()) {
    std::set<std::string> names;
    for (const auto& [name, topic] : bag.topics()) {
      if (!topic.is_color()) continue;
      // Without a partner it may be a camera without depth; with two of a frame, the user decides.
      const auto is_partner = [&color = topic](const auto& item) {
        return item.second.is_depth() && ArePartners(color, item.second);
      };
      if (std::none_of(bag.topics().begin(), bag.topics().end(), is_partner)) continue;
      for (const NamedTopic& known : colors) {
        if (bag.Find(known.topic)->frame_id != topic.frame_id) continue;
        return Mismatch(reason::ARGUMENT_INVALID, "--color",
                        "--color NAME=TOPIC for each camera, where frame " + topic.frame_id +
                            " has several colour topics",
                        known.topic + ", " + name);
      }
      std::string camera = NameOf(topic);
      for (int number = 2; !names.insert(camera).second; ++number) {
        camera = NameOf(topic) + "_" + std::to_string(number);
      }
      colors.push_back({camera, name});
    }
  }
  const auto is_color = [](const BagTopic& topic) { return topic.is_color(); };
  const auto is_depth = [](const BagTopic& topic) { return topic.is_depth(); };
  if (colors.empty()) {
    const BagTopic *color = nullptr, *depth = nullptr;
    for (const auto& [name, topic] : bag.topics()) {
      if (topic.is_color()) color = &topic;
      if (topic.is_depth()) depth = &topic;
    }
    if (color != nullptr && depth != nullptr) return NotRegistered(*color, *depth, "");
    return Mismatch(reason::NO_DEPTH, "source", "topics of colour and of depth images",
                    "colour: " + ListTopics(bag, is_color) +
                        "; depth: " + ListTopics(bag, is_depth) + Unread(bag));
  }
  for (const NamedTopic& named : colors) {
    TopicPair pair{named.name, nullptr, nullptr};
    INTERLACER_ASSIGN_OR_RETURN(pair.color, ImageTopic(bag, named, "--color", false));
    const auto given = std::find_if(options.depth.begin(), options.depth.end(),
                                    [&](const auto& depth) { return depth.name == named.name; });
    if (given != options.depth.end()) {
      INTERLACER_ASSIGN_OR_RETURN(pair.depth, ImageTopic(bag, *given, "--depth", true));
      if (!ArePartners(*pair.color, *pair.depth))
        return NotRegistered(*pair.color, *pair.depth, "");
    } else {
      INTERLACER_ASSIGN_OR_RETURN(pair.depth, PartnerOf(bag, named.name, *pair.color));
    }
    pairs.push_back(pair);
  }
  for (const auto* list : {&options.depth, &options.camera_info}) {
    for (const NamedTopic& named : *list) {
      if (std::any_of(pairs.begin(), pairs.end(),
                      [&](const TopicPair& pair) { return pair.name == named.name; })) {
        continue;
      }
      std::string names;
      for (const TopicPair& pair : pairs) names += (names.empty() ? "" : ", ") + pair.name;
      return Mismatch(reason::CAMERA_UNKNOWN, list == &options.depth ? "--depth" : "--camera-info",
                      "the name of a camera: " + names, named.name);
    }
  }
  return pairs;
}

StatusOr<const BagTopic*> FindInfo(const BagIndex& bag, const BagOptions& options,
                                   const TopicPair& pair) {
  const auto has_info = [](const BagTopic& topic) { return topic.info.has_value(); };
  for (const NamedTopic& named : options.camera_info) {
    if (named.name != pair.name) continue;
    const BagTopic* const topic = bag.Find(named.topic);
    if (topic != nullptr && topic->info) return topic;
    return Mismatch(reason::NO_CALIBRATION, "--camera-info",
                    "a topic of calibrations: " + ListTopics(bag, has_info), named.topic);
  }
  if (const BagTopic* const beside = InfoBeside(bag, *pair.color)) return beside;
  const BagTopic* found = nullptr;
  for (const auto& [name, topic] : bag.topics()) {
    if (!topic.info || topic.info->frame_id != pair.color->frame_id) continue;
    if (found != nullptr && !HaveSameK(*found->info, *topic.info)) {
      return Mismatch(reason::NO_CALIBRATION, "--camera-info",
                      "--camera-info " + pair.name + "=TOPIC, where calibrations of frame " +
                          pair.color->frame_id + " differ",
                      found->topic.name + ", " + name);
    }
    found = &topic;
  }
  if (found != nullptr) return found;
  return Mismatch(reason::NO_CALIBRATION, pair.color->topic.name,
                  "a calibration of frame " + pair.color->frame_id + "; --camera-info " +
                      pair.name + "=TOPIC names one, --calibration FILE gives one",
                  ListTopics(bag, has_info));
}

Status CheckSize(const Camera& camera, const BagTopic& image, const std::string& field) {
  if (camera.width_px == image.size.width_px && camera.height_px == image.size.height_px) {
    return Status::Ok();
  }
  return Mismatch(reason::CALIBRATION_SIZE_MISMATCH, field, "the size of " + Describe(image),
                  SizeText(camera.width_px, camera.height_px));
}

/// That the images are not all of the calibrated ones; empty where they are.
std::string PartText(const CameraInfoMessage& info) {
  const auto size = [](std::uint32_t width, std::uint32_t height) {
    return std::to_string(width) + "x" + std::to_string(height);
  };
  const auto [x, y, height, width] = info.region;
  const std::string whole = std::to_string(info.width_px) + "x" + std::to_string(info.height_px);
  const bool is_whole = (width == 0 && height == 0) || size(width, height) == whole;
  std::string text;
  if (info.binning[0] > 1 || info.binning[1] > 1) {
    text = "binning of " + size(info.binning[0], info.binning[1]);
  }
  if (!is_whole || x > 0 || y > 0) {
    text += (text.empty() ? "" : " and ") + ("a region of interest of " + size(width, height)) +
            " at " + std::to_string(x) + "," + std::to_string(y);
  }
  return text;
}

/// K and P are of whole images; which those are is not clear where binned or cut ones have their
/// size.
Status CheckPart(const BagTopic& info_topic, const Camera& camera, const BagTopic& image,
                 std::vector<Finding>* findings) {
  const std::string part = PartText(*info_topic.info);
  const std::string& field = info_topic.topic.name;
  Status status = CheckSize(camera, image, field);
  if (part.empty()) return status;
  if (status.ok()) {
    findings->push_back({"CALIBRATION_SUSPECT",
                         "says " + part +
                             ", and its size is that of the images: is K of these "
                             "images? --calibration FILE gives one that is",
                         field});
    return status;
  }
  return Mismatch(
      reason::CALIBRATION_SIZE_MISMATCH, field,
      "a calibration of images such as " + Describe(image) + "; --calibration FILE gives one",
      SizeText(camera.width_px, camera.height_px) + " with " + part);
}

StatusOr<Camera> CameraFrom(const BagTopic& info_topic, const BagTopic& image,
                            std::vector<Finding>* findings) {
  const CameraInfoMessage& info = *info_topic.info;
  const std::string& field = info_topic.topic.name;
  if (info_topic.does_info_change) {
    return Mismatch(reason::CALIBRATION_INVALID, field, "one calibration in the whole recording",
                    "one that changes");
  }
  Camera camera;
  camera.width_px = info.width_px;
  camera.height_px = info.height_px;
  INTERLACER_RETURN_IF_ERROR(CheckPart(info_topic, camera, image, findings));
  if (IsRectified(image)) {
    camera.fx_px = info.p[0];
    camera.cx_px = info.p[2];
    camera.fy_px = info.p[5];
    camera.cy_px = info.p[6];
  } else {
    camera.fx_px = info.k[0];
    camera.cx_px = info.k[2];
    camera.fy_px = info.k[4];
    camera.cy_px = info.k[5];
    const std::vector<double>& d = info.distortion_coefficients;
    if (std::any_of(d.begin(), d.end(), [](double value) { return value != 0; })) {
      if (info.distortion_model != "plumb_bob" && info.distortion_model != "rational_polynomial") {
        return Mismatch(reason::DISTORTION_INVALID, field,
                        "plumb_bob or rational_polynomial; other lenses: record rectified images "
                        "(image_rect)",
                        info.distortion_model);
      }
      camera.distortion_model = info.distortion_model == "plumb_bob"
                                    ? DistortionModel::kPlumbBob
                                    : DistortionModel::kRationalPolynomial;
      camera.distortion_coefficients = d;
    }
  }
  Status status = ValidateCamera(camera);
  if (!status.ok()) return std::move(status).WithFieldPrefix(field + " ");
  return camera;
}

StatusOr<double> DepthUnitM(const std::string& camera, const BagTopic& depth,
                            const ImportOptions& options, BagCameras* found) {
  if (depth.pixels != PixelKind::kDepthMeters) return options.depth_unit_m.value_or(kMillimeterM);
  std::optional<double> given_m = options.depth_unit_m;
  const auto known = options.bag.depth_units_m.find(camera);
  if (!given_m && known != options.bag.depth_units_m.end()) given_m = known->second;
  INTERLACER_ASSIGN_OR_RETURN(
      const double unit_m, UnitOfMetres(depth.metres, given_m, depth.topic.name, &found->findings));
  found->notes.push_back(depth.topic.name + ": metres became integers of " +
                         NumberText(1000 * unit_m) + " mm");
  return unit_m;
}

std::vector<std::int64_t> Stamps(const BagTopic& topic) {
  std::vector<std::int64_t> times_ns;
  for (const BagImage& image : topic.images) times_ns.push_back(image.stamp_ns);
  return times_ns;
}

/// Drivers that leave headers empty, or as they were at the start, give images no time.
Status CheckStamps(const BagTopic& topic) {
  const bool is_stuck =
      topic.images.size() >= 2 && topic.images.front().stamp_ns == topic.images.back().stamp_ns;
  if (!is_stuck) return Status::Ok();
  return Mismatch(
      reason::TIMESTAMP_INVALID, topic.topic.name,
      "stamps in the headers, by which colour, depth and poses belong together; set "
      "header.stamp in the driver",
      NumberText(static_cast<double>(topic.images.front().stamp_ns) / kNanosecondsPerSecond) +
          " s in all " + std::to_string(topic.images.size()));
}

Status AddFrames(BagCamera* camera, int* unpaired_count) {
  INTERLACER_RETURN_IF_ERROR(CheckStamps(*camera->color));
  INTERLACER_RETURN_IF_ERROR(CheckStamps(*camera->depth));
  const std::vector<std::int64_t> color = Stamps(*camera->color), depth = Stamps(*camera->depth);
  const std::int64_t spacing_ns = SpacingNs(color);
  const std::int64_t limit_ns = spacing_ns > 0 ? spacing_ns / 2 : kMostOffsetNs;
  const std::vector<int> partner = MatchTimes(color, depth, limit_ns);
  for (std::size_t i = 0; i < color.size(); ++i) {
    const bool is_repeated = !camera->times_ns.empty() && camera->times_ns.back() == color[i];
    if (partner[i] < 0 || is_repeated) {
      ++*unpaired_count;
      continue;
    }
    camera->frames.push_back({color[i], static_cast<int>(i), partner[i]});
    camera->times_ns.push_back(color[i]);
  }
  camera->spacing_ns = SpacingNs(camera->times_ns);
  if (!camera->frames.empty()) return Status::Ok();
  return Mismatch(reason::NO_DEPTH, camera->depth->topic.name,
                  "depth images within " + NumberText(1e-6 * static_cast<double>(limit_ns)) +
                      " ms (half a frame) of those of " + camera->color->topic.name,
                  "the nearest farther away");
}

/// Calibration of the recording; gives its topic.
StatusOr<std::string> TakeInfo(const BagIndex& bag, const BagOptions& options,
                               const TopicPair& pair, BagCamera* camera, BagCameras* found) {
  INTERLACER_ASSIGN_OR_RETURN(const BagTopic* const info, FindInfo(bag, options, pair));
  INTERLACER_ASSIGN_OR_RETURN(camera->camera, CameraFrom(*info, *pair.color, &found->findings));
  const BagTopic* const depth_info = InfoBeside(bag, *pair.depth);
  if (depth_info != nullptr && !HaveSameK(*depth_info->info, *info->info)) {
    return NotRegistered(*pair.color, *pair.depth,
                         ", whose " + depth_info->topic.name + " has another K");
  }
  if (IsRectified(*pair.color)) {
    found->notes.push_back(pair.color->topic.name +
                           " is rectified: pinhole of P, without lens model");
  }
  return info->topic.name;
}

}  // namespace

StatusOr<BagCameras> FindCameras(const BagIndex& bag, const ImportOptions& options) {
  BagCameras found;
  std::vector<CameraCalibration> calibrations;
  if (!options.calibration.empty()) {
    if (!options.bag.camera_info.empty()) {
      return Mismatch(reason::ARGUMENT_INVALID, "--camera-info",
                      "one of --camera-info and --calibration", "both");
    }
    INTERLACER_ASSIGN_OR_RETURN(calibrations, ReadCalibrationFile(options.calibration));
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<TopicPair> pairs, FindPairs(bag, options.bag));
  for (const TopicPair& pair : pairs) {
    BagCamera camera;
    camera.name = pair.name;
    camera.color = pair.color;
    camera.depth = pair.depth;
    std::string source = options.calibration;
    if (calibrations.empty()) {
      INTERLACER_ASSIGN_OR_RETURN(source, TakeInfo(bag, options.bag, pair, &camera, &found));
    } else {
      INTERLACER_ASSIGN_OR_RETURN(camera.calibration, FindCalibration(calibrations, pair.name));
      camera.camera = camera.calibration->camera;
      INTERLACER_RETURN_IF_ERROR(CheckSize(camera.camera, *pair.color, source + " " + pair.name));
    }
    INTERLACER_ASSIGN_OR_RETURN(camera.depth_unit_m,
                                DepthUnitM(pair.name, *pair.depth, options, &found));
    INTERLACER_RETURN_IF_ERROR(AddFrames(&camera, &found.unpaired_count));
    found.choices.push_back("camera " + pair.name + ": colour " + pair.color->topic.name +
                            ", depth " + pair.depth->topic.name + ", calibration " + source +
                            ", frame " + pair.color->frame_id);
    found.cameras.push_back(std::move(camera));
  }
  return found;
}

}  // namespace interlacer

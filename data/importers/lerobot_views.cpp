#include "data/importers/lerobot_views.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "common/image_codec.h"
#include "common/metre_depths.h"
#include "common/number_text.h"
#include "data/importers/video.h"

namespace interlacer {
namespace {

constexpr std::string_view kDepthEnd = "_depth", kPrefix = "observation.images.";
constexpr int kLastCode = 4095;
/// Of a video's average rate, into which rounded durations enter.
constexpr double kMostRateOffset = 0.01;
constexpr std::array<std::uint8_t, 4> kPngStart = {0x89, 'P', 'N', 'G'};

struct Pair {
  std::string name, color, depth;
};

/// observation.images.left and images.left are the camera left.
std::string NameOf(const std::string& feature) {
  return feature.starts_with(kPrefix) ? feature.substr(kPrefix.size()) : feature;
}

bool IsDepth(const LerobotFeature& feature, const std::string& name) {
  return feature.is_depth || name.ends_with(kDepthEnd);
}

/// Depth and colour of each camera, by options and names.
StatusOr<std::vector<Pair>> FindPairs(const LerobotSet& set, const ImportOptions& options,
                                      std::vector<std::string>* choices) {
  std::string colors, depths;
  std::map<std::string, Pair> pairs;
  for (const auto& [name, feature] : set.features()) {
    if (!feature.is_picture()) continue;
    std::string& list = IsDepth(feature, name) ? depths : colors;
    list += (list.empty() ? "" : ", ") + name;
    if (!options.bag.color.empty() || !IsDepth(feature, name) || !name.ends_with(kDepthEnd)) {
      continue;
    }
    const std::string color = name.substr(0, name.size() - kDepthEnd.size());
    const auto partner = set.features().find(color);
    if (partner == set.features().end() || !partner->second.is_picture()) continue;
    pairs[NameOf(color)] = {NameOf(color), color, name};
    choices->push_back("camera " + NameOf(color) + ": " + color + " and " + name);
  }
  for (const NamedTopic& color : options.bag.color) {
    pairs[color.name] = {color.name, color.topic, color.topic + std::string(kDepthEnd)};
  }
  for (const NamedTopic& depth : options.bag.depth) {
    const auto pair = pairs.find(depth.name);
    if (pair == pairs.end()) {
      return Mismatch(reason::CAMERA_UNKNOWN, "--depth",
                      "a camera of --color NAME=FEATURE; colour features: " + colors, depth.name);
    }
    pair->second.depth = depth.topic;
  }
  if (pairs.empty()) {
    return Mismatch(reason::NO_DEPTH, "meta/info.json",
                    "pictures NAME and NAME_depth of a camera, or --color NAME=FEATURE and --depth "
                    "NAME=FEATURE; record with depth (is_depth_map)",
                    "colour: " + (colors.empty() ? "none" : colors) +
                        "; depth: " + (depths.empty() ? "none" : depths));
  }
  std::vector<Pair> result;
  for (const auto& [name, pair] : pairs) {
    for (const std::string& feature : {pair.color, pair.depth}) {
      const auto found = set.features().find(feature);
      if (found != set.features().end() && found->second.is_picture()) continue;
      const bool is_color = feature == pair.color;
      return Mismatch(is_color ? reason::CAMERA_UNKNOWN : reason::NO_DEPTH,
                      is_color ? "--color" : "--depth",
                      "NAME=FEATURE of pictures of camera " + name + "; colour: " + colors +
                          "; depth: " + (depths.empty() ? "none" : depths),
                      feature);
    }
    result.push_back(pair);
  }
  return result;
}

/// Metres of an integer of depth images in the table.
StatusOr<double> ImageUnit(const LerobotFeature& feature, const std::string& name,
                           const ImportOptions& options) {
  if (options.depth_unit_m) return *options.depth_unit_m;
  if (feature.depth_unit == "mm") return kMillimeterM;
  return Mismatch(reason::DEPTH_UNIT_MISSING, "--depth-unit",
                  "metres of one integer of " + name + ", which the set does not say",
                  feature.depth_unit.empty() ? "none" : feature.depth_unit);
}

Status CheckSize(const CameraCalibration& calibration, const std::string& feature, int width_px,
                 int height_px) {
  const Camera& camera = calibration.camera;
  if (camera.width_px == width_px && camera.height_px == height_px) return Status::Ok();
  return Mismatch(reason::CALIBRATION_SIZE_MISMATCH, "--calibration " + calibration.name,
                  SizeText(width_px, height_px) + ", the size of " + feature,
                  SizeText(camera.width_px, camera.height_px));
}

/// Where the frames of an episode are, and which of them are wanted.
struct Source {
  const LerobotSet& set;
  const LerobotEpisode& episode;
  const ParquetTable& table;
  std::int64_t first_row;
  const std::vector<std::int64_t>& wanted;
  const ImportOptions& options;

  /// Passes the wanted ones of frames that come one after the other to the spool.
  Status Keep(std::int64_t* frame, std::span<const std::uint8_t> bytes, FrameSpool* spool) const {
    if (options.stop.stop_requested()) return Cancelled("import stopped");
    if (!std::binary_search(wanted.begin(), wanted.end(), (*frame)++)) return Status::Ok();
    return spool->Append(bytes);
  }
};

/// Decodes a video, or takes the files of images, into the stream's spool.
Status Load(const Source& source, const CameraCalibration& calibration, bool is_color,
            LerobotStream* stream) {
  const LerobotFeature& feature = source.set.features().at(stream->feature);
  stream->is_video = feature.dtype == "video";
  INTERLACER_ASSIGN_OR_RETURN(stream->frames, FrameSpool::Create(source.options.episode_dir));
  std::int64_t frame = 0;
  const auto take = [&](std::span<const std::uint8_t> bytes) {
    return source.Keep(&frame, bytes, stream->frames.get());
  };
  const std::int64_t count = source.wanted.back() + 1;
  if (!stream->is_video) {
    stream->codec = "images";
    const auto take_file = [&](std::span<const std::uint8_t> bytes) {
      if (!bytes.empty()) return take(bytes);
      return Mismatch(reason::SCHEMA_INVALID, source.table.path(),
                      "images of " + stream->feature + " in the table, as LeRobot embeds them",
                      "none in frame " + std::to_string(frame));
    };
    return source.table.VisitBytes(stream->feature, source.first_row, count, take_file);
  }
  const LerobotVideo& video = source.episode.videos.at(stream->feature);
  INTERLACER_ASSIGN_OR_RETURN(const VideoFacts facts, ProbeVideo(video.path, source.options.stop));
  INTERLACER_RETURN_IF_ERROR(
      CheckSize(calibration, stream->feature, facts.width_px, facts.height_px));
  const double fps = source.set.fps();
  if (facts.rate_hz > 0 && std::abs(facts.rate_hz / fps - 1) > kMostRateOffset) {
    return Mismatch(reason::TIMESTAMP_INVALID, video.path,
                    NumberText(fps) + " frames a second, as info.json says",
                    NumberText(facts.rate_hz));
  }
  stream->codec = facts.codec;
  return DecodeVideo(video.path, facts, is_color ? VideoPixels::kRgb24 : VideoPixels::kCode12,
                     video.first_s, 1 / fps, count, source.options.stop, take);
}

std::vector<std::uint16_t> ToIntegers(const std::vector<std::uint8_t>& bytes) {
  std::vector<std::uint16_t> integers(bytes.size() / 2);
  std::memcpy(integers.data(), bytes.data(), 2 * integers.size());
  return integers;
}

/// The given unit, which must hold the deepest measurement of coded depths in 16 bits; else the
/// finest power of ten that does.
StatusOr<double> CodedUnit(const LerobotStream& stream, std::optional<double> given_m) {
  double deepest_m = 0;
  for (std::int64_t i = 0; i < stream.frames->frame_count(); ++i) {
    INTERLACER_ASSIGN_OR_RETURN(const auto bytes, stream.frames->Read(i));
    int largest = 0;
    for (const std::uint16_t code : ToIntegers(bytes)) {
      if (code < kLastCode) largest = std::max<int>(largest, code);
    }
    if (largest > 0) deepest_m = std::max(deepest_m, DepthOfCode(*stream.coding, largest));
  }
  double unit_m = kTenthMillimeterM;
  while (deepest_m > kMostDepthUnits * unit_m) unit_m *= 10;
  if (given_m && deepest_m > kMostDepthUnits * *given_m) {
    return Mismatch(reason::ARGUMENT_INVALID, "--depth-unit",
                    "a unit of at least " + NumberText(deepest_m / kMostDepthUnits) +
                        " m, such as " + NumberText(unit_m) + ": the deepest of " + stream.feature +
                        " is " + NumberText(deepest_m) + " m",
                    NumberText(*given_m));
  }
  return given_m.value_or(unit_m);
}

/// Whether and how the depths are coded.
Status CheckDepth(const LerobotFeature& feature, const std::string& name,
                  const ImportOptions& options) {
  if (feature.dtype != "video") return Status::Ok();
  if (!feature.coding) {
    return Mismatch(reason::SCHEMA_INVALID, "meta/info.json features." + name,
                    "is_depth_map with video.depth_min, depth_max, shift and use_log, as LeRobot "
                    "codes depth: other videos do not keep it",
                    "none of them");
  }
  if (!options.no_depth_value) return Status::Ok();
  return Mismatch(reason::ARGUMENT_INVALID, "--no-depth-value",
                  "none: of the codes of " + name + " 0 and 4095 are no measurement",
                  std::to_string(*options.no_depth_value));
}

}  // namespace

double DepthOfCode(const DepthCoding& coding, int code) {
  if (code <= 0 || code >= kLastCode) return std::numeric_limits<double>::quiet_NaN();
  const double share = static_cast<double>(code) / kLastCode;
  if (!coding.is_log) return coding.min_m + share * (coding.max_m - coding.min_m);
  const double first = std::log(coding.min_m + coding.shift_m);
  const double last = std::log(coding.max_m + coding.shift_m);
  return std::exp(share * (last - first) + first) - coding.shift_m;
}

StatusOr<LerobotViews> LerobotViews::Find(const LerobotSet& set, const LerobotEpisode& episode,
                                          const ParquetTable& table, std::int64_t first_row,
                                          const std::vector<std::int64_t>& wanted,
                                          const ImportOptions& options) {
  LerobotViews result;
  result.spool_folder_ = options.episode_dir;
  result.stop_ = options.stop;
  INTERLACER_ASSIGN_OR_RETURN(const auto pairs, FindPairs(set, options, &result.choices_));
  INTERLACER_ASSIGN_OR_RETURN(const auto calibrations, ReadCalibrationFile(options.calibration));
  const Source source{set, episode, table, first_row, wanted, options};
  for (const Pair& pair : pairs) {
    LerobotView view;
    INTERLACER_ASSIGN_OR_RETURN(view.calibration, FindCalibration(calibrations, pair.name));
    if (!view.calibration.has_pose && view.calibration.link.empty()) {
      return Mismatch(reason::CALIBRATION_INVALID, "--calibration " + pair.name,
                      "world_from_camera, or link and link_from_camera: the set has no poses",
                      "neither");
    }
    const LerobotFeature& depth = set.features().at(pair.depth);
    INTERLACER_RETURN_IF_ERROR(CheckDepth(depth, pair.depth, options));
    if (depth.dtype != "video") {
      INTERLACER_ASSIGN_OR_RETURN(view.depth_unit_m, ImageUnit(depth, pair.depth, options));
    }
    view.color.feature = pair.color;
    view.depth.feature = pair.depth;
    if (depth.dtype == "video") view.depth.coding = depth.coding;
    INTERLACER_RETURN_IF_ERROR(Load(source, view.calibration, true, &view.color));
    INTERLACER_RETURN_IF_ERROR(Load(source, view.calibration, false, &view.depth));
    if (view.depth.coding) {
      INTERLACER_ASSIGN_OR_RETURN(view.depth_unit_m, CodedUnit(view.depth, options.depth_unit_m));
    }
    result.views_.push_back(std::move(view));
  }
  return result;
}

StatusOr<RecordedFrame> LerobotViews::Read(std::int64_t index, std::size_t view_index) const {
  const LerobotView& view = views_[view_index];
  const int width = view.calibration.camera.width_px, height = view.calibration.camera.height_px;
  RecordedFrame frame;
  INTERLACER_ASSIGN_OR_RETURN(std::vector<std::uint8_t> color, view.color.frames->Read(index));
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::uint8_t> depth,
                              view.depth.frames->Read(index));
  const auto at = [&](const LerobotStream& stream, Status status) {
    if (status.code() == StatusCode::kCancelled) return status;
    const std::string place = stream.feature + " frame " + std::to_string(index);
    return Status(status.code(), status.reason(),
                  place + ": " + (status.message().empty() ? "no image" : status.message()))
        .WithField(place);
  };
  if (view.color.is_video) {
    frame.color = {width, height, std::move(color)};
  } else {
    auto decoded = DecodeRgb(color);
    if (!decoded.ok()) return at(view.color, decoded.status());
    frame.color = *std::move(decoded);
    INTERLACER_RETURN_IF_ERROR(CheckSize(view.calibration, view.color.feature, frame.color.width_px,
                                         frame.color.height_px));
  }
  if (!view.depth.coding) {
    const bool is_png = depth.size() >= kPngStart.size() &&
                        std::equal(kPngStart.begin(), kPngStart.end(), depth.begin());
    auto decoded =
        is_png ? DecodePngDepth(depth, view.depth_unit_m)
               : DecodeTiffDepth(depth, view.depth_unit_m, width, height, spool_folder_, stop_);
    if (!decoded.ok()) return at(view.depth, decoded.status());
    frame.depth = *std::move(decoded);
    INTERLACER_RETURN_IF_ERROR(CheckSize(view.calibration, view.depth.feature, frame.depth.width_px,
                                         frame.depth.height_px));
    return frame;
  }
  frame.depth = {width, height, view.depth_unit_m, {}};
  for (const std::uint16_t code : ToIntegers(depth)) {
    const double units = DepthOfCode(*view.depth.coding, code) / view.depth_unit_m;
    frame.depth.pixels.push_back(
        units > 0 && units < kMostDepthUnits + 0.5 ? static_cast<std::uint16_t>(units + 0.5) : 0);
  }
  return frame;
}

}  // namespace interlacer

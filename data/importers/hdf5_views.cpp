#include "data/importers/hdf5_views.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/image_codec.h"
#include "common/json.h"
#include "common/number_text.h"
#include "common/transforms.h"
#include "data/importers/metre_units.h"
#include "data/manifest.h"

namespace interlacer {
namespace {

constexpr std::string_view kImageEnd = "_image", kDepthEnd = "_depth";
/// A z-buffer lies here nearly everywhere; a scene in metres hardly does.
constexpr double kLeastZBufferMedian = 0.9;

std::string ShapeText(const Hdf5Array& array) {
  std::string text;
  for (const std::int64_t side : array.shape) {
    text += (text.empty() ? "[" : ",") + std::to_string(side);
  }
  return array.path + " " + text + "]";
}

Status CheckShapes(const Hdf5View& view, std::int64_t steps) {
  const std::vector<std::int64_t>&image = view.image.shape, &depth = view.depth.shape;
  const int most = ImageLimits{}.max_side_px;
  const bool is_image = image.size() == 4 && image[3] == 3 && !view.image.is_float &&
                        view.image.item_bytes == 1 && image[0] > 0 && image[1] > 0 &&
                        image[2] > 0 && image[1] <= most && image[2] <= most;
  // Asked before anything is made for every step that a file claims.
  if (!is_image || image[0] != steps || steps > kMaxStepCount) {
    return Mismatch(reason::SHAPE_MISMATCH, view.image.path,
                    "[steps,height,width,3] of uint8, as many steps as the first camera and at "
                    "most " +
                        std::to_string(kMaxStepCount),
                    ShapeText(view.image));
  }
  const bool is_depth = (depth.size() == 3 || (depth.size() == 4 && depth[3] == 1)) &&
                        std::equal(image.begin(), image.begin() + 3, depth.begin());
  if (is_depth && (view.depth.is_float || view.depth.item_bytes <= 2)) return Status::Ok();
  return Mismatch(reason::SHAPE_MISMATCH, view.depth.path,
                  "depths of the same steps and size as " + ShapeText(view.image) +
                      ", float or integers of 16 bits",
                  ShapeText(view.depth));
}

/// A camera of the attribute: {"NAME": {"intrinsics": 3 rows, "extrinsics": 4 rows}}.
StatusOr<CameraCalibration> CameraOfInfo(const JsonObject& info, const std::string& name) {
  if (name.find("eye_in_hand") != std::string::npos) {
    return Mismatch(reason::CALIBRATION_INVALID, info.PathOf(name),
                    "a camera that stands; the pose of one on the hand is composed in the wrong "
                    "order by its writer: give --calibration with \"link\"",
                    name);
  }
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject camera, info.GetObject(name));
  const auto rows = [&](std::string_view key, std::size_t side) -> StatusOr<std::vector<double>> {
    INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json* const value, camera.Find(key));
    std::vector<double> numbers;
    for (const nlohmann::json& row : value->is_array() ? *value : nlohmann::json::array()) {
      for (const nlohmann::json& number : row.is_array() ? row : nlohmann::json::array()) {
        if (number.is_number()) numbers.push_back(number.get<double>());
      }
    }
    if (numbers.size() == side * side) return numbers;
    return camera.Invalid(key, std::to_string(side) + " rows of as many numbers", "another form");
  };
  INTERLACER_ASSIGN_OR_RETURN(const auto k, rows("intrinsics", 3));
  INTERLACER_ASSIGN_OR_RETURN(const auto pose, rows("extrinsics", 4));
  CameraCalibration result;
  result.name = name;
  result.camera.fx_px = k[0];
  result.camera.cx_px = k[2];
  result.camera.fy_px = k[4];
  result.camera.cy_px = k[5];
  Matrix4d matrix;
  std::copy(pose.begin(), pose.end(), matrix.begin());
  auto world_from_camera = FromMatrix(matrix);
  if (!world_from_camera.ok()) {
    return camera.Invalid("extrinsics", "a motion: the camera in the world",
                          world_from_camera.status().message());
  }
  result.camera.world_from_camera = *world_from_camera;
  result.has_pose = true;
  return result;
}

StatusOr<CameraCalibration> CalibrationOf(const std::vector<CameraCalibration>& given,
                                          const std::optional<JsonObject>& info,
                                          const Hdf5View& view, const std::string& name) {
  const int width = static_cast<int>(view.image.shape[2]);
  const int height = static_cast<int>(view.image.shape[1]);
  CameraCalibration result;
  if (!given.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(result, FindCalibration(given, name));
    if (result.camera.width_px != width || result.camera.height_px != height) {
      return Mismatch(reason::CALIBRATION_SIZE_MISMATCH, "--calibration " + name,
                      SizeText(width, height),
                      SizeText(result.camera.width_px, result.camera.height_px));
    }
    if (result.has_pose || !result.link.empty()) return result;
    if (info && info->Has(name)) {
      INTERLACER_ASSIGN_OR_RETURN(const CameraCalibration of_file, CameraOfInfo(*info, name));
      result.camera.world_from_camera = of_file.camera.world_from_camera;
      result.has_pose = true;
      return result;
    }
    return Mismatch(reason::CALIBRATION_INVALID, "--calibration " + name,
                    "world_from_camera, or link and link_from_camera: the file has no poses",
                    "neither");
  }
  if (!info || !info->Has(name)) {
    return Mismatch(reason::NO_CALIBRATION, view.image.path,
                    "the attribute camera_info, as robomimic writes it with --camera_names, or "
                    "--calibration FILE with a camera " +
                        name,
                    "neither");
  }
  INTERLACER_ASSIGN_OR_RETURN(result, CameraOfInfo(*info, name));
  result.camera.width_px = width;
  result.camera.height_px = height;
  Status status = ValidateCamera(result.camera);
  if (!status.ok()) return std::move(status).WithFieldPrefix(info->PathOf(name) + " ");
  return result;
}

}  // namespace

StatusOr<Hdf5Views> Hdf5Views::Find(const Hdf5File& file, const std::string& demo,
                                    const ImportOptions& options) {
  Hdf5Views result(file);
  std::vector<CameraCalibration> given;
  if (!options.calibration.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(given, ReadCalibrationFile(options.calibration));
  }
  nlohmann::json document;
  std::optional<JsonObject> info;
  if (const auto text = file.TextAttribute(demo, "camera_info")) {
    const std::string field = demo + " camera_info";
    INTERLACER_ASSIGN_OR_RETURN(document, ParseJson(*text, field, reason::CALIBRATION_INVALID));
    INTERLACER_ASSIGN_OR_RETURN(info,
                                JsonObject::Make(document, field, reason::CALIBRATION_INVALID));
  }
  const std::string group = demo + "/obs";
  std::string colors, depths;
  for (const std::string& entry : file.Names(group)) {
    if (entry.ends_with(kDepthEnd)) depths += (depths.empty() ? "" : ", ") + entry;
    if (!entry.ends_with(kImageEnd)) continue;
    colors += (colors.empty() ? "" : ", ") + entry;
    const std::string name = entry.substr(0, entry.size() - kImageEnd.size());
    const std::string image_path = group + "/" + entry;
    const std::string depth_path = group + "/" + name + std::string(kDepthEnd);
    if (!file.Has(depth_path)) continue;
    const auto image = file.FindArray(image_path), depth = file.FindArray(depth_path);
    if (!image || !depth) return file.Unreadable(image ? depth_path : image_path);
    Hdf5View view{{}, *image, *depth};
    const std::int64_t steps =
        result.views_.empty() ? image->shape[0] : result.views_.front().image.shape[0];
    INTERLACER_RETURN_IF_ERROR(CheckShapes(view, steps));
    INTERLACER_ASSIGN_OR_RETURN(view.calibration, CalibrationOf(given, info, view, name));
    result.views_.push_back(std::move(view));
  }
  if (result.views_.empty()) {
    return Mismatch(reason::NO_DEPTH, group,
                    "NAME_image and NAME_depth of a camera; record depth, or extract it with "
                    "robomimic's dataset_states_to_obs.py --depth",
                    "pictures: " + (colors.empty() ? "none" : colors) +
                        "; depth: " + (depths.empty() ? "none" : depths));
  }
  INTERLACER_RETURN_IF_ERROR(result.FindDepthKind(info.has_value(), options));
  INTERLACER_RETURN_IF_ERROR(result.FindUnit(options));
  return result;
}

Status Hdf5Views::FindDepthKind(bool has_camera_info, const ImportOptions& options) {
  is_integer_ = !views_.front().depth.is_float;
  for (const Hdf5View& view : views_) {
    if (view.depth.is_float != is_integer_) continue;
    return Mismatch(reason::SHAPE_MISMATCH, view.depth.path, "numbers as the first camera's",
                    "float beside integers");
  }
  const std::string& kind = options.hdf5.depth_kind;
  if (kind != "z_buffer" && options.hdf5.z_far_m != 0) {
    return Mismatch(reason::ARGUMENT_INVALID, "--z-planes", "--depth-kind z_buffer beside it",
                    kind.empty() ? "none" : kind);
  }
  if (is_integer_ && kind == "metres") {
    return Mismatch(reason::ARGUMENT_INVALID, "--depth-kind",
                    "none for integers, whose unit is --depth-unit", kind);
  }
  if (is_integer_ && kind != "z_buffer") return Status::Ok();
  if (kind.empty() && !has_camera_info) {
    return Mismatch(reason::ARGUMENT_INVALID, "--depth-kind",
                    "metres or z_buffer: without camera_info the file does not say what " +
                        views_.front().depth.path + " is",
                    "none");
  }
  is_z_buffer_ = kind == "z_buffer";
  if (!is_z_buffer_) return Status::Ok();
  near_m_ = options.hdf5.z_near_m;
  far_m_ = options.hdf5.z_far_m;
  if (!is_integer_ && near_m_ > 0 && near_m_ < far_m_) return Status::Ok();
  return Mismatch(
      reason::ARGUMENT_INVALID, "--z-planes",
      "NEAR,FAR of the renderer in metres, 0 < NEAR < FAR (MuJoCo: znear and zfar of "
      "the model times its extent), and a buffer of floats",
      NumberText(near_m_) + "," + NumberText(far_m_) + (is_integer_ ? " and integers" : ""));
}

Status Hdf5Views::FindUnit(const ImportOptions& options) {
  if (is_integer_) {
    if (!options.depth_unit_m) {
      return Mismatch(reason::DEPTH_UNIT_MISSING, "--depth-unit",
                      "metres of one integer of " + views_.front().depth.path, "none");
    }
    unit_m_ = *options.depth_unit_m;
    return Status::Ok();
  }
  MetreDepths depths;
  for (const Hdf5View& view : views_) {
    std::vector<float> medians;
    bool is_unit_range = true;
    for (std::int64_t step = 0; step < step_count(); ++step) {
      if (options.stop.stop_requested()) return Cancelled("import stopped");
      INTERLACER_ASSIGN_OR_RETURN(std::vector<float> row, file_.ReadRow<float>(view.depth, step));
      for (const float value : row) {
        is_unit_range = is_unit_range && !(value < 0) && !(value > 1);
        depths.Add(DepthOf(value));
      }
      const auto middle = row.begin() + static_cast<std::ptrdiff_t>(row.size() / 2);
      std::nth_element(row.begin(), middle, row.end(), [](float a, float b) {
        return std::isnan(b) ? !std::isnan(a) : a < b;  // NaN last
      });
      medians.push_back(*middle);
    }
    if (is_z_buffer_ && !is_unit_range) {
      return Mismatch(reason::DEPTH_RANGE_INVALID, view.depth.path,
                      "a z-buffer, all in 0 to 1; are they --depth-kind metres?",
                      "values outside it");
    }
    const bool is_like_z_buffer =
        is_unit_range && *std::min_element(medians.begin(), medians.end()) > kLeastZBufferMedian;
    if (is_z_buffer_ || !is_like_z_buffer) continue;
    const std::string what = "all values lie in 0 to 1 and most above 0.9, as in a z-buffer: ";
    if (options.hdf5.depth_kind.empty()) {
      return Mismatch(reason::DEPTH_RANGE_INVALID, view.depth.path,
                      "metres; " + what + "say --depth-kind metres or z_buffer", "either");
    }
    findings_.push_back({"DEPTH_KIND_SUSPECT", what + "are they metres?", view.depth.path});
  }
  INTERLACER_ASSIGN_OR_RETURN(
      unit_m_, UnitOfMetres(depths, options.depth_unit_m, views_.front().depth.path, &findings_));
  return Status::Ok();
}

float Hdf5Views::DepthOf(float value) const {
  if (!is_z_buffer_) return value;
  // What lies at the far plane is the background, of which nothing is known.
  if (!(value >= 0 && value < 1)) return std::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(near_m_ / (1 - value * (1 - near_m_ / far_m_)));
}

StatusOr<RecordedFrame> Hdf5Views::Read(std::int64_t step, std::size_t index) const {
  const Hdf5View& view = views_[index];
  const int height = view.calibration.camera.height_px, width = view.calibration.camera.width_px;
  RecordedFrame frame;
  frame.color = {width, height, {}};
  INTERLACER_ASSIGN_OR_RETURN(frame.color.pixels, file_.ReadRow<std::uint8_t>(view.image, step));
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<float> values,
                              file_.ReadRow<float>(view.depth, step));
  frame.depth = {width, height, unit_m_, {}};
  for (const float value : values) {
    const double units = is_integer_ ? value : DepthOf(value) / unit_m_;
    frame.depth.pixels.push_back(
        units > 0 && units < kMostDepthUnits + 0.5 ? static_cast<std::uint16_t>(units + 0.5) : 0);
  }
  if (!is_z_buffer_) return frame;
  for (int v = 0; v < height / 2; ++v) {  // OpenGL's first row is the lowest
    const auto swap_rows = [&](auto& pixels, int row_size) {
      std::swap_ranges(pixels.begin() + static_cast<std::ptrdiff_t>(v) * row_size,
                       pixels.begin() + static_cast<std::ptrdiff_t>(v + 1) * row_size,
                       pixels.begin() + static_cast<std::ptrdiff_t>(height - 1 - v) * row_size);
    };
    swap_rows(frame.color.pixels, 3 * width);
    swap_rows(frame.depth.pixels, width);
  }
  return frame;
}

}  // namespace interlacer

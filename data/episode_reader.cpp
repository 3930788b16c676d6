#include "data/episode_reader.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "common/check.h"
#include "common/duration.h"
#include "common/file_io.h"
#include "common/image_codec.h"
#include "common/npy.h"
#include "common/sha256.h"
#include "common/transforms.h"
#include "data/csv.h"
#include "data/manifest.h"
#include "robots/robot_folder.h"

namespace interlacer {
namespace {

constexpr char kHashFile[] = "files.sha256";
constexpr std::size_t kHashDigits = 64;
/// Poses are stored with all digits; a matrix that differs more is not a rotation.
constexpr double kPoseTolerance = 1e-3;

/// Lines "HASH  PATH", as sha256sum writes them.
StatusOr<std::map<std::string, std::string>> ParseHashes(const std::string& text) {
  std::map<std::string, std::string> hashes;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.size() < kHashDigits + 3 || line.compare(kHashDigits, 2, "  ") != 0) {
      return Mismatch(reason::SCHEMA_INVALID, std::string(kHashFile) + ":" + std::to_string(number),
                      "64 digits, two blanks, a path", line.substr(0, 80));
    }
    hashes[line.substr(kHashDigits + 2)] = line.substr(0, kHashDigits);
  }
  return hashes;
}

Status ExpectShape(const std::string& file, const std::vector<std::int64_t>& got,
                   const std::vector<std::int64_t>& expected) {
  if (got == expected) return Status::Ok();
  const auto text = [](const std::vector<std::int64_t>& shape) {
    std::string joined = "[";
    for (std::int64_t side : shape) joined += (joined.size() > 1 ? "," : "") + std::to_string(side);
    return joined + "]";
  };
  return Mismatch(reason::SHAPE_MISMATCH, file, text(expected), text(got));
}

Status ExpectFinite(const std::string& file, const std::vector<double>& values) {
  const auto bad = std::find_if(values.begin(), values.end(),
                                [](double value) { return !std::isfinite(value); });
  if (bad == values.end()) return Status::Ok();
  return Mismatch(reason::NOT_FINITE, file, "finite numbers",
                  std::to_string(*bad) + " at index " + std::to_string(bad - values.begin()));
}

template <typename T>
StatusOr<T> AtFile(StatusOr<T> result, const std::string& file) {
  if (result.ok()) return result;
  return std::move(result.status().WithField(file));
}

StatusOr<NumberTable> ParseTable(const MotionTable& motion,
                                 const std::vector<std::uint8_t>& bytes) {
  const std::string& file = motion.file;
  if (file.ends_with(".csv")) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    INTERLACER_ASSIGN_OR_RETURN(const CsvTable csv, AtFile(ParseCsv(text), file));
    std::vector<std::string> names;
    for (const TableColumn& column : motion.columns) names.push_back(column.name);
    return AtFile(TakeColumns(csv, names), file);
  }
  INTERLACER_ASSIGN_OR_RETURN(const NpyArray array, AtFile(ParseNpy(bytes), file));
  INTERLACER_ASSIGN_OR_RETURN(std::vector<double> values, AtFile(NpyToDoubles(array), file));
  if (array.shape.size() != 2) {
    return Mismatch(reason::SHAPE_MISMATCH, file, "two dimensions",
                    std::to_string(array.shape.size()));
  }
  return NumberTable{array.shape[0], array.shape[1], std::move(values)};
}

StatusOr<NumberTable> ReadTable(const EpisodeReader& episode, const MotionTable& motion) {
  INTERLACER_ASSIGN_OR_RETURN(const auto bytes, episode.ReadFile(motion.file));
  INTERLACER_ASSIGN_OR_RETURN(NumberTable table, ParseTable(motion, bytes));
  INTERLACER_RETURN_IF_ERROR(
      ExpectShape(motion.file, {table.row_count, table.column_count},
                  {episode.step_count(), static_cast<std::int64_t>(motion.columns.size())}));
  INTERLACER_RETURN_IF_ERROR(ExpectFinite(motion.file, table.values));
  return table;
}

StatusOr<std::vector<Transform>> ReadPoses(const EpisodeReader& episode, const std::string& file) {
  INTERLACER_ASSIGN_OR_RETURN(const auto bytes, episode.ReadFile(file));
  INTERLACER_ASSIGN_OR_RETURN(const NpyArray array, AtFile(ParseNpy(bytes), file));
  INTERLACER_RETURN_IF_ERROR(ExpectShape(file, array.shape, {episode.step_count(), 4, 4}));
  INTERLACER_ASSIGN_OR_RETURN(const auto values, AtFile(NpyToDoubles(array), file));
  std::vector<Transform> poses;
  for (int step = 0; step < episode.step_count(); ++step) {
    Matrix4d matrix;
    std::copy_n(values.begin() + 16 * step, 16, matrix.begin());
    auto pose = FromMatrix(matrix, kPoseTolerance);
    if (!pose.ok()) {
      return std::move(pose.status()).WithFieldPrefix(file + "[" + std::to_string(step) + "]");
    }
    poses.push_back(*pose);
  }
  return poses;
}

}  // namespace

StatusOr<EpisodeReader> EpisodeReader::Open(const std::string& episode_dir,
                                            const EpisodeReadOptions& options) {
  EpisodeReader reader;
  reader.directory_ = episode_dir;
  reader.options_ = options;
  INTERLACER_ASSIGN_OR_RETURN(reader.manifest_, ReadManifest(episode_dir));
  INTERLACER_ASSIGN_OR_RETURN(const std::string hashes,
                              ReadTextFile(episode_dir + "/" + kHashFile));
  const std::string hash = Sha256Hex(hashes);
  if (options.verify_hashes && hash != reader.manifest_.files_sha256) {
    return Mismatch(reason::HASH_MISMATCH, kHashFile, reader.manifest_.files_sha256, hash);
  }
  INTERLACER_ASSIGN_OR_RETURN(reader.file_hashes_, ParseHashes(hashes));
  INTERLACER_RETURN_IF_ERROR(reader.LoadRobot());
  INTERLACER_RETURN_IF_ERROR(reader.LoadTables());
  return reader;
}

Status EpisodeReader::LoadRobot() {
  if (!manifest_.robot || manifest_.robot->folder.empty()) return Status::Ok();
  const std::string& folder = manifest_.robot->folder;
  auto robot = ReadRobot(directory_ + "/" + folder);
  if (!robot.ok()) return robot.status().WithFieldPrefix(folder);
  if (robot->sha256 != manifest_.robot->folder_sha256) {
    return Mismatch(reason::HASH_MISMATCH, folder, manifest_.robot->folder_sha256, robot->sha256);
  }
  robot_ = std::make_shared<const Robot>(*std::move(robot));
  return Status::Ok();
}

Status EpisodeReader::LoadTables() {
  if (manifest_.actions) {
    INTERLACER_ASSIGN_OR_RETURN(actions_, ReadTable(*this, *manifest_.actions));
  }
  if (manifest_.states) {
    INTERLACER_ASSIGN_OR_RETURN(states_, ReadTable(*this, *manifest_.states));
  }
  poses_.resize(manifest_.cameras.size());
  for (std::size_t i = 0; i < manifest_.cameras.size(); ++i) {
    if (manifest_.cameras[i].poses_file.empty()) continue;
    INTERLACER_ASSIGN_OR_RETURN(poses_[i], ReadPoses(*this, manifest_.cameras[i].poses_file));
  }
  const std::string& file = manifest_.capture_times_file;
  if (file.empty()) return Status::Ok();
  INTERLACER_ASSIGN_OR_RETURN(const auto bytes, ReadFile(file));
  INTERLACER_ASSIGN_OR_RETURN(const NpyArray array, AtFile(ParseNpy(bytes), file));
  INTERLACER_RETURN_IF_ERROR(ExpectShape(file, array.shape, {step_count(), camera_count()}));
  INTERLACER_ASSIGN_OR_RETURN(capture_times_ns_, AtFile(NpyToInt64(array), file));
  for (std::int64_t time_ns : capture_times_ns_) {
    if (time_ns < 0) {
      return Mismatch(reason::TIMESTAMP_INVALID, file, "times of 0 ns or later",
                      std::to_string(time_ns));
    }
  }
  return Status::Ok();
}

std::optional<int> EpisodeReader::FindCamera(std::string_view name) const {
  for (int i = 0; i < camera_count(); ++i) {
    if (manifest_.cameras[i].name == name) return i;
  }
  return std::nullopt;
}

EpisodeReader EpisodeReader::AsStaticViews() const {
  EpisodeReader views = *this;
  if (manifest_.kind != EpisodeKind::kMovingCamera) return views;
  views.manifest_.kind = EpisodeKind::kStaticViews;
  views.manifest_.step_count = 1;
  views.manifest_.cameras.clear();
  views.capture_times_ns_.clear();
  for (int step = 0; step < step_count(); ++step) {
    for (int camera = 0; camera < camera_count(); ++camera) {
      EpisodeCamera view = manifest_.cameras[camera];
      const std::string name = FramePath("step_%06d", step);
      view.name = camera_count() == 1 ? name : view.name + "_" + name;
      view.camera = CameraAt(step, camera);
      view.poses_file.clear();
      view.color_pattern = FramePath(view.color_pattern, step);
      view.depth_pattern = FramePath(view.depth_pattern, step);
      views.manifest_.cameras.push_back(std::move(view));
    }
  }
  views.poses_.assign(views.manifest_.cameras.size(), {});
  return views;
}

Camera EpisodeReader::CameraAt(int step, int camera) const {
  INTERLACER_CHECK(step >= 0 && step < step_count() && camera >= 0 && camera < camera_count(),
                   "step or camera outside the episode");
  Camera result = manifest_.cameras[camera].camera;
  if (!poses_[camera].empty()) result.world_from_camera = poses_[camera][step];
  return result;
}

std::int64_t EpisodeReader::CaptureTimeNs(int step, int camera) const {
  if (!capture_times_ns_.empty()) {
    return capture_times_ns_[static_cast<std::size_t>(step) * camera_count() + camera];
  }
  return ToNanoseconds(step * manifest_.step_duration_s);
}

StatusOr<std::vector<std::uint8_t>> EpisodeReader::ReadFile(
    const std::string& relative_path) const {
  INTERLACER_ASSIGN_OR_RETURN(
      auto bytes, AtFile(ReadFileBytes(directory_ + "/" + relative_path), relative_path));
  if (!options_.verify_hashes) return bytes;
  const auto listed = file_hashes_.find(relative_path);
  if (listed == file_hashes_.end()) {
    return Mismatch(reason::HASH_MISMATCH, relative_path, "a line in files.sha256", "none");
  }
  const std::string hash = Sha256Hex(bytes);
  if (hash != listed->second) {
    return Mismatch(reason::HASH_MISMATCH, relative_path, listed->second, hash);
  }
  return bytes;
}

StatusOr<std::vector<std::uint8_t>> EpisodeReader::ReadFrameBytes(const std::string& path,
                                                                  int camera) const {
  INTERLACER_ASSIGN_OR_RETURN(auto bytes, ReadFile(path));
  INTERLACER_ASSIGN_OR_RETURN(const ImageSize size, AtFile(ReadPngSize(bytes), path));
  const Camera& calibration = manifest_.cameras[camera].camera;
  if (size.width_px != calibration.width_px || size.height_px != calibration.height_px) {
    return Mismatch(
        reason::IMAGE_SIZE_MISMATCH, path,
        std::to_string(calibration.width_px) + " x " + std::to_string(calibration.height_px),
        std::to_string(size.width_px) + " x " + std::to_string(size.height_px));
  }
  return bytes;
}

StatusOr<RgbImage> EpisodeReader::ReadColor(int step, int camera) const {
  const std::string path = FramePath(manifest_.cameras[camera].color_pattern, step);
  INTERLACER_ASSIGN_OR_RETURN(const auto bytes, ReadFrameBytes(path, camera));
  return AtFile(DecodePngRgb(bytes), path);
}

StatusOr<DepthImage16> EpisodeReader::ReadRawDepth(int step, int camera) const {
  const EpisodeCamera& item = manifest_.cameras[camera];
  const std::string path = FramePath(item.depth_pattern, step);
  INTERLACER_ASSIGN_OR_RETURN(const auto bytes, ReadFrameBytes(path, camera));
  return AtFile(DecodePngDepth(bytes, item.depth_unit_m), path);
}

StatusOr<DepthImage> EpisodeReader::ReadDepth(int step, int camera) const {
  INTERLACER_ASSIGN_OR_RETURN(const DepthImage16 raw, ReadRawDepth(step, camera));
  return DepthToMeters(raw);
}

StatusOr<RgbdView> EpisodeReader::ReadView(int step, int camera) const {
  RgbdView view;
  view.camera_name = manifest_.cameras[camera].name;
  view.camera = CameraAt(step, camera);
  INTERLACER_ASSIGN_OR_RETURN(view.color, ReadColor(step, camera));
  INTERLACER_ASSIGN_OR_RETURN(view.depth, ReadDepth(step, camera));
  view.capture_time_ns = CaptureTimeNs(step, camera);
  return view;
}

StatusOr<std::string> EpisodeReader::ManifestSha256() const {
  return Sha256OfFile(directory_ + "/" + kManifestFile);
}

}  // namespace interlacer

#include "robots/robot_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>

#include "common/file_io.h"
#include "common/json.h"
#include "common/npy.h"
#include "common/sha256.h"
#include "common/values_of_bytes.h"

namespace interlacer {
namespace {

constexpr char kPointsFile[] = "surface_points.npy";
constexpr char kNormalsFile[] = "surface_normals.npy";
constexpr char kLinksFile[] = "surface_links.npy";

/// Room for a header and for three numbers of 8 bytes a point.
constexpr std::int64_t kMaxArrayBytes = 8192 + 24 * static_cast<std::int64_t>(kMaxSurfacePoints);

using Bytes = std::vector<std::uint8_t>;

struct FolderFile {
  std::string name;
  std::int64_t max_bytes;
  Bytes bytes;
};
/// In the order of the hash.
using FolderFiles = std::array<FolderFile, 4>;

FolderFiles EmptyFiles() {
  return {{{kRobotFile, kMaxJsonBytes, {}},
           {kPointsFile, kMaxArrayBytes, {}},
           {kNormalsFile, kMaxArrayBytes, {}},
           {kLinksFile, kMaxArrayBytes, {}}}};
}

std::string PathIn(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

StatusOr<FolderFiles> ReadFiles(const std::string& folder) {
  FolderFiles files = EmptyFiles();
  for (FolderFile& file : files) {
    INTERLACER_ASSIGN_OR_RETURN(file.bytes,
                                ReadFileBytes(PathIn(folder, file.name), file.max_bytes));
  }
  return files;
}

Status WriteFiles(const FolderFiles& files, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  // robot.json comes last: with it the folder is complete.
  for (std::size_t i = files.size(); i-- > 0;) {
    INTERLACER_RETURN_IF_ERROR(WriteFileAtomic(PathIn(folder, files[i].name), files[i].bytes));
  }
  return Status::Ok();
}

std::string HashOf(const FolderFiles& files) {
  Sha256 digest;
  for (const FolderFile& file : files)
    digest.Update(file.name + " " + Sha256Hex(file.bytes) + "\n");
  return digest.HexDigest();
}

/// An array of [n,3] float32 as vectors.
StatusOr<std::vector<Vec3f>> ParseVectors(const FolderFile& file) {
  auto array = ParseNpy(file.bytes);
  if (!array.ok()) return array.status();
  if (array->type != NpyType::kFloat32 || array->shape.size() != 2 || array->shape[1] != 3) {
    return Mismatch(reason::SHAPE_MISMATCH, "npy", "[n,3] float32", "another array");
  }
  return ValuesOfBytes<Vec3f>(array->data);
}

StatusOr<std::vector<std::int64_t>> ParseIndices(const FolderFile& file) {
  INTERLACER_ASSIGN_OR_RETURN(const NpyArray array, ParseNpy(file.bytes));
  if (array.shape.size() != 1) {
    return Mismatch(reason::SHAPE_MISMATCH, "npy", "[n] int64", "another array");
  }
  return NpyToInt64(array);
}

StatusOr<Robot> ParseFiles(const FolderFiles& files, const std::string& folder) {
  const std::string json_path = PathIn(folder, kRobotFile);
  const std::string_view text(reinterpret_cast<const char*>(files[0].bytes.data()),
                              files[0].bytes.size());
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document, ParseJson(text, json_path));
  auto robot = RobotFromJson(document);
  if (!robot.ok()) return std::move(robot.status()).WithFieldPrefix(json_path + ":");

  SurfacePoints& surface = robot->surface;
  auto points = ParseVectors(files[1]);
  auto normals = ParseVectors(files[2]);
  auto links = ParseIndices(files[3]);
  if (!points.ok()) return std::move(points.status()).WithField(PathIn(folder, kPointsFile));
  if (!normals.ok()) return std::move(normals.status()).WithField(PathIn(folder, kNormalsFile));
  if (!links.ok()) return std::move(links.status()).WithField(PathIn(folder, kLinksFile));
  surface = {*std::move(points), *std::move(normals), *std::move(links)};
  if (Status status = ValidateRobot(*robot); !status.ok()) {
    return std::move(status).WithFieldPrefix(folder + ":");
  }
  robot->sha256 = HashOf(files);
  return robot;
}

std::span<const float> Flat(const std::vector<Vec3f>& vectors) {
  return {reinterpret_cast<const float*>(vectors.data()), 3 * vectors.size()};
}

Bytes JsonBytes(const Robot& robot) {
  const std::string text =
      RobotToJson(robot).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return {text.begin(), text.end()};
}

StatusOr<FolderFiles> FilesOf(const Robot& robot) {
  INTERLACER_RETURN_IF_ERROR(ValidateRobot(robot));
  const auto count = static_cast<std::int64_t>(robot.surface.size());
  const std::array<std::int64_t, 2> vector_shape = {count, 3};
  const std::array<std::int64_t, 1> index_shape = {count};
  FolderFiles files = EmptyFiles();
  files[0].bytes = JsonBytes(robot);
  files[1].bytes = EncodeNpy(Flat(robot.surface.positions_m), vector_shape);
  files[2].bytes = EncodeNpy(Flat(robot.surface.normals), vector_shape);
  files[3].bytes = EncodeNpy(std::span<const std::int64_t>(robot.surface.links), index_shape);
  return files;
}

}  // namespace

StatusOr<Robot> ReadRobot(const std::string& folder) {
  INTERLACER_ASSIGN_OR_RETURN(const FolderFiles files, ReadFiles(folder));
  return ParseFiles(files, folder);
}

StatusOr<EncodedRobot> EncodeRobot(const Robot& robot) {
  INTERLACER_ASSIGN_OR_RETURN(FolderFiles files, FilesOf(robot));
  EncodedRobot encoded;
  encoded.sha256 = HashOf(files);
  for (FolderFile& file : files) encoded.files.push_back({file.name, std::move(file.bytes)});
  return encoded;
}

StatusOr<Robot> DecodeRobot(const std::vector<RobotFile>& files, const std::string& folder) {
  FolderFiles known = EmptyFiles();
  for (FolderFile& file : known) {
    const auto given = std::find_if(files.begin(), files.end(),
                                    [&](const RobotFile& f) { return f.name == file.name; });
    if (given == files.end()) {
      return NotFound(reason::FILE_NOT_FOUND, PathIn(folder, file.name) + ": no such file")
          .WithField(PathIn(folder, file.name));
    }
    if (std::ssize(given->bytes) > file.max_bytes) {
      return Mismatch(reason::SHAPE_MISMATCH, PathIn(folder, file.name),
                      "at most " + std::to_string(file.max_bytes) + " bytes",
                      std::to_string(given->bytes.size()));
    }
    file.bytes = given->bytes;
  }
  return ParseFiles(known, folder);
}

Status WriteRobot(const Robot& robot, const std::string& folder) {
  INTERLACER_ASSIGN_OR_RETURN(const FolderFiles files, FilesOf(robot));
  return WriteFiles(files, folder);
}

StatusOr<Robot> CopyRobot(const std::string& from_folder, const std::string& to_folder) {
  INTERLACER_ASSIGN_OR_RETURN(const FolderFiles files, ReadFiles(from_folder));
  INTERLACER_ASSIGN_OR_RETURN(Robot robot, ParseFiles(files, from_folder));
  INTERLACER_RETURN_IF_ERROR(WriteFiles(files, to_folder));
  return robot;
}

}  // namespace interlacer

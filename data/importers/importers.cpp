#include "data/importers/importers.h"

#include <string>

#include "common/replaceable_folder.h"
#include "data/importers/apc.h"
#include "data/importers/redwood.h"
#include "data/importers/ros2.h"
#include "data/importers/tum.h"

namespace interlacer {

const std::vector<std::string_view>& ImportFormats() {
  static const std::vector<std::string_view> formats = {"tum", "redwood", "apc", "ros2"};
  return formats;
}

StatusOr<ImportReport> ImportRecording(std::string_view format, const ImportOptions& options) {
  if (AreNested(options.source_dir, options.episode_dir)) {
    return Mismatch(
        reason::ARGUMENT_INVALID, "output",
        "a folder that neither is nor holds nor lies in the source " + options.source_dir,
        options.episode_dir);
  }
  if (format == "apc" && !options.calibration.empty()) {
    return Mismatch(reason::ARGUMENT_INVALID, "--calibration",
                    "none: cam.info.txt of apc holds camera and poses", options.calibration);
  }
  if (format == "tum") return ImportTum(options);
  if (format == "redwood") return ImportRedwood(options);
  if (format == "apc") return ImportApc(options);
  if (format == "ros2") return ImportRos2(options);
  return Mismatch(reason::ARGUMENT_INVALID, "format", "tum, redwood, apc or ros2",
                  std::string(format));
}

}  // namespace interlacer

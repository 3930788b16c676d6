#include "data/importers/importers.h"

#include <string>

#include "common/number_text.h"
#include "common/replaceable_folder.h"
#include "data/importers/apc.h"
#include "data/importers/hdf5.h"
#include "data/importers/lerobot.h"
#include "data/importers/redwood.h"
#include "data/importers/ros2.h"
#include "data/importers/tum.h"

namespace interlacer {
namespace {

[[maybe_unused]] Status NotBuilt(const std::string& what, const std::string& option) {
  return Unimplemented(reason::FEATURE_NOT_BUILT,
                       "this build reads no " + what + ": build it with " + option + "=ON")
      .WithField("format");
}

}  // namespace

const std::vector<std::string_view>& ImportFormats() {
  static const std::vector<std::string_view> formats = {"tum",  "redwood", "apc",
                                                        "ros2", "hdf5",    "lerobot"};
  return formats;
}

StatusOr<std::int64_t> CountEpisodes(std::string_view format,
                                     [[maybe_unused]] const std::string& source_dir) {
  if (format != "lerobot") {
    return Mismatch(reason::ARGUMENT_INVALID, "format", "lerobot, whose episodes have numbers",
                    std::string(format));
  }
#if INTERLACER_WITH_ARROW
  return CountLerobotEpisodes(source_dir);
#else
  return NotBuilt("LeRobot data sets", "INTERLACER_WITH_ARROW");
#endif
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
  if (format == "apc" && options.depth_unit_m) {
    return Mismatch(reason::ARGUMENT_INVALID, "--depth-unit",
                    "none: depths of apc are integers of 0.1 mm",
                    ExactNumberText(*options.depth_unit_m));
  }
  if (format == "tum") return ImportTum(options);
  if (format == "redwood") return ImportRedwood(options);
  if (format == "apc") return ImportApc(options);
  if (format == "ros2") return ImportRos2(options);
  if (format == "hdf5") {
#if INTERLACER_WITH_HDF5
    return ImportHdf5(options);
#else
    return NotBuilt("HDF5", "INTERLACER_WITH_HDF5");
#endif
  }
  if (format == "lerobot") {
#if INTERLACER_WITH_ARROW
    return ImportLerobot(options);
#else
    return NotBuilt("LeRobot data sets", "INTERLACER_WITH_ARROW");
#endif
  }
  return Mismatch(reason::ARGUMENT_INVALID, "format", "tum, redwood, apc, ros2, hdf5 or lerobot",
                  std::string(format));
}

}  // namespace interlacer

#include "data/importers/importers.h"

#include <string>

#include "common/replaceable_folder.h"
#include "data/importers/apc.h"
#include "data/importers/hdf5.h"
#include "data/importers/redwood.h"
#include "data/importers/ros2.h"
#include "data/importers/tum.h"

namespace interlacer {

const std::vector<std::string_view>& ImportFormats() {
  static const std::vector<std::string_view> formats = {"tum", "redwood", "apc", "ros2", "hdf5"};
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
  if (format == "hdf5") {
#if INTERLACER_WITH_HDF5
    return ImportHdf5(options);
#else
    return Unimplemented(reason::ARGUMENT_INVALID,
                         "this build reads no HDF5: build it with INTERLACER_WITH_HDF5=ON")
        .WithField("format");
#endif
  }
  return Mismatch(reason::ARGUMENT_INVALID, "format", "tum, redwood, apc, ros2 or hdf5",
                  std::string(format));
}

}  // namespace interlacer

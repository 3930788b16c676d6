#pragma once

/// Options that say what is what in a bag, for the verbs that read one.
///
/// Errors: INVALID_ARGUMENT ARGUMENT_INVALID. Threads: one at a time.

#include <string>
#include <vector>

#include "common/status.h"
#include "data/importers/import_options.h"

namespace CLI {
class App;
}

namespace interlacer::cli {

struct BagArguments {
  BagOptions options;
  std::vector<std::string> color, depth, camera_info;  ///< NAME=TOPIC
  double step_duration_s = 0;
};

/// `prefix` comes before the help of each, where they are for one format alone.
void AddBagOptions(CLI::App* verb, const std::string& prefix, BagArguments* arguments);
StatusOr<BagOptions> ParseBagArguments(const BagArguments& arguments);

}  // namespace interlacer::cli

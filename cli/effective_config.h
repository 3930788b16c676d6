#pragma once

/// What `--print-config` prints: the common options and those of the chosen verb, also one below
/// another, each with its value and where it came from. The text is itself a file for `--config`.
/// Pure, thread-safe.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace interlacer::cli {

/// `app` after parsing `arguments` (without the program's name). Sources are "flag", "file" and
/// "default"; an option without a value is a comment.
std::string EffectiveConfigText(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace interlacer::cli

#pragma once

/// Common parts of all verbs: shared options, the context that a verb runs in, and its
/// registration.
///
/// A verb is one file in verbs/ with one function AddX that declares its options on a subcommand
/// and stores what to run. Data goes to stdout, messages and progress to stderr.

#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>

#include "cli/exit_codes.h"
#include "cli/progress.h"
#include "common/status.h"

namespace CLI {
class App;
}

namespace interlacer::cli {

struct CommonOptions {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  std::string progress = "auto";
  std::string color = "auto";
  bool print_config = false;
};

class VerbContext {
 public:
  VerbContext(const CommonOptions& options, std::string command_line, std::stop_token stop)
      : options_(options), command_line_(std::move(command_line)), stop_(std::move(stop)) {}

  const CommonOptions& options() const { return options_; }
  /// The command line as typed, for records of how a result was made.
  const std::string& command_line() const { return command_line_; }
  const std::stop_token& stop() const { return stop_; }

  /// A line on stderr unless --quiet.
  void Message(const std::string& text) const;
  /// A line on stderr with -v only.
  void Detail(const std::string& text) const;
  /// The result on stdout: JSON with --json, else the text.
  void Result(const nlohmann::ordered_json& json, const std::string& text) const;
  std::unique_ptr<Progress> MakeProgress(const std::string& label, std::int64_t total) const;

 private:
  const CommonOptions options_;
  const std::string command_line_;
  const std::stop_token stop_;
};

/// Runs after parsing; the exit code, or the Status that is printed and mapped to one.
using VerbAction = std::function<StatusOr<ExitCode>(const VerbContext&)>;

/// What `action` returns, a Status or StatusOr; exceptions, which its libraries may throw, become
/// one.
template <typename Action>
auto WithoutExceptions(const Action& action) -> decltype(action()) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted(reason::HOST_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return Internal(error.what());
  }
}

/// Remembers which subcommand was chosen.
class VerbTable {
 public:
  void Add(const CLI::App* subcommand, VerbAction action) {
    entries_.emplace_back(subcommand, std::move(action));
  }
  /// The action of the parsed subcommand; empty when none was given.
  VerbAction Chosen() const;

 private:
  std::vector<std::pair<const CLI::App*, VerbAction>> entries_;
};

}  // namespace interlacer::cli

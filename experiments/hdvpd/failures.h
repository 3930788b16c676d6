#pragma once

/// The pieces of a comparison of variants that could not be evaluated, with the reasons. Pure
/// functions, thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace interlacer {

/// Advice to the user.
inline constexpr char kRerunHint[] = "once it is mended the same command evaluates what is missing";

struct PieceFailure {
  std::string run;        ///< name; empty for an episode that no run could open
  std::string condition;  ///< name; empty with the run
  std::string episode;    ///< id, or the folder's name where that is unknown
  std::string reason;
  std::string message;  ///< names the field or file
};

/// The failure of an episode under a run and a condition, both of which may be empty.
PieceFailure MakeFailure(std::string run, std::string_view condition, std::string episode,
                         const Status& why);

/// Whether two failures are the same error of the same run.
bool AreAlike(const PieceFailure& a, const PieceFailure& b);

/// Whether the next piece would fail in the same way: a stop, no device, no place to write.
bool EndsStudy(const Status& status);

/// A line for each run and error; a few episodes are named, of more the first and the last.
std::vector<std::string> FailureLines(const std::vector<PieceFailure>& failures);
/// All failures.
nlohmann::ordered_json FailuresToJson(const std::vector<PieceFailure>& failures);

}  // namespace interlacer

#pragma once

/// Runs another program and takes what it writes.
///
/// No shell; the search path finds the program. What it says on its error stream is kept to 4 KiB,
/// for messages. Errors: FAILED_PRECONDITION FILE_NOT_FOUND (no such program), INVALID_ARGUMENT
/// FILE_UNREADABLE with what it said (it failed), CANCELLED, those of `take`; in all cases the
/// program has ended. Thread-safe.

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "common/status.h"

namespace interlacer {

/// `input_fd`: its standard input; -1: nothing. An error of `take` ends the program.
Status RunProgram(const std::vector<std::string>& arguments, int input_fd, std::stop_token stop,
                  const std::function<Status(std::span<const std::uint8_t>)>& take);

}  // namespace interlacer

#pragma once

/// Decides which folders --force may replace, and replaces them.
///
/// A folder may be replaced when it is absent, empty, or was written by this program: `marker_file`
/// in it is a JSON object whose `schema` starts with "interlacer.". Everything else is the user's.
/// Errors: FAILED_PRECONDITION OUTPUT_EXISTS, FILE_UNWRITABLE. Thread-safe.

#include <string>

#include "common/status.h"

namespace interlacer {

Status CheckReplaceable(const std::string& path, const std::string& marker_file);

/// Gives the folder `fresh` the name `path`, on the same file system; what stood there is removed.
/// Whenever the program is killed, `path` is the old or the new folder as a whole; on file systems
/// that cannot exchange names there are for a moment `old`, a name of the program's own, and
/// `fresh` alone.
Status MoveFolder(const std::string& fresh, const std::string& path, const std::string& old);

/// The same where what stands there may be replaced; `old` is `.NAME.old` beside it.
Status ReplaceFolder(const std::string& fresh, const std::string& path,
                     const std::string& marker_file);

/// Whether `path` is the folder or lies in it, links followed as far as the paths exist.
bool LiesIn(const std::string& path, const std::string& folder);

/// Whether one path lies in the other.
bool AreNested(const std::string& a, const std::string& b);

}  // namespace interlacer

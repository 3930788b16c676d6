#pragma once

/// Redirects to common/log what the libraries of the process would write to stderr by themselves,
/// in forms of their own, at every level, and waiting for ever where nobody reads a full pipe: the
/// lines of gRPC and of protobuf, and std::cerr, to which LibTorch writes.
///
/// Call once, at start, before there are other threads.

namespace interlacer {

void LogLibraryLines();

}  // namespace interlacer

#pragma once

/// The program `interlacer`: options, verbs, exit codes. Call RunCommandLine once, from main,
/// before any other thread starts.

namespace interlacer::cli {

/// Parses, runs the chosen verb, prints errors to stderr; the exit code of cli/exit_codes.h.
int RunCommandLine(int argc, char** argv);

}  // namespace interlacer::cli

#include "cli/command_line.h"

int main(int argc, char** argv) { return interlacer::cli::RunCommandLine(argc, argv); }

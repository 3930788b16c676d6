#include "cli/command_line.h"
#include "model/runtime/process_setup.h"

int main(int argc, char** argv) {
  interlacer::PrepareProcess();
  return interlacer::cli::RunCommandLine(argc, argv);
}

#include "model/runtime/process_setup.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <vector>

#include "common/process_memory.h"
#include "model/runtime/tensor_memory.h"

namespace interlacer {
namespace {

/// Re-executes the process with one more environment variable. Returns if it cannot.
void ReExecuteWith(const char* variable, char** argv) {
  if (getauxval(AT_BASE) == 0) return;  // the loader was run by hand and took its options
  // The link's target, not the link: otherwise the process would be named "exe".
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
  if (length <= 0) return;
  path[length] = '\0';
  std::vector<const char*> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) variables.push_back(*entry);
  variables.push_back(variable);
  variables.push_back(nullptr);
  execve(path, argv, const_cast<char**>(variables.data()));
}

}  // namespace

void PrepareProcess(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) ReExecuteWith("OMP_WAIT_POLICY=passive", argv);
  RetainFreedMemory();
  UseTensorMemory();
}

}  // namespace interlacer

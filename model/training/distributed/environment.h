#pragma once

/// Reads which of several training processes this one is from the environment of torchrun or
/// mpirun.
///
///   RANK, WORLD_SIZE, LOCAL_RANK             of torchrun, or
///   OMPI_COMM_WORLD_{RANK,SIZE,LOCAL_RANK}   of Open MPI's mpirun
///   MASTER_ADDR, MASTER_PORT                 address of rank 0 (torchrun sets both; with mpirun
///                                            they are passed by -x)
///   INTERLACER_RANK_TIMEOUT_S                time limit for a silent process; 600
/// None of the first six set, or a world of one: this process trains alone. torchrun's own store
/// (TORCHELASTIC_USE_AGENT_STORE, TORCHELASTIC_RESTART_COUNT) is used where it says so.
/// Errors: INVALID_ARGUMENT ARGUMENT_INVALID with the variable as field. Pure functions.

#include <functional>
#include <optional>
#include <string>

#include "common/status.h"

namespace interlacer {

struct DistributedEnvironment {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;  ///< among the processes of this machine: the index of its GPU
  std::string master_address;
  int master_port = 0;
  int timeout_s = 600;
  bool launcher_has_store = false;  ///< the launcher serves the store that rank 0 would serve
  int attempt = 0;                  ///< restarts by the launcher so far

  bool alone() const { return world_size == 1; }
};

/// Value of a variable, absent when it is not set.
using EnvironmentLookup = std::function<std::optional<std::string>(const char* name)>;

StatusOr<DistributedEnvironment> ReadDistributedEnvironment(const EnvironmentLookup& lookup);
/// Of this process.
StatusOr<DistributedEnvironment> ReadDistributedEnvironment();

}  // namespace interlacer

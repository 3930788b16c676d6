#include "model/training/distributed/environment.h"

#include <charconv>
#include <cstdlib>
#include <limits>

namespace interlacer {
namespace {

constexpr int kMaxInt = std::numeric_limits<int>::max();
constexpr int kMaxPort = 65535;

/// The variables in which a launcher passes rank, world size and local rank.
struct Launcher {
  const char *rank, *world_size, *local_rank;
};
constexpr Launcher kTorchrun{"RANK", "WORLD_SIZE", "LOCAL_RANK"};
constexpr Launcher kOpenMpi{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                            "OMPI_COMM_WORLD_LOCAL_RANK"};

std::string Range(int least, int most) {
  return "an integer from " + std::to_string(least) +
         (most == kMaxInt ? " up" : " to " + std::to_string(most));
}

StatusOr<int> ReadInt(const EnvironmentLookup& lookup, const char* name, int least, int most) {
  const std::optional<std::string> text = lookup(name);
  if (!text) return Mismatch(reason::ARGUMENT_INVALID, name, Range(least, most), "nothing");
  int value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || stop != end || value < least || value > most) {
    return Mismatch(reason::ARGUMENT_INVALID, name, Range(least, most), *text);
  }
  return value;
}

StatusOr<int> ReadIntOr(const EnvironmentLookup& lookup, const char* name, int least,
                        int fallback) {
  if (!lookup(name)) return fallback;
  return ReadInt(lookup, name, least, kMaxInt);
}

bool AnySet(const EnvironmentLookup& lookup, const Launcher& launcher) {
  return lookup(launcher.rank) || lookup(launcher.world_size);
}

Status ReadMeetingPoint(const EnvironmentLookup& lookup, DistributedEnvironment* place) {
  const std::optional<std::string> address = lookup("MASTER_ADDR");
  if (!address || address->empty()) {
    return Mismatch(reason::ARGUMENT_INVALID, "MASTER_ADDR", "the address of rank 0's machine",
                    "nothing");
  }
  place->master_address = *address;
  INTERLACER_ASSIGN_OR_RETURN(place->master_port, ReadInt(lookup, "MASTER_PORT", 1, kMaxPort));
  const std::optional<std::string> store = lookup("TORCHELASTIC_USE_AGENT_STORE");
  place->launcher_has_store = store && (*store == "True" || *store == "1");
  INTERLACER_ASSIGN_OR_RETURN(place->attempt,
                              ReadIntOr(lookup, "TORCHELASTIC_RESTART_COUNT", 0, 0));
  return Status::Ok();
}

}  // namespace

StatusOr<DistributedEnvironment> ReadDistributedEnvironment(const EnvironmentLookup& lookup) {
  DistributedEnvironment place;
  const Launcher& launcher = AnySet(lookup, kTorchrun) ? kTorchrun : kOpenMpi;
  if (!AnySet(lookup, launcher)) return place;
  INTERLACER_ASSIGN_OR_RETURN(place.world_size, ReadInt(lookup, launcher.world_size, 1, kMaxInt));
  INTERLACER_ASSIGN_OR_RETURN(place.rank, ReadInt(lookup, launcher.rank, 0, place.world_size - 1));
  INTERLACER_ASSIGN_OR_RETURN(place.local_rank,
                              ReadIntOr(lookup, launcher.local_rank, 0, place.rank));
  INTERLACER_ASSIGN_OR_RETURN(place.timeout_s,
                              ReadIntOr(lookup, "INTERLACER_RANK_TIMEOUT_S", 1, place.timeout_s));
  if (!place.alone()) INTERLACER_RETURN_IF_ERROR(ReadMeetingPoint(lookup, &place));
  return place;
}

StatusOr<DistributedEnvironment> ReadDistributedEnvironment() {
  return ReadDistributedEnvironment([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  });
}

}  // namespace interlacer

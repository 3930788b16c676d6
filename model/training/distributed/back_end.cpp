#include "model/training/distributed/back_end.h"

#include <cstdint>
#include <exception>
#include <map>
#include <vector>

#include "model/runtime/torch_errors.h"
#include "model/runtime/torch_status.h"

namespace interlacer {
namespace {

std::string KeyOf(const char* what, int rank) { return what + std::to_string(rank); }

void Put(const DistributedEnvironment& place, const char* what, const std::string& word,
         c10d::Store* store) {
  store->set(KeyOf(what, place.rank), std::vector<std::uint8_t>(word.begin(), word.end()));
}

/// Collects the words of all ranks; waits for them.
std::vector<std::string> GetAll(const DistributedEnvironment& place, const char* what,
                                c10d::Store* store) {
  std::vector<std::string> words;
  for (int rank = 0; rank < place.world_size; ++rank) {
    const std::vector<std::uint8_t> bytes = store->get(KeyOf(what, rank));
    words.emplace_back(bytes.begin(), bytes.end());
  }
  return words;
}

/// "gloo: ranks 0, 2; nccl: ranks 1, 3"
std::string RanksOfEach(const std::vector<std::string>& back_ends) {
  std::map<std::string, std::string> ranks;
  for (std::size_t rank = 0; rank < back_ends.size(); ++rank) {
    std::string& list = ranks[back_ends[rank]];
    list += (list.empty() ? "" : ", ") + std::to_string(rank);
  }
  std::string text;
  for (const auto& [back_end, list] : ranks) {
    text += (text.empty() ? "" : "; ") + back_end + ": ranks " + list;
  }
  return text;
}

bool AllEqual(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word != words.front()) return false;
  }
  return true;
}

}  // namespace

void CheckEqualBackEnds(const DistributedEnvironment& place, const std::string& back_end,
                        c10d::Store* store) {
  std::vector<std::string> back_ends;
  try {
    Put(place, "back_end/", back_end, store);
    back_ends = GetAll(place, "back_end/", store);
    if (!AllEqual(back_ends)) {
      // Rank 0 may serve the store, so it stays until the others have read.
      Put(place, "back_end_read/", "yes", store);
      if (place.rank == 0) GetAll(place, "back_end_read/", store);
    }
  } catch (const std::exception& error) {
    throw StatusException(
        Internal("rank " + std::to_string(place.rank) + " of " + std::to_string(place.world_size) +
                 ", comparing back ends: another process of the run ended or did "
                 "not answer within " +
                 std::to_string(place.timeout_s) + " s: " + FirstLine(error.what())));
  }
  if (AllEqual(back_ends)) return;
  throw StatusException(
      FailedPrecondition(reason::DEVICE_ABSENT,
                         "device: expected one back end on all ranks of the run, got " +
                             RanksOfEach(back_ends) +
                             "; give every rank a GPU and NCCL, or choose cpu on all")
          .WithField("device"));
}

}  // namespace interlacer

#pragma once

/// Draws the sequences to come while the current one is trained on, and hands them over in order.
///
/// A device takes a sequence in less time than a core needs to decode one, so there several are
/// drawn at once. Errors: those of SampleSource::Draw, for the sequence that has them. Threads: one
/// caller; the destructor waits for draws under way.

#include <cstdint>
#include <deque>
#include <functional>
#include <future>

#include "common/status.h"
#include "model/training/sample_source.h"

namespace interlacer {

class SamplePrefetcher {
 public:
  /// The request of the n-th sequence, n = 0, 1, ...
  using RequestOf = std::function<SampleRequest(std::int64_t number)>;

  /// `ahead` >= 1: draws under way at once. `source` outlives it.
  SamplePrefetcher(SampleSource* source, RequestOf request_of, int ahead);
  StatusOr<TrainingSample> Take();

 private:
  void Fill();

  SampleSource* source_;
  RequestOf request_of_;
  std::size_t ahead_;
  std::int64_t next_number_ = 0;
  std::deque<std::future<StatusOr<TrainingSample>>> pending_;
};

}  // namespace interlacer

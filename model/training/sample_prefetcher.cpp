#include "model/training/sample_prefetcher.h"

#include <utility>

#include "common/check.h"

namespace interlacer {

SamplePrefetcher::SamplePrefetcher(SampleSource* source, RequestOf request_of, int ahead)
    : source_(source), request_of_(std::move(request_of)), ahead_(static_cast<std::size_t>(ahead)) {
  INTERLACER_CHECK(ahead >= 1, "at least one sequence is drawn at a time");
}

StatusOr<TrainingSample> SamplePrefetcher::Take() {
  Fill();
  StatusOr<TrainingSample> sample = pending_.front().get();
  pending_.pop_front();
  Fill();
  return sample;
}

void SamplePrefetcher::Fill() {
  while (pending_.size() < ahead_) {
    pending_.push_back(std::async(std::launch::async, [this, request = request_of_(next_number_)] {
      return source_->Draw(request);
    }));
    ++next_number_;
  }
}

}  // namespace interlacer

#pragma once

/// A response sink without a connection: what waits in it, and since when, is set by the test.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "server/calls/response_sink.h"

namespace interlacer::testing {

class FakeSink final : public ResponseSink {
 public:
  void SetListener(std::shared_ptr<SinkListener>) override {}
  bool HasRoom() const override { return true; }
  void Send(grpc::ByteBuffer) override {}
  void Finish(const Status& status) override {
    end = status;
    ++finish_count;
  }
  void FinishWith(grpc::ByteBuffer) override { ++finish_count; }
  void Abort() override { ++abort_count; }
  std::int64_t sent_bytes() const override { return waiting_bytes; }
  std::int64_t unsent_bytes() const override { return waiting_bytes; }
  std::optional<std::chrono::steady_clock::time_point> stalled_since() const override {
    return waiting_since;
  }

  std::int64_t waiting_bytes = 0;
  std::optional<std::chrono::steady_clock::time_point> waiting_since;
  Status end;
  /// Statuses that left.
  std::atomic<int> finish_count{0};
  std::atomic<int> abort_count{0};
};

}  // namespace interlacer::testing

/// Thousands of calls of every kind leave nothing behind.

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/rollout_call.h"

namespace interlacer::testing {
namespace {

/// The first one is not counted.
constexpr int kRounds = 5;
constexpr int kClients = 4;
constexpr int kCallsPerClient = 125;
/// From one pair of rounds to the next are a thousand calls, more than half of them predictions.
constexpr std::int64_t kMostGrowthBytes = 1 << 20;

struct Holdings {
  std::int64_t heap_bytes = 0;
  std::int64_t threads = 0;
  std::int64_t descriptors = 0;
};

/// What two moments have in common: less is a chance of the moment, more stays.
Holdings LeastOf(const Holdings& a, const Holdings& b) {
  return {std::min(a.heap_bytes, b.heap_bytes), std::min(a.threads, b.threads),
          std::min(a.descriptors, b.descriptors)};
}

std::int64_t EntriesOf(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

Holdings HeldNow() {
  return {static_cast<std::int64_t>(mallinfo2().uordblks), EntriesOf("/proc/self/task"),
          EntriesOf("/proc/self/fd")};
}

/// Good, refused, cancelled and timed out calls in turn, over a connection of its own.
void CallOften(int port, unsigned seed) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub = v1::InterlacerService::NewStub(grpc::CreateCustomChannel(
      "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), arguments));
  auto refused = MakeRolloutRequest(1);
  refused.mutable_source()
      ->mutable_scene_input()
      ->mutable_observations(0)
      ->mutable_views(0)
      ->mutable_color()
      ->set_data("x");
  const auto scene = MakeSceneRequest<v1::ValidateSceneRequest>();
  std::mt19937 random(seed);
  for (int i = 0; i < kCallsPerClient; ++i) {
    grpc::ClientContext context;
    const unsigned kind = random() % 7;
    const bool is_short = kind == 6;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(is_short ? random() % 3 : 20'000));
    if (kind <= 2 || is_short) {
      auto reader = stub->PredictRollout(&context, kind == 1 ? refused : MakeRolloutRequest(3));
      v1::PredictRolloutResponse message;
      while (reader->Read(&message)) {
        if (kind == 2) context.TryCancel();
      }
      const grpc::Status status = reader->Finish();
      if (kind == 0) {
        EXPECT_TRUE(status.ok()) << status.error_message();
      }
      if (kind == 1) {
        EXPECT_EQ(ReadDetails(status).info.reason(), "IMAGE_DATA_LENGTH");
      }
    } else if (kind == 3) {
      v1::ValidateSceneResponse response;
      EXPECT_TRUE(stub->ValidateScene(&context, scene, &response).ok());
    } else if (kind == 4) {
      v1::GetServerInfoResponse response;
      EXPECT_TRUE(stub->GetServerInfo(&context, {}, &response).ok());
    } else {
      v1::GetModelMetadataResponse response;
      EXPECT_TRUE(stub->GetModelMetadata(&context, {}, &response).ok());
    }
  }
}

// fm-33
TEST(Soak, ThousandsOfCallsLeaveNothing) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's allocator keeps what is freed";
#endif
  auto fixture = ServingServer();
  std::array<Holdings, kRounds> held;
  for (int round = 0; round < kRounds; ++round) {
    {
      std::vector<std::jthread> clients;
      for (int client = 0; client < kClients; ++client) {
        clients.emplace_back(CallOften, fixture->server->port(), kClients * round + client);
      }
    }
    ASSERT_TRUE(WaitUntil([&] { return IsIdle(*fixture); }));
    // Connections and threads of the clients go a moment after their calls.
    WaitUntil([&] { return round > 0 && HeldNow().descriptors <= held[0].descriptors; }, 1);
    held[round] = HeldNow();
  }
  const Holdings before = LeastOf(held[1], held[2]), after = LeastOf(held[3], held[4]);
  EXPECT_LE(after.heap_bytes - before.heap_bytes, kMostGrowthBytes);
  EXPECT_LE(after.threads - before.threads, 2);
  EXPECT_LE(after.descriptors - before.descriptors, 4);
  EXPECT_EQ(fixture->controls->live_rollouts, 0);
}

}  // namespace
}  // namespace interlacer::testing

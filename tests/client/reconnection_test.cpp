/// What a Client does while its server comes and goes.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "client/interlacer_client.h"
#include "interlacer/v1/interlacer_service.grpc.pb.h"
#include "tests/client/service_test.h"
#include "tests/support/fake_predictor.h"
#include "tests/support/must.h"

namespace interlacer::testing {
namespace {

/// Refuses the first call of each kind as a server that drains does, then answers.
class DrainingOnceService : public v1::InterlacerService::Service {
 public:
  grpc::Status ValidateScene(grpc::ServerContext*, const v1::ValidateSceneRequest*,
                             v1::ValidateSceneResponse*) override {
    return Answer(&validate_calls);
  }
  grpc::Status CreateScene(grpc::ServerContext*, const v1::CreateSceneRequest*,
                           v1::CreateSceneResponse*) override {
    return Answer(&create_calls);
  }
  grpc::Status UpdateScene(grpc::ServerContext*, const v1::UpdateSceneRequest*,
                           v1::UpdateSceneResponse*) override {
    return Answer(&update_calls);
  }
  grpc::Status PredictRollout(grpc::ServerContext*, const v1::PredictRolloutRequest*,
                              grpc::ServerWriter<v1::PredictRolloutResponse>* writer) override {
    const grpc::Status status = Answer(&predict_calls);
    if (!status.ok()) return status;
    v1::PredictRolloutResponse response;
    response.mutable_summary();
    writer->Write(response);
    return status;
  }

  std::atomic<int> validate_calls{0};
  std::atomic<int> create_calls{0};
  std::atomic<int> update_calls{0};
  std::atomic<int> predict_calls{0};

 private:
  static grpc::Status Answer(std::atomic<int>* calls) {
    return ++*calls > 1 ? grpc::Status::OK : grpc::Status(grpc::StatusCode::UNAVAILABLE, "later");
  }
};

using ClientRetry = ServiceTest<DrainingOnceService>;

TEST_F(ClientRetry, LargeRequestsAreSentAgain) {
  // Four frames of 320 x 240 pixels, colour and depth: more than 1 MiB.
  const SceneInput input = FakeSceneInput(FakeMetadata(320, 240));
  Must(client_->ValidateScene(input, call_));
  EXPECT_EQ(service_.validate_calls, 2);
  Must(client_->PredictRollout(
      input, {}, {}, [](PredictedStep) { return Status::Ok(); }, call_));
  EXPECT_EQ(service_.predict_calls, 2);
}

/// The server may have done it, and its answer be lost. A scene that was made twice ends by itself.
TEST_F(ClientRetry, AnUpdateIsSentOnce) {
  const SceneInput input = FakeSceneInput();
  Must(client_->CreateScene(input, 0, call_));
  EXPECT_EQ(client_->UpdateScene("scene", input.observations[1], {}, call_).status().code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(service_.create_calls, 2);
  EXPECT_EQ(service_.update_calls, 1);
}

/// A port of loopback that takes connections and hangs up, as a server behind a proxy that is not
/// up yet.
class HangingUpPort {
 public:
  HangingUpPort() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] {
      for (int caller; (caller = ::accept(socket_, nullptr, nullptr)) >= 0; ++count_) {
        ::close(caller);
      }
    });
  }
  ~HangingUpPort() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }

  int port() const { return port_; }
  int connection_count() const { return count_; }

 private:
  const int socket_;
  int port_ = 0;
  std::atomic<int> count_{0};
  std::jthread thread_;
};

TEST(ClientReconnection, IsTriedAboutEverySecond) {
  // Pauses of 0.8 s, give or take a fifth, reach the fifth attempt after 3.9 s at most; those
  // that grow by 1.6 each time, as gRPC's own do, after 7.4 s at least.
  constexpr int kAttempts = 5;
  constexpr double kLimitS = 6.5;
  HangingUpPort port;
  const auto client = *Client::Create({.address = "127.0.0.1:" + std::to_string(port.port())});
  CallOptions call;
  call.deadline_s = kLimitS;
  call.wait_for_ready = true;
  std::stop_source enough;
  call.stop = enough.get_token();
  std::jthread watch([&](const std::stop_token& over) {
    while (!over.stop_requested() && port.connection_count() < kAttempts) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    enough.request_stop();
  });
  const Status status = client->GetServerInfo(call).status();
  EXPECT_EQ(status.code(), StatusCode::kCancelled) << status.ToString();
  EXPECT_GE(port.connection_count(), kAttempts);
}

}  // namespace
}  // namespace interlacer::testing

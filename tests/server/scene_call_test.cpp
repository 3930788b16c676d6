/// The life of one call with frames, apart from the library: what its end frees.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "server/calls/server_context.h"
#include "server/calls/update_scene_call.h"
#include "server/calls/validate_call.h"
#include "tests/support/fake_sink.h"
#include "tests/support/in_process_server.h"
#include "tests/support/wire_requests.h"

namespace interlacer::testing {
namespace {

constexpr std::int64_t kReservedBytes = 1000;

class SceneCallTest : public ::testing::Test {
 protected:
  SceneCallTest()
      : models_({}), context_{limits_, "instance", state_,   models_,     worker_, decoders_,
                              frames_, memory_,    metrics_, statistics_, calls_,  scenes_} {}

  /// A call whose frames wait for the pool.
  std::shared_ptr<ValidateCall> MakeCall() {
    AdmittedScene admitted;
    admitted.model = &model_;
    admitted.scene_input = MakeSceneInput();
    admitted.payloads = PixelPayloads(&admitted.scene_input);
    admitted.checked =
        *CheckSceneInput(admitted.scene_input, admitted.payloads, model_.metadata, limits_);
    admitted.checked.is_raw = false;
    admitted.deadline = Clock::now() + std::chrono::seconds(60);
    admitted.memory = *memory_.Reserve(kReservedBytes, /*is_urgent=*/true);
    return std::make_shared<ValidateCall>(context_, CallRecord{}, std::move(admitted), &sink_);
  }

  const Limits limits_;
  Metrics metrics_;
  ModelStatistics statistics_;
  ServerStateMachine state_{[](ServerState) {}};
  ModelRegistry models_;
  MemoryBudget memory_{2 * kReservedBytes};
  CallRegistry calls_;
  const ServedModel model_{std::make_unique<FakePredictor>(), FakeMetadata(),
                           std::make_unique<MeasuredCosts>(FakeMetadata(), Clock::now())};
  FakeSink sink_;
  Gate decoder_gate_;
  const ServerContext context_;
  DeviceWorker worker_{2, 2};
  SceneStore scenes_{1, 1 << 20, [](std::shared_ptr<const Scene>) {}, [](const char*) {}};
  FramePool frames_{4, 1 << 20};
  DecodePool decoders_{1};
};

TEST_F(SceneCallTest, CancelledBeforeItsTurnIsNotDecodedAndHoldsNothing) {
  SceneInput kept;
  kept.seed = 77;
  kept.observations.resize(1);
  frames_.Give(kept);
  decoder_gate_.Close();
  decoders_.Post(9, nullptr, [this] { decoder_gate_.Pass(); });
  ASSERT_TRUE(decoder_gate_.WaitForUnit());
  auto call = MakeCall();
  call->Start();
  EXPECT_EQ(memory_.used_bytes(), kReservedBytes);
  call->OnClientGone();
  EXPECT_EQ(sink_.finish_count, 1);
  EXPECT_EQ(memory_.used_bytes(), 0);
  std::weak_ptr<ValidateCall> in_pool = call;
  call.reset();
  EXPECT_TRUE(in_pool.expired()) << "its task waits on in the pool";
  decoder_gate_.Open();
  EXPECT_EQ(frames_.Take().seed, 77) << "the decoder took frames for a call that had ended";
}

TEST_F(SceneCallTest, ResetForAReaderThatStoppedIsNotTakenForAClientThatWent) {
  decoder_gate_.Close();
  decoders_.Post(9, nullptr, [this] { decoder_gate_.Pass(); });
  ASSERT_TRUE(decoder_gate_.WaitForUnit());
  auto call = MakeCall();
  call->Start();
  call->OnReset();
  // What a reset makes of the client; the sink, whose write has failed, waits for nobody any more.
  call->OnClientGone();
  EXPECT_EQ(sink_.finish_count, 1);
  EXPECT_EQ(sink_.end.reason(), reason::SLOW_READER);
  decoder_gate_.Open();
}

TEST_F(SceneCallTest, ResetAfterItsLastUnitIsNoAnswer) {
  const auto call = MakeCall();
  call->OnReset();
  call->End(Status::Ok());
  EXPECT_EQ(sink_.finish_count, 1);
  EXPECT_EQ(sink_.end.reason(), reason::SLOW_READER);
}

/// Such as that of a client that does not read.
TEST_F(SceneCallTest, AnAnsweredUpdateKeepsNothingOfTheSceneBefore) {
  constexpr double kTtlS = 60;
  const Clock::time_point now = Clock::now();
  wire::SceneInput first = MakeSceneInput();
  wire::Observation next = first.observations(1);
  const PixelPayloads payloads(&first);
  SceneInput decoded;
  ASSERT_TRUE(DecodeSceneInput(first, payloads, model_.metadata, false, &decoded).ok());
  const SceneContent content{&model_,
                             Must(model_.predictor->Lift(decoded)),
                             Must(CheckSceneInput(first, payloads, model_.metadata, limits_)),
                             {}};
  const std::string id = Must(scenes_.Keep(Must(scenes_.TakePlace(now)), content, kTtlS, now));
  const std::int64_t bytes_of_one = scenes_.used_bytes();

  AdmittedScene admitted;
  admitted.model = &model_;
  for (wire::RgbdView& view : *next.mutable_views()) {
    view.mutable_capture_time()->set_seconds(101);
    view.mutable_capture_time()->set_nanos(0);
  }
  admitted.payloads = PixelPayloads(&next);
  wire::ActionSequence row;
  *row.mutable_joint_positions() = MakeJoints(1, 0.05f, 0);
  admitted.checked = Must(CheckNextObservation(next, row, admitted.payloads, model_.metadata,
                                               limits_, content.checked));
  *admitted.scene_input.add_observations() = std::move(next);
  admitted.field = "observation";
  admitted.deadline = now + std::chrono::seconds(60);
  const auto call = std::make_shared<UpdateSceneCall>(context_, CallRecord{}, std::move(admitted),
                                                      id, Must(scenes_.Find(id, now)), &sink_);
  call->Start();
  ASSERT_TRUE(WaitUntil([&] { return sink_.finish_count == 1; }));
  EXPECT_TRUE(sink_.end.ok()) << sink_.end.ToString();
  EXPECT_EQ(scenes_.used_bytes(), bytes_of_one);
}

TEST_F(SceneCallTest, IsDecodedAndAnswered) {
  auto call = MakeCall();
  call->Start();
  EXPECT_TRUE(WaitUntil([&] { return sink_.finish_count == 1; }));
}

}  // namespace
}  // namespace interlacer::testing

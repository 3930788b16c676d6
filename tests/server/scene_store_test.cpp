/// Scenes that are kept: places, memory, time to live, deletion, and who frees them.

#include "server/calls/scene_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/calls/device_worker.h"
#include "tests/support/fake_predictor.h"
#include "tests/support/in_process_server.h"

namespace interlacer::testing {
namespace {

constexpr std::int64_t kSceneBytes = 100;
constexpr double kTtlS = 10;

class SceneStoreTest : public ::testing::Test {
 protected:
  SceneStoreTest() { controls_->scene_bytes = kSceneBytes; }

  SceneContent Content() const {
    SceneContent content;
    content.scene = std::make_shared<FakeScene>(controls_);
    return content;
  }
  /// Keeps a scene; "" when it is refused.
  std::string Keep(double time_s = 0, double ttl_s = kTtlS) {
    auto place = store_.TakePlace(At(time_s));
    if (!place.ok()) return "";
    auto id = store_.Keep(*std::move(place), Content(), ttl_s, At(time_s));
    return id.ok() ? *id : "";
  }
  bool Has(const std::string& id, double time_s = 0) { return store_.Find(id, At(time_s)).ok(); }
  Clock::time_point At(double seconds) const {
    return start_ +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  const Clock::time_point start_ = Clock::now();
  const std::shared_ptr<FakeControls> controls_ = std::make_shared<FakeControls>();
  std::map<std::string, int> evicted_;
  SceneStore store_{3, 5 * kSceneBytes, [](std::shared_ptr<const Scene>) {},
                    [this](const char* cause) { ++evicted_[cause]; }};
};

TEST_F(SceneStoreTest, IdsAreLongDifferentAndFindTheirScene) {
  const std::string a = Keep(), b = Keep();
  EXPECT_EQ(a.size(), 32u);
  EXPECT_EQ(a.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(a, b);
  EXPECT_NE((*store_.Find(a, At(0)))->scene, (*store_.Find(b, At(0)))->scene);
  EXPECT_EQ(store_.count(), 2);
  EXPECT_EQ(store_.used_bytes(), 2 * kSceneBytes);
}

TEST_F(SceneStoreTest, UnknownIdsAreNotFoundAndNotSaidAgain) {
  const Status status = store_.Find("secret", At(0)).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.reason(), reason::SCENE_NOT_FOUND);
  EXPECT_EQ(status.field(), "scene_id");
  EXPECT_EQ(status.ToString().find("secret"), std::string::npos);
}

TEST_F(SceneStoreTest, ExpireOnceUnusedForTheirTime) {
  const std::string id = Keep();
  EXPECT_TRUE(Has(id, 9));  // which is a use, now by the clock
  store_.DropExpired(Clock::now() + std::chrono::seconds(5));
  EXPECT_EQ(store_.count(), 1);
  store_.DropExpired(Clock::now() + std::chrono::seconds(11));
  EXPECT_EQ(store_.count(), 0);
  EXPECT_EQ(store_.Find(id, Clock::now()).status().reason(), reason::SCENE_NOT_FOUND);
  EXPECT_EQ(evicted_["expired"], 1);
  EXPECT_EQ(controls_->live_scenes, 0);
}

TEST_F(SceneStoreTest, DoNotExpireInUse) {
  const std::string id = Keep(0, kTtlS);
  auto lease = store_.Find(id, At(0));
  store_.DropExpired(At(10 * kTtlS));
  EXPECT_EQ(store_.count(), 1);
  lease = Status(StatusCode::kCancelled, "", "");
  store_.DropExpired(Clock::now() + std::chrono::seconds(9));
  EXPECT_EQ(store_.count(), 1) << "the time runs from the end of the use";
  store_.DropExpired(Clock::now() + std::chrono::seconds(11));
  EXPECT_EQ(store_.count(), 0);
}

TEST_F(SceneStoreTest, DeletedTwiceIsFineAndUsersKeepTheContent) {
  const std::string id = Keep();
  auto lease = *store_.Find(id, At(0));
  store_.Delete(id);
  store_.Delete(id);
  store_.Delete("");
  EXPECT_FALSE(Has(id));
  EXPECT_EQ(evicted_["deleted"], 1);
  EXPECT_EQ(controls_->live_scenes, 1);
  EXPECT_EQ(store_.used_bytes(), kSceneBytes) << "what is used still takes memory";
  lease.reset();
  EXPECT_EQ(controls_->live_scenes, 0);
  EXPECT_EQ(store_.used_bytes(), 0);
}

TEST_F(SceneStoreTest, PlacesCountBeforeTheirScenesAndComeBack) {
  auto a = store_.TakePlace(At(0)), b = store_.TakePlace(At(0));
  ASSERT_TRUE(a.ok() && b.ok());
  const std::string kept = Keep();
  ASSERT_NE(kept, "");
  const Status full = store_.TakePlace(At(0)).status();
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(full.reason(), reason::SCENE_LIMIT);
  EXPECT_EQ(full.metadata().at("limit"), "3");
  EXPECT_EQ(full.metadata().at("got"), "4");
  { const SceneStore::Place given_back = *std::move(a); }
  EXPECT_NE(Keep(), "");
  store_.Delete(kept);
  EXPECT_NE(Keep(), "");
  EXPECT_EQ(Keep(), "");
}

/// Two that hold one scene each never count as three, at no moment.
TEST_F(SceneStoreTest, AKeptSceneIsCountedOnce) {
  SceneStore store(
      2, 1 << 20, [](std::shared_ptr<const Scene>) {}, [](const char*) {});
  std::atomic<int> refused{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        auto place = store.TakePlace(start_);
        if (!place.ok()) {
          ++refused;
          continue;
        }
        store.Delete(*store.Keep(*std::move(place), Content(), kTtlS, start_));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(refused, 0);
}

TEST_F(SceneStoreTest, ExpiredScenesMakeRoom) {
  for (int i = 0; i < 3; ++i) ASSERT_NE(Keep(0), "");
  EXPECT_EQ(Keep(kTtlS / 2), "");
  EXPECT_NE(Keep(2 * kTtlS), "");
  EXPECT_EQ(store_.count(), 1);
}

TEST_F(SceneStoreTest, MemoryIsBounded) {
  ASSERT_NE(Keep(), "");
  controls_->scene_bytes = 4 * kSceneBytes + 1;
  auto place = *store_.TakePlace(At(0));
  const Status status = store_.Keep(std::move(place), Content(), kTtlS, At(0)).status();
  EXPECT_EQ(status.reason(), reason::SCENE_LIMIT);
  EXPECT_EQ(status.metadata().at("limit"), std::to_string(5 * kSceneBytes));
  EXPECT_EQ(status.metadata().at("got"), std::to_string(5 * kSceneBytes + 1));
  EXPECT_EQ(store_.used_bytes(), kSceneBytes);
  controls_->scene_bytes = kSceneBytes;
  EXPECT_NE(Keep(), "") << "the refused scene left no place taken";
  EXPECT_NE(Keep(), "");
}

TEST_F(SceneStoreTest, TheLongestIdleGoesFirstForMemory) {
  const std::string old_used = Keep(), oldest = Keep(), newest = Keep();
  ASSERT_TRUE(store_.Find(oldest, At(0)).ok());
  ASSERT_TRUE(store_.Find(newest, At(0)).ok());
  const auto in_use = store_.Find(old_used, At(0));
  EXPECT_TRUE(store_.DropIdle());
  EXPECT_FALSE(Has(oldest));
  EXPECT_TRUE(store_.DropIdle());
  EXPECT_FALSE(Has(newest));
  EXPECT_FALSE(store_.DropIdle()) << "scenes in use stay";
  EXPECT_TRUE(Has(old_used));
  EXPECT_EQ(evicted_["memory"], 2);
}

TEST_F(SceneStoreTest, ReplacedUnderTheSameNameOnce) {
  const std::string id = Keep();
  const auto before = *store_.Find(id, At(0));
  SceneContent next = Content();
  const Scene* scene = next.scene.get();
  const auto ttl_s = Must(store_.Replace(id, before, std::move(next)));
  EXPECT_EQ(ttl_s, kTtlS);
  EXPECT_EQ((*store_.Find(id, At(0)))->scene.get(), scene);
  EXPECT_NE(before->scene.get(), scene);
  EXPECT_EQ(store_.Replace(id, before, Content()).status().reason(), reason::HISTORY_SPACING);
  store_.Delete(id);
  EXPECT_EQ(store_.Replace(id, before, Content()).status().reason(), reason::SCENE_NOT_FOUND);
  EXPECT_EQ(store_.count(), 0);
}

/// What a worker frees, it frees on its own thread, whoever was the last to need it.
TEST(SceneRelease, IsOnTheWorkersThread) {
  const auto controls = std::make_shared<FakeControls>();
  DeviceWorker worker(1, 1);
  SceneStore store(
      2, 1 << 20, [&worker](std::shared_ptr<const Scene> scene) { worker.Free(std::move(scene)); },
      [](const char*) {});
  SceneContent content;
  content.scene = std::make_shared<FakeScene>(controls);
  const std::string id =
      *store.Keep(*store.TakePlace(Clock::now()), std::move(content), kTtlS, Clock::now());
  content = {};
  auto lease = *store.Find(id, Clock::now());
  store.Delete(id);
  std::jthread user([&] { lease.reset(); });
  ASSERT_TRUE(WaitUntil([&] { return controls->live_scenes == 0; }));
  EXPECT_NE(controls->freeing_thread.load(), user.get_id());
  EXPECT_NE(controls->freeing_thread.load(), std::this_thread::get_id());
}

// fm-32
TEST(SceneRelease, ManyThreadsUseOneStore) {
  const auto controls = std::make_shared<FakeControls>();
  std::atomic<int> evicted{0};
  {
    DeviceWorker worker(1, 1);
    SceneStore store(
        4, 1 << 20,
        [&worker](std::shared_ptr<const Scene> scene) { worker.Free(std::move(scene)); },
        [&evicted](const char*) { ++evicted; });
    std::atomic<int> kept{0};
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
          for (int i = 0; i < 200; ++i) {
            auto place = store.TakePlace(Clock::now());
            if (!place.ok()) continue;
            SceneContent content;
            content.scene = std::make_shared<FakeScene>(controls);
            const auto id = store.Keep(*std::move(place), std::move(content), 1e-4, Clock::now());
            ++kept;
            auto lease = store.Find(*id, Clock::now());
            if (i % 3 == 0) store.Delete(*id);
            if (i % 5 == 0) store.DropIdle();
            store.DropExpired(Clock::now());
          }
        });
      }
    }
    store.DropExpired(Clock::now() + std::chrono::seconds(1));
    EXPECT_EQ(store.count(), 0);
    EXPECT_EQ(store.used_bytes(), 0);
    EXPECT_EQ(evicted, kept);
  }
  EXPECT_EQ(controls->live_scenes, 0);
}

}  // namespace
}  // namespace interlacer::testing

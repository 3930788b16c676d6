#pragma once

/// Keeps lifted scenes for later calls, under names that cannot be guessed.
///
/// A place is taken before a scene is lifted. A scene stays until it is deleted or has not been
/// used for its time to live; a call that uses it keeps it from expiring, and keeps its content
/// whatever becomes of the name. The lifted state is handed to `release` as soon as nobody needs
/// it, which frees it where device state is freed. Ids are valid in one process only and never part
/// of a message. Thread-safe; times are those of one steady clock.
/// Errors: NOT_FOUND SCENE_NOT_FOUND; RESOURCE_EXHAUSTED SCENE_LIMIT with `got` and `limit`.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "common/scene.h"
#include "common/status.h"
#include "server/convert/scene_input.h"
#include "server/models/model_registry.h"

namespace interlacer {

/// What calls need of a scene. Immutable.
struct SceneContent {
  const ServedModel* model = nullptr;
  std::shared_ptr<const Scene> scene;
  /// Of the request that made it: history, workspace, times.
  CheckedScene checked;
  /// Of that request: seed, workspace and depth range; without observations and history.
  SceneInput settings;
};

/// A use of a scene, from Find until the last copy is gone.
using SceneLease = std::shared_ptr<const SceneContent>;

class SceneStore {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Release = std::function<void(std::shared_ptr<const Scene>)>;
  /// Why a scene went: "expired", "memory" or "deleted".
  using OnEvicted = std::function<void(const char* cause)>;

  /// A place that is held for a scene; given back at destruction.
  class Place {
   public:
    Place() = default;
    explicit Place(SceneStore* store) : store_(store) {}
    Place(Place&& other) noexcept : store_(std::exchange(other.store_, nullptr)) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(store_, other.store_);
      return *this;
    }
    ~Place();

   private:
    friend class SceneStore;
    SceneStore* store_ = nullptr;
  };

  SceneStore(int max_count, std::int64_t max_bytes, Release release, OnEvicted on_evicted)
      : max_count_(max_count),
        max_bytes_(max_bytes),
        release_(std::move(release)),
        on_evicted_(std::move(on_evicted)) {}

  /// Takes a place, after expired scenes have left theirs.
  StatusOr<Place> TakePlace(Time now);
  /// Keeps a scene in the place; returns its id.
  StatusOr<std::string> Keep(Place place, SceneContent content, double time_to_live_s, Time now);
  /// Puts `content` in the place of what `before` is a lease of; returns the time to live in
  /// seconds. INVALID_ARGUMENT HISTORY_SPACING when the scene has been replaced since.
  StatusOr<double> Replace(const std::string& id, const SceneLease& before, SceneContent content);
  StatusOr<SceneLease> Find(const std::string& id, Time now);
  /// An unknown id is no error.
  void Delete(const std::string& id);
  void DropExpired(Time now);
  /// Drops the scene that has been idle longest; false if none is idle.
  bool DropIdle();

  int count() const;
  /// Memory of all scenes, also of those that calls still use after their end.
  std::int64_t used_bytes() const { return *used_bytes_; }

 private:
  struct Entry;
  using Entries = std::map<std::string, std::shared_ptr<Entry>>;

  std::shared_ptr<Entry> MakeEntry(SceneContent content, double time_to_live_s);
  /// All below require the lock. What they return is destroyed after it is released.
  Status CheckBytes(const SceneContent& content, std::int64_t leaving_bytes) const;
  Entries TakeExpired(Time now);
  void CountEvicted(const Entries& evicted, const char* cause) const;

  const int max_count_;
  const std::int64_t max_bytes_;
  const Release release_;
  const OnEvicted on_evicted_;
  /// Shared with the entries, which leases may keep longer than the store.
  const std::shared_ptr<std::atomic<std::int64_t>> used_bytes_ =
      std::make_shared<std::atomic<std::int64_t>>(0);
  mutable std::mutex mutex_;
  Entries entries_;
  int place_count_ = 0;
};

}  // namespace interlacer

#include "server/calls/scene_store.h"

#include <utility>

#include "common/duration.h"
#include "server/calls/random_id.h"

namespace interlacer {
namespace {

Status LimitReached(const std::string& what, std::int64_t got, std::int64_t limit) {
  return ResourceExhausted(reason::SCENE_LIMIT, what + ": " + std::to_string(got) +
                                                    " with this one, the limit is " +
                                                    std::to_string(limit))
      .WithMetadata("got", std::to_string(got))
      .WithMetadata("limit", std::to_string(limit));
}

Status NoSuchScene() {
  return NotFound(reason::SCENE_NOT_FOUND,
                  "no scene has this id: it has expired, was deleted, or is of another process")
      .WithField("scene_id");
}

}  // namespace

struct SceneStore::Entry {
  Entry(SceneContent scene_content, double ttl_s, Release release_scene,
        std::shared_ptr<std::atomic<std::int64_t>> all_bytes)
      : content(std::move(scene_content)),
        time_to_live_s(ttl_s),
        bytes(content.scene->size_bytes()),
        release(std::move(release_scene)),
        used_bytes(std::move(all_bytes)) {
    *used_bytes += bytes;
  }
  ~Entry() {
    *used_bytes -= bytes;
    release(std::move(content.scene));
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  bool IsExpired(Time now) const {
    return use_count == 0 && SecondsBetween(last_use.load(), now) >= time_to_live_s;
  }

  SceneContent content;
  const double time_to_live_s;
  const std::int64_t bytes;
  const Release release;
  const std::shared_ptr<std::atomic<std::int64_t>> used_bytes;
  std::atomic<int> use_count{0};
  std::atomic<Time> last_use{Time()};
};

SceneStore::Place::~Place() {
  if (store_ == nullptr) return;
  std::lock_guard lock(store_->mutex_);
  --store_->place_count_;
}

StatusOr<SceneStore::Place> SceneStore::TakePlace(Time now) {
  Entries expired;
  std::lock_guard lock(mutex_);
  expired = TakeExpired(now);
  const int taken = static_cast<int>(entries_.size()) + place_count_;
  if (taken >= max_count_) return LimitReached("scenes", taken + 1, max_count_);
  ++place_count_;
  return Place(this);
}

StatusOr<std::string> SceneStore::Keep(Place place, SceneContent content, double time_to_live_s,
                                       Time now) {
  std::string id = NewRandomId();
  std::lock_guard lock(mutex_);
  INTERLACER_RETURN_IF_ERROR(CheckBytes(content, 0));
  const auto entry = MakeEntry(std::move(content), time_to_live_s);
  entry->last_use = now;
  entries_.emplace(id, entry);
  // In one step: nobody may count the scene and its place.
  place.store_ = nullptr;
  --place_count_;
  return id;
}

StatusOr<double> SceneStore::Replace(const std::string& id, const SceneLease& before,
                                     SceneContent content) {
  std::shared_ptr<Entry> replaced;
  std::lock_guard lock(mutex_);
  const auto it = entries_.find(id);
  if (it == entries_.end()) return NoSuchScene();
  replaced = it->second;
  if (&replaced->content != before.get()) {
    return Mismatch(reason::HISTORY_SPACING, "observation", "the one after the scene's newest",
                    "one that another call has sent meanwhile");
  }
  INTERLACER_RETURN_IF_ERROR(CheckBytes(content, replaced->bytes));
  it->second = MakeEntry(std::move(content), replaced->time_to_live_s);
  it->second->last_use = std::chrono::steady_clock::now();
  return replaced->time_to_live_s;
}

StatusOr<SceneLease> SceneStore::Find(const std::string& id, Time now) {
  Entries expired;
  std::lock_guard lock(mutex_);
  expired = TakeExpired(now);
  const auto it = entries_.find(id);
  if (it == entries_.end()) return NoSuchScene();
  const std::shared_ptr<Entry> entry = it->second;
  ++entry->use_count;
  return SceneLease(&entry->content, [entry](const SceneContent*) {
    entry->last_use = std::chrono::steady_clock::now();
    --entry->use_count;
  });
}

void SceneStore::Delete(const std::string& id) {
  Entries deleted;
  std::lock_guard lock(mutex_);
  if (auto node = entries_.extract(id)) deleted.insert(std::move(node));
  CountEvicted(deleted, "deleted");
}

void SceneStore::DropExpired(Time now) {
  Entries expired;
  std::lock_guard lock(mutex_);
  expired = TakeExpired(now);
}

bool SceneStore::DropIdle() {
  Entries dropped;
  std::lock_guard lock(mutex_);
  auto longest = entries_.end();
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (it->second->use_count > 0) continue;
    if (longest == entries_.end() ||
        it->second->last_use.load() < longest->second->last_use.load()) {
      longest = it;
    }
  }
  if (longest == entries_.end()) return false;
  dropped.insert(entries_.extract(longest));
  CountEvicted(dropped, "memory");
  return true;
}

int SceneStore::count() const {
  std::lock_guard lock(mutex_);
  return static_cast<int>(entries_.size());
}

std::shared_ptr<SceneStore::Entry> SceneStore::MakeEntry(SceneContent content,
                                                         double time_to_live_s) {
  return std::make_shared<Entry>(std::move(content), time_to_live_s, release_, used_bytes_);
}

Status SceneStore::CheckBytes(const SceneContent& content, std::int64_t leaving_bytes) const {
  const std::int64_t bytes = *used_bytes_ - leaving_bytes + content.scene->size_bytes();
  return bytes <= max_bytes_ ? Status::Ok()
                             : LimitReached("bytes of all scenes", bytes, max_bytes_);
}

SceneStore::Entries SceneStore::TakeExpired(Time now) {
  Entries expired;
  for (auto it = entries_.begin(); it != entries_.end();) {
    const auto here = it++;
    if (here->second->IsExpired(now)) expired.insert(entries_.extract(here));
  }
  CountEvicted(expired, "expired");
  return expired;
}

void SceneStore::CountEvicted(const Entries& evicted, const char* cause) const {
  for (std::size_t i = 0; i < evicted.size(); ++i) on_evicted_(cause);
}

}  // namespace interlacer

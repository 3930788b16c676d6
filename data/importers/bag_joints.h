#pragma once

/// A robot's joints in a bag, in the order of the robot's columns.
///
/// Without end effectors in the options every column is measured.
/// Errors: INVALID_ARGUMENT ACTION_SHAPE naming the joints that no topic has, ARGUMENT_INVALID.
/// Threads: const methods may run together.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/importers/bag_index.h"
#include "data/importers/import_options.h"
#include "robots/robot.h"

namespace interlacer {

class BagJoints {
 public:
  static StatusOr<BagJoints> Find(const BagIndex& bag, const BagOptions& options,
                                  std::shared_ptr<const Robot> robot);

  const Robot& robot() const { return *robot_; }
  const std::shared_ptr<const Robot>& shared_robot() const { return robot_; }
  /// [c] columns that a topic has.
  std::vector<bool> measured() const;
  std::int64_t first_ns() const;
  std::int64_t last_ns() const;
  bool has_commands() const { return !commands_.empty(); }
  const std::vector<std::string>& choices() const { return choices_; }

  /// One row of columns, 0 where not measured; nothing where a joint has no readings near that
  /// time.
  std::optional<std::vector<double>> StateAt(std::int64_t time_ns, std::int64_t max_gap_ns) const;
  /// Of the commands in force; of has_commands().
  std::optional<std::vector<double>> CommandAt(std::int64_t time_ns) const;

 private:
  std::shared_ptr<const Robot> robot_;
  std::vector<const JointTrack*> states_, commands_;  // by column; null: not measured
  std::vector<std::string> choices_;
};

}  // namespace interlacer

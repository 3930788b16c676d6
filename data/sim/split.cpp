#include "data/sim/split.h"

#include <algorithm>

namespace interlacer::sim {

const std::vector<std::string>& SplitNames() {
  static const std::vector<std::string> names = {"train", "val", "test"};
  return names;
}

const std::string& NameOf(Split split) { return SplitNames()[static_cast<int>(split)]; }

StatusOr<Split> ParseSplit(const std::string& name) {
  const std::vector<std::string>& names = SplitNames();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<Split>(found - names.begin());
  return Mismatch(reason::ARGUMENT_INVALID, "split", "train, val or test", "'" + name + "'");
}

ColorSet ColorsOf(Split split) {
  return split == Split::kTest ? ColorSet::kHeldOut : ColorSet::kTraining;
}

}  // namespace interlacer::sim

#include "experiments/masks/pages.h"

#include <utility>

namespace interlacer {
namespace {

using Maker = StatusOr<MaskPage> (*)(const MaskRun&);

constexpr std::pair<const char*, Maker> kPages[] = {
    {"flops", &FlopsPage},           {"concentration", &ConcentrationPage},
    {"sparsity", &SparsityPage},     {"complexity", &ComplexityPage},
    {"overtaking", &OvertakingPage}, {"variance", &VariancePage},
    {"gkat_cost", &GkatCostPage},
};

}  // namespace

Status MaskRun::Step(const std::string& note) const {
  if (stop.stop_requested()) {
    return Cancelled("stopped; the same command goes on with the pages that are missing");
  }
  progress(note);
  return Status::Ok();
}

std::vector<std::string> MaskPageNames() {
  std::vector<std::string> names;
  for (const auto& page : kPages) names.emplace_back(page.first);
  return names;
}

StatusOr<MaskPage> MakeMaskPage(const std::string& name, const MaskRun& run) {
  std::string known;
  for (const auto& [page, make] : kPages) {
    if (name == page) return make(run);
    known += (known.empty() ? "" : ", ") + std::string(page);
  }
  return NotFound(reason::ARGUMENT_INVALID, "pages: expected one of " + known + ", got " + name)
      .WithField("pages");
}

}  // namespace interlacer

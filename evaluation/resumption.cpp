#include "evaluation/resumption.h"

#include <string>
#include <vector>

#include "evaluation/comparison.h"

namespace interlacer {
namespace {

/// Equal, or one of them unknown.
Status CheckEqual(const std::string& field, const std::string& expected, const std::string& got) {
  if (expected == got || expected.empty() || got.empty()) return Status::Ok();
  return Mismatch(reason::ARGUMENT_INVALID, field, expected, got);
}

std::string ListText(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

}  // namespace

Status CheckResumable(const Results& before, const Results& now) {
  for (const char* key : {"weights_sha256", "config_sha256"}) {
    INTERLACER_RETURN_IF_ERROR(CheckEqual(std::string("model.") + key, before.model.value(key, ""),
                                          now.model.value(key, "")));
  }
  const Status settings = CheckEqualSettings(before, now);
  if (!settings.ok()) {
    return InvalidArgument(reason::ARGUMENT_INVALID, settings.message())
        .WithField(settings.field());
  }
  INTERLACER_RETURN_IF_ERROR(
      CheckEqual("subjects", ListText(before.subjects), ListText(now.subjects)));
  INTERLACER_RETURN_IF_ERROR(CheckEqual("render mode", before.render_mode, now.render_mode));
  const auto text = [](bool value) { return std::string(value ? "true" : "false"); };
  INTERLACER_RETURN_IF_ERROR(
      CheckEqual("spread", text(before.measures_spread), text(now.measures_spread)));
  INTERLACER_RETURN_IF_ERROR(
      CheckEqual("seed", std::to_string(before.seed), std::to_string(now.seed)));
  INTERLACER_RETURN_IF_ERROR(CheckEqual("dataset hash", before.dataset_sha256, now.dataset_sha256));
  INTERLACER_RETURN_IF_ERROR(CheckEqual("dataset", before.dataset_name, now.dataset_name));
  return before.split == now.split
             ? Status::Ok()
             : Mismatch(reason::ARGUMENT_INVALID, "--split", before.split, now.split);
}

}  // namespace interlacer

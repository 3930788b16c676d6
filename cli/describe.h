#pragma once

/// Plain structs as JSON for `--json` and result files, and as aligned text for people.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "client/interlacer_client.h"
#include "common/model_metadata.h"
#include "common/prediction.h"
#include "common/scene.h"
#include "data/episode.h"

namespace interlacer::cli {

nlohmann::ordered_json ToJson(const Box& box);
nlohmann::ordered_json ToJson(const ModelMetadata& metadata);
nlohmann::ordered_json ToJson(const ServerInfo& info);
nlohmann::ordered_json ToJson(const Finding& finding);
nlohmann::ordered_json ToJson(const SceneReport& report);
nlohmann::ordered_json ToJson(const StageDurations& durations);
nlohmann::ordered_json ToJson(const EpisodeManifest& manifest);

using TextRows = std::vector<std::pair<std::string, std::string>>;
TextRows ToRows(const ModelMetadata& metadata);
TextRows ToRows(const ServerInfo& info);
TextRows ToRows(const EpisodeManifest& manifest);

/// Names in one column, values in the next.
std::string AlignedText(const TextRows& rows);

/// printf with a format known at the call.
std::string Format(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace interlacer::cli

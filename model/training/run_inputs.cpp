#include "model/training/run_inputs.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "common/json.h"
#include "common/sha256.h"
#include "data/dataset.h"
#include "data/manifest.h"
#include "model/files/tensor_header.h"

namespace interlacer {
namespace {

constexpr char kResetHeads[] = "reset_heads";

StatusOr<std::string> EpisodesSha256(const std::string& path) {
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<std::string> episodes, ListEpisodes(path));
  std::string manifests;
  for (const std::string& episode : episodes) {
    INTERLACER_ASSIGN_OR_RETURN(const std::string sha256,
                                Sha256OfFile(episode + "/" + kManifestFile));
    manifests += sha256;
  }
  return Sha256Hex(manifests);
}

StatusOr<nlohmann::ordered_json> SeedAndData(const TrainOptions& options) {
  nlohmann::ordered_json inputs{{"seed", options.seed}, {"data", nlohmann::ordered_json::array()}};
  for (const TrainingDataset& dataset : options.datasets) {
    INTERLACER_ASSIGN_OR_RETURN(std::string sha256, EpisodesSha256(dataset.path));
    inputs["data"].push_back({{"path", dataset.path},
                              {"weight", dataset.weight},
                              {"episodes_sha256", std::move(sha256)}});
  }
  return inputs;
}

}  // namespace

StatusOr<nlohmann::ordered_json> RunInputs(const TrainOptions& options) {
  INTERLACER_ASSIGN_OR_RETURN(nlohmann::ordered_json inputs, SeedAndData(options));
  if (!options.initial_checkpoint.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(inputs[kInitialWeightsKey],
                                Sha256OfFile(options.initial_checkpoint + "/" + kWeightsFile));
  }
  if (!options.initial_appearance.empty()) {
    INTERLACER_ASSIGN_OR_RETURN(inputs[kInitialAppearanceKey],
                                Sha256OfFile(options.initial_appearance + "/" + kWeightsFile));
  }
  if (options.reset_heads) inputs[kResetHeads] = true;
  return inputs;
}

StatusOr<std::string> CommonInputs(const TrainOptions& options) {
  INTERLACER_ASSIGN_OR_RETURN(nlohmann::ordered_json inputs, SeedAndData(options));
  for (nlohmann::ordered_json& dataset : inputs["data"]) dataset.erase("path");
  return inputs.dump();
}

Status CheckRunInputs(const nlohmann::ordered_json& inputs, const std::string& path,
                      bool has_state) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) return Status::Ok();
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json stored, ReadJsonFile(path));
  const nlohmann::json now = inputs;
  const auto differ = [&](const std::string& what, const nlohmann::json& then,
                          const nlohmann::json& got) {
    return Mismatch(reason::CONFIG_INVALID, path + ": " + what,
                    then.dump() + ", which the run began with", got.dump());
  };
  const auto value = [](const nlohmann::json& of, const char* key) {
    return of.value(key, nlohmann::json());
  };
  if (value(stored, "seed") != now["seed"]) {
    return differ("seed", value(stored, "seed"), now["seed"]);
  }
  const nlohmann::json data = value(stored, "data");
  if (data.size() != now["data"].size()) {
    return differ("data: number of data sets", data.size(), now["data"].size());
  }
  for (std::size_t i = 0; i < data.size(); ++i) {
    for (const char* key : {"weight", "episodes_sha256"}) {
      if (value(data[i], key) == now["data"][i][key]) continue;
      return differ("data[" + std::to_string(i) + "]." + key, value(data[i], key),
                    now["data"][i][key]);
    }
  }
  for (const char* key : {kInitialWeightsKey, kInitialAppearanceKey, kResetHeads}) {
    if (has_state && !now.contains(key)) continue;
    if (value(stored, key) == value(now, key)) continue;
    return differ(key, value(stored, key), value(now, key));
  }
  return Status::Ok();
}

}  // namespace interlacer

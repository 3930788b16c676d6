#include "experiments/learning/plan.h"

#include <algorithm>
#include <set>

namespace interlacer {
namespace {

/// Layers take a thousand seeds of a run.
constexpr std::int64_t kMaxSeed = 1'000'000'000'000;

/// A network's name is part of its folder's.
bool IsName(const std::string& name) {
  const auto is_fit = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), is_fit);
}

Status ReadNetworks(const JsonObject& root, LearningPlan* plan) {
  INTERLACER_ASSIGN_OR_RETURN(const auto networks, root.GetObjects("networks"));
  std::set<std::string> names;
  for (const JsonObject& object : networks) {
    INTERLACER_RETURN_IF_ERROR(object.AllowOnly({"name", "network", "published"}));
    PlannedNetwork& network = plan->networks.emplace_back();
    INTERLACER_ASSIGN_OR_RETURN(network.name, object.Get<std::string>("name"));
    if (!IsName(network.name)) {
      return object.Invalid("name", "1 to 64 letters, digits, _ and -", network.name);
    }
    if (!names.insert(network.name).second) {
      return object.Invalid("name", "each network once", network.name);
    }
    INTERLACER_ASSIGN_OR_RETURN(const JsonObject layers, object.GetObject("network"));
    INTERLACER_ASSIGN_OR_RETURN(network.network, ParseTokenNetwork(layers));
    if (object.Has("published")) {
      INTERLACER_ASSIGN_OR_RETURN(network.published, object.Get<double>("published"));
    }
  }
  return names.empty() ? root.Invalid("networks", "at least one", "none") : Status::Ok();
}

Status ReadClaims(const JsonObject& root, LearningPlan* plan) {
  if (!root.Has("claims")) return Status::Ok();
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json* const claims, root.Find("claims"));
  const auto is_network = [&](const nlohmann::json& name) {
    return std::any_of(plan->networks.begin(), plan->networks.end(),
                       [&](const PlannedNetwork& network) { return name == network.name; });
  };
  if (!claims->is_array()) return root.Invalid("claims", "a list of pairs", claims->type_name());
  for (const nlohmann::json& claim : *claims) {
    if (!claim.is_array() || claim.size() != 2 || !is_network(claim[0]) || !is_network(claim[1])) {
      return root.Invalid("claims", "pairs of names of networks", claim.dump());
    }
    plan->claims.push_back({claim[0].get<std::string>(), claim[1].get<std::string>()});
  }
  return Status::Ok();
}

}  // namespace

StatusOr<LearningPlan> ParseLearningPlan(const nlohmann::json& document) {
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject root,
                              JsonObject::Make(document, "", reason::CONFIG_INVALID));
  INTERLACER_RETURN_IF_ERROR(
      root.AllowOnly({"name", "data", "training", "seeds", "networks", "claims"}));
  LearningPlan plan;
  INTERLACER_ASSIGN_OR_RETURN(plan.name, root.Get<std::string>("name"));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject data, root.GetObject("data"));
  INTERLACER_ASSIGN_OR_RETURN(plan.data, ParseMotifSettings(data));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject training, root.GetObject("training"));
  INTERLACER_ASSIGN_OR_RETURN(plan.training, ParseLearning(training));
  INTERLACER_ASSIGN_OR_RETURN(plan.seeds, root.Get<std::vector<std::int64_t>>("seeds"));
  const std::set<std::int64_t> seeds(plan.seeds.begin(), plan.seeds.end());
  if (seeds.empty() || seeds.size() < plan.seeds.size() || *seeds.begin() < 0 ||
      *seeds.rbegin() > kMaxSeed) {
    return root.Invalid(
        "seeds", "at least one, each once, none below 0 or above " + std::to_string(kMaxSeed),
        std::to_string(plan.seeds.size()) + " numbers");
  }
  INTERLACER_RETURN_IF_ERROR(ReadNetworks(root, &plan));
  INTERLACER_RETURN_IF_ERROR(ReadClaims(root, &plan));
  return plan;
}

StatusOr<LearningPlan> ReadLearningPlan(const std::string& path) {
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document,
                              ReadJsonFile(path, reason::CONFIG_INVALID));
  StatusOr<LearningPlan> plan = ParseLearningPlan(document);
  if (!plan.ok()) return plan.status().WithFieldPrefix(path + ":");
  return plan;
}

}  // namespace interlacer

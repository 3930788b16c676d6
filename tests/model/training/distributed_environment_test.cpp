#include <gtest/gtest.h>

#include <map>

#include "model/training/distributed/environment.h"

namespace interlacer {
namespace {

using Variables = std::map<std::string, std::string>;

StatusOr<DistributedEnvironment> Read(const Variables& variables) {
  return ReadDistributedEnvironment([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

Variables Torchrun() {
  return {{"RANK", "3"},
          {"WORLD_SIZE", "4"},
          {"LOCAL_RANK", "1"},
          {"MASTER_ADDR", "node0"},
          {"MASTER_PORT", "29500"}};
}

/// The field of the error that `variables` give.
std::string FieldOf(const Variables& variables) {
  const Status status = Read(variables).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.reason(), reason::ARGUMENT_INVALID);
  return status.field();
}

TEST(DistributedEnvironmentTest, NothingSetIsAWorldOfOne) {
  const DistributedEnvironment place = Read({}).value();
  EXPECT_TRUE(place.alone());
  EXPECT_EQ(place.rank, 0);
  EXPECT_TRUE(Read({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).value().alone());
  // An address alone says nothing about ranks.
  EXPECT_TRUE(Read({{"MASTER_ADDR", "node0"}, {"MASTER_PORT", "1"}}).value().alone());
}

TEST(DistributedEnvironmentTest, TorchrunsVariables) {
  const DistributedEnvironment place = Read(Torchrun()).value();
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.world_size, 4);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.master_address, "node0");
  EXPECT_EQ(place.master_port, 29500);
  EXPECT_FALSE(place.launcher_has_store);
}

TEST(DistributedEnvironmentTest, TorchrunsOwnStoreAndRestarts) {
  Variables variables = Torchrun();
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  variables["TORCHELASTIC_RESTART_COUNT"] = "2";
  const DistributedEnvironment place = Read(variables).value();
  EXPECT_TRUE(place.launcher_has_store);
  EXPECT_EQ(place.attempt, 2);
}

TEST(DistributedEnvironmentTest, MpirunsVariables) {
  const DistributedEnvironment place = Read({{"OMPI_COMM_WORLD_RANK", "1"},
                                             {"OMPI_COMM_WORLD_SIZE", "2"},
                                             {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                             {"MASTER_ADDR", "127.0.0.1"},
                                             {"MASTER_PORT", "2222"},
                                             {"INTERLACER_RANK_TIMEOUT_S", "30"}})
                                           .value();
  EXPECT_EQ(place.rank, 1);
  EXPECT_EQ(place.world_size, 2);
  EXPECT_EQ(place.local_rank, 0);
  EXPECT_EQ(place.timeout_s, 30);
}

TEST(DistributedEnvironmentTest, WhatIsWrongIsNamed) {
  const auto with = [](const std::string& name, const std::string& value) {
    Variables variables = Torchrun();
    variables[name] = value;
    return variables;
  };
  const auto without = [](const std::string& name) {
    Variables variables = Torchrun();
    variables.erase(name);
    return variables;
  };
  EXPECT_EQ(FieldOf(with("RANK", "4")), "RANK");
  EXPECT_EQ(FieldOf(with("RANK", "-1")), "RANK");
  EXPECT_EQ(FieldOf(with("RANK", "one")), "RANK");
  EXPECT_EQ(FieldOf(without("RANK")), "RANK");
  EXPECT_EQ(FieldOf(with("WORLD_SIZE", "0")), "WORLD_SIZE");
  EXPECT_EQ(FieldOf(without("WORLD_SIZE")), "WORLD_SIZE");
  EXPECT_EQ(FieldOf(without("MASTER_ADDR")), "MASTER_ADDR");
  EXPECT_EQ(FieldOf(without("MASTER_PORT")), "MASTER_PORT");
  EXPECT_EQ(FieldOf(with("MASTER_PORT", "70000")), "MASTER_PORT");
  EXPECT_EQ(FieldOf(with("INTERLACER_RANK_TIMEOUT_S", "0")), "INTERLACER_RANK_TIMEOUT_S");
  const std::string text = Read(with("RANK", "4")).status().ToString();
  EXPECT_NE(text.find("from 0 to 3"), std::string::npos) << text;
}

}  // namespace
}  // namespace interlacer

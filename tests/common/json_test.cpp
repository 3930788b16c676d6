#include "common/json.h"

#include <gtest/gtest.h>

#include "common/file_io.h"
#include "tests/support/must.h"
#include "tests/support/temp_folder.h"

namespace interlacer {
namespace {

nlohmann::json Example() {
  return nlohmann::json::parse(R"({"name": "left", "size": {"width": 320, "scale": 1.5},
    "items": [{"x": 1}, {"x": 1.5}], "pose": [1, 2, 3], "flag": true, "big": 18446744073709551615,
    "huge": 3000000000})");
}

TEST(JsonTest, ReadsTypedFields) {
  const nlohmann::json document = Example();
  const auto object = Must(JsonObject::Make(document));
  EXPECT_EQ(*object.Get<std::string>("name"), "left");
  EXPECT_EQ(*object.Get<bool>("flag"), true);
  EXPECT_EQ(*object.GetObject("size")->Get<int>("width"), 320);
  EXPECT_EQ(*object.Get<std::uint64_t>("big"), 18446744073709551615ull);
  EXPECT_EQ(object.GetNumbers("pose", 3)->at(2), 3);
  EXPECT_EQ(*object.GetOr<int>("absent", 7), 7);
}

TEST(JsonTest, ErrorsNameThePath) {
  const nlohmann::json document = Example();
  const auto object = Must(JsonObject::Make(document, "config", reason::CONFIG_INVALID));
  const Status absent = object.GetObject("size")->Get<int>("height").status();
  EXPECT_EQ(absent.field(), "config.size.height");
  EXPECT_EQ(absent.reason(), "CONFIG_INVALID");
  EXPECT_EQ(object.GetObjects("items")->at(1).Get<int>("x").status().field(), "config.items[1].x");
  EXPECT_EQ(object.Get<int>("name").status().metadata().at("got"), "\"left\"");
  EXPECT_EQ(object.GetNumbers("pose", 4).status().metadata().at("got"), "a list of 3");
  EXPECT_FALSE(object.GetOr<int>("name", 7).ok());  // of the wrong type is not absent
}

TEST(JsonTest, IntegersDoNotWrap) {
  const nlohmann::json document = Example();
  const auto object = JsonObject::Make(document);
  EXPECT_FALSE(object->Get<int>("huge").ok());
  EXPECT_TRUE(object->Get<std::int64_t>("huge").ok());
  EXPECT_FALSE(object->Get<std::int64_t>("big").ok());
  EXPECT_FALSE(object->GetObject("size")->Get<int>("scale").ok());
  const nlohmann::json floats = nlohmann::json::parse(R"({"whole": 96.0, "huge": 1e300})");
  EXPECT_EQ(*JsonObject::Make(floats)->Get<int>("whole"), 96);
  EXPECT_FALSE(JsonObject::Make(floats)->Get<std::int64_t>("huge").ok());
}

TEST(JsonTest, UnknownKeysAreNamed) {
  const nlohmann::json document = Example();
  const Status status = JsonObject::Make(document)->AllowOnly({"name", "size"});
  EXPECT_EQ(status.field(), "big");
  EXPECT_EQ(status.metadata().at("expected"), "one of name, size");
}

TEST(JsonTest, BrokenTextsAreErrorsWithAPosition) {
  for (const char* text : {"", "{", "{\"a\": 1e999}", "{\"a\": nan}", "[1,2", "{}x"}) {
    EXPECT_EQ(ParseJson(text, "run.json").status().field(), "run.json") << text;
  }
  EXPECT_FALSE(JsonObject::Make(nlohmann::json::parse("[1]")).ok());
}

TEST(JsonTest, AKeyThatStandsTwiceIsRefused) {
  for (const char* text : {R"({"a": 1, "a": 1})", R"({"b": [{"a": 1, "c": {"a": 2}, "a": 3}]})"}) {
    const Status status = ParseJson(text, "run.json").status();
    EXPECT_EQ(status.field(), "run.json");
    EXPECT_EQ(status.metadata().at("got"), "\"a\" again") << text;
  }
  EXPECT_TRUE(ParseJson(R"([{"a": {"a": 1}, "b": {"a": 2}}, {"a": ["a", "a"]}])", "run.json").ok());
  EXPECT_FALSE(ParseJson(R"({"": 1, "": 2})", "run.json").ok());
}

TEST(JsonTest, DeepNestingIsNoCrash) {
  const auto nested = [](std::size_t levels) {
    return ParseJson(std::string(levels, '[') + std::string(levels, ']'), "deep.json").status();
  };
  EXPECT_EQ(nested(200000).message(),
            "deep.json: expected objects and lists in at most 64 levels, got more");
  EXPECT_TRUE(nested(64).ok());
  EXPECT_EQ(nested(65).field(), "deep.json");
  std::string objects;
  for (int level = 0; level < 100000; ++level) objects += "{\"a\":[";
  EXPECT_FALSE(ParseJson(objects, "deep.json").ok());
}

TEST(JsonTest, FilesRoundTrip) {
  const TempFolder folder;
  const std::string path = folder.File("a.json");
  ASSERT_TRUE(WriteJsonFile(path, {{"z", 1}, {"a", 0.1}}).ok());
  EXPECT_EQ(*ReadTextFile(path), "{\n \"z\": 1,\n \"a\": 0.1\n}\n");  // order is kept
  EXPECT_EQ(ReadJsonFile(path)->at("a"), 0.1);
  EXPECT_EQ(ReadJsonFile(folder.File("b.json")).status().reason(), "FILE_NOT_FOUND");
}

}  // namespace
}  // namespace interlacer

/// docs/examples/attention.py, as a user runs it: mechanisms of the program against NumPy.

#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "tests/support/child_process.h"
#include "tests/support/temp_folder.h"

namespace interlacer::testing {
namespace {

TEST(AttentionExample, NumPyAgrees) {
  if (ChildProcess({INTERLACER_PYTHON, "-c", "import numpy"}).Wait().exit_code != 0) {
    GTEST_SKIP() << INTERLACER_PYTHON << " has no numpy";
  }
  const ProcessResult run =
      ChildProcess({INTERLACER_PYTHON, INTERLACER_SOURCE_DIR "/docs/examples/attention.py",
                    INTERLACER_PROGRAM})
          .Wait();
  ASSERT_EQ(run.exit_code, 0) << run.err;
  // float64 in another order of sums: errors of twelve digits or more.
  const std::regex lines(R"((\w+ \w+: \d\.\de-1[2-9] from NumPy\n){3})");
  EXPECT_TRUE(std::regex_match(run.out, lines)) << run.out;
}

ProcessResult Attention(std::vector<std::string> words) {
  words.insert(words.begin(), {INTERLACER_PROGRAM, "attention"});
  return ChildProcess(words).Wait();
}

TEST(AttentionVerb, ListsDescribesAndChecks) {
  const ProcessResult list = Attention({"list"});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_NE(list.out.find("grf_sym"), std::string::npos);
  const ProcessResult describe = Attention({"describe", "tree_any"});
  EXPECT_EQ(describe.exit_code, 0) << describe.err;
  EXPECT_NE(describe.out.find("option algorithm"), std::string::npos);
  const ProcessResult check = Attention({"check", "rwgnk", "--trials", "3", "--json"});
  EXPECT_EQ(check.exit_code, 0) << check.err;
  EXPECT_NE(check.out.find("\"agree\": true"), std::string::npos) << check.out;
}

TEST(AttentionVerb, SaysHowManyWalksSuffice) {
  const TempFolder folder;
  const std::string input = folder.File("in");
  // Two tokens and an edge between them, one number each.
  const std::string write = R"(
import json, struct, sys
entries = {"q": ("F64", [1, 1, 2, 1], struct.pack("<2d", 1, 2)), "graph.offsets": ("I64", [3], struct.pack("<3q", 0, 1, 2)),
           "graph.neighbors": ("I64", [2], struct.pack("<2q", 1, 0))}
entries["k"] = entries["v"] = entries["q"]
header, data = {}, b""
for name, (word, shape, raw) in entries.items():
    header[name] = {"dtype": word, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
text = json.dumps(header).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + data)
)";
  ASSERT_EQ(ChildProcess({INTERLACER_PYTHON, "-c", write, input}).Wait().exit_code, 0);
  const ProcessResult walks = Attention({"walks", "--input", input, "--error", "1", "--options",
                                         R"({"hops": 1, "halt_probability": 0.5})", "--json"});
  EXPECT_EQ(walks.exit_code, 0) << walks.err;
  // W = 1 and halts of 1/2: loads of 2, c = 1 + 2 / 2.
  EXPECT_NE(walks.out.find("\"load_norm\": 2.0"), std::string::npos) << walks.out;
  EXPECT_EQ(Attention({"walks", "--input", input, "--error", "0"}).exit_code, 2);
}

TEST(AttentionVerb, NamesWhatIsWrong) {
  const ProcessResult name = Attention({"describe", "nothing"});
  EXPECT_EQ(name.exit_code, 2);
  EXPECT_NE(name.err.find("mechanism: expected one of"), std::string::npos) << name.err;
  const ProcessResult option = Attention({"check", "rwgnk", "--options", R"({"hops": 1000})"});
  EXPECT_EQ(option.exit_code, 2) << option.err;
  EXPECT_NE(option.err.find("options.hops: expected integer in [0, 64], got 1000"),
            std::string::npos)
      << option.err;
  EXPECT_EQ(Attention({"check", "rwgnk", "--options", "{hops"}).exit_code, 2);
  const TempFolder folder;
  const std::string output = folder.File("out");
  EXPECT_EQ(Attention({"run", "softmax", "--input", folder.File("none"), "-o", output}).exit_code,
            3);
  EXPECT_EQ(Attention({"run", "softmax"}).exit_code, 2);
}

}  // namespace
}  // namespace interlacer::testing

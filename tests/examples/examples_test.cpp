/// The examples that README shows, as a user runs them: a real server, a shipped checkpoint.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <string>

#include "tests/cli/program_support.h"

namespace interlacer::testing {
namespace {

const std::string kSource = INTERLACER_SOURCE_DIR;

/// Lines of four steps, each with particles and a picture.
void ExpectFourSteps(const std::string& printed) {
  const std::regex line(
      R"(step (\d): (\d+) particles, (-?[\d.]+) cm high in the mean; 64 x 64 px, mean red ([\d.]+)\n)");
  int step = 0;
  std::size_t length = 0;
  for (std::sregex_iterator match(printed.begin(), printed.end(), line), end; match != end;
       ++match) {
    EXPECT_EQ(std::stoi((*match)[1]), ++step);
    EXPECT_EQ((*match)[2], "8192");
    // The table lies at height 0, and the picture is of a table of greys 60 and 190.
    EXPECT_LT(std::abs(std::stod((*match)[3])), 5) << match->str();
    EXPECT_THAT(std::stod((*match)[4]), ::testing::AllOf(::testing::Gt(60), ::testing::Lt(190)));
    length += match->length();
  }
  EXPECT_EQ(step, 4);
  EXPECT_EQ(length, printed.size()) << printed;
}

TEST(Examples, CppAndPythonPrintTheSamePrediction) {
  ServerProcess server(kSource + "/checkpoints/small");
  const ProcessResult cpp = ChildProcess({INTERLACER_EXAMPLE_PROGRAM, server.address()}).Wait();
  EXPECT_EQ(cpp.exit_code, 0) << cpp.err;
  ExpectFourSteps(cpp.out);
  const ProcessResult python =
      ChildProcess({"/usr/bin/env", "PYTHONPATH=" INTERLACER_PYTHON_PATH, INTERLACER_PYTHON,
                    kSource + "/docs/examples/predict.py", server.address()})
          .Wait();
  EXPECT_EQ(python.exit_code, 0) << python.err;
  EXPECT_EQ(python.out, cpp.out);
}

}  // namespace
}  // namespace interlacer::testing

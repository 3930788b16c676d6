#include "cli/color.h"

#include <gtest/gtest.h>

namespace interlacer::cli {
namespace {

TEST(Color, OnATerminalUnlessTheEnvironmentForbids) {
  EXPECT_TRUE(IsColorWanted("auto", {true, "", "xterm"}));
  EXPECT_FALSE(IsColorWanted("auto", {false, "", "xterm"}));
  EXPECT_FALSE(IsColorWanted("auto", {true, "1", "xterm"}));
  EXPECT_FALSE(IsColorWanted("auto", {true, "", "dumb"}));
}

TEST(Color, SaidOutrightBeatsTheEnvironment) {
  EXPECT_TRUE(IsColorWanted("always", {false, "1", "dumb"}));
  EXPECT_FALSE(IsColorWanted("never", {true, "", "xterm"}));
}

TEST(Color, AlarmingTextIsPlainWithoutColour) {
  EXPECT_EQ(Alarming("error:", false), "error:");
  EXPECT_EQ(Alarming("error:", true), "\033[1;31merror:\033[0m");
}

}  // namespace
}  // namespace interlacer::cli

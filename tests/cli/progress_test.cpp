#include "cli/progress.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/matchers.h"

namespace interlacer::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct FakeClock {
  Progress::Clock::time_point now{};
  Progress::Options Options(bool is_terminal) {
    Progress::Options options;
    options.is_terminal = is_terminal;
    options.now = [this] { return now; };
    return options;
  }
};

TEST(Progress, PlainLinesAtMostEveryTenSeconds) {
  FakeClock clock;
  std::ostringstream out;
  {
    Progress progress("evaluate", 100, &out, clock.Options(false));
    for (int i = 1; i <= 35; ++i) {
      clock.now += seconds(1);
      progress.Update(i);
    }
  }
  EXPECT_EQ(out.str(),
            "evaluate 10/100, 1:30 min left\nevaluate 20/100, 1:20 min left\n"
            "evaluate 30/100, 1:10 min left\nevaluate 35/100, 1:05 min left\n");
}

TEST(Progress, WhatAResumedRunHadDoneIsNoMeasureOfItsPace) {
  FakeClock clock;
  std::ostringstream out;
  {
    Progress progress("train", 1000, &out, clock.Options(false));
    for (int i = 901; i <= 906; ++i) {
      clock.now += seconds(2);
      progress.Update(i);
    }
  }
  EXPECT_EQ(out.str(), "train 905/1000, 3:10 min left\ntrain 906/1000, 3:08 min left\n");
}

TEST(Progress, WhatIsFoundFinishedIsNoMeasureOfThePace) {
  FakeClock clock;
  std::ostringstream out;
  {
    Progress progress("evaluate", 100, &out, clock.Options(false));
    for (int i = 1; i <= 90; ++i) progress.Found(i);
    clock.now += seconds(20);
    progress.Update(91);
    progress.Found(92);
  }
  EXPECT_EQ(out.str(), "evaluate 91/100, 3:00 min left\nevaluate 92/100\n");
}

TEST(Progress, TimeLeftFollowsAPaceThatChanges) {
  FakeClock clock;
  std::ostringstream out;
  Progress progress("train", 3600, &out, clock.Options(false));
  for (int i = 1; i <= 2960; ++i) {
    clock.now += milliseconds(125);
    progress.Update(i);
  }
  EXPECT_THAT(out.str(), HasSubstr("train 2960/3600, 1:20 min left\n"));
  for (int i = 2961; i <= 3020; ++i) {
    clock.now += milliseconds(2500);
    progress.Update(i);
  }
  EXPECT_THAT(out.str(), HasSubstr("train 3020/3600, 24:10 min left\n"));
}

TEST(Progress, ATerminalGetsOneRedrawnLine) {
  FakeClock clock;
  std::ostringstream out;
  Progress progress("predict", 4, &out, clock.Options(true));
  progress.Update(1, "a long note");
  clock.now += milliseconds(20);
  progress.Update(2);
  EXPECT_THAT(out.str(), Not(HasSubstr("2/4")));
  clock.now += milliseconds(200);
  progress.Update(3);
  EXPECT_THAT(out.str(), HasSubstr("\rpredict [##################......] 3/4"));
  progress.Update(4);
  progress.Finish();
  EXPECT_THAT(out.str(), HasSubstr("4/4, 0 s"));
  EXPECT_EQ(out.str().back(), '\n');
  const std::string before = out.str();
  progress.Finish();
  progress.Update(9);
  EXPECT_EQ(out.str(), before);
}

TEST(Progress, NothingWhenHidden) {
  FakeClock clock;
  std::ostringstream out;
  Progress::Options options = clock.Options(true);
  options.is_shown = false;
  Progress progress("train", 0, &out, options);
  progress.Update(3);
  progress.Finish();
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace interlacer::cli

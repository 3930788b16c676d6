#pragma once

/// The matchers that tests name without their namespace. `Contains` and `Each` are not among them:
/// the tree has functions of these names.

#include <gmock/gmock.h>

namespace interlacer {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

}  // namespace interlacer

#include "robots/contact_guess.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/random.h"
#include "common/transforms.h"
#include "robots/attachment.h"
#include "robots/particle_clusters.h"
#include "tests/robots/hand_and_block.h"
#include "tests/support/clouds.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

using testing::AddPoint;
using testing::BlockOnTable;
using testing::Cloud;
using testing::Hand;

using Row = std::vector<double>;

const Row kStart = {0, 0, 0, 0}, kRaised = {0, .05, 0, 0}, kHigher = {0, .08, 0, 0};

std::vector<std::int32_t> FreeLinks(const Cloud& cloud) {
  return std::vector<std::int32_t>(cloud.size() / 3, kNotAttached);
}

/// Of a block on a table no more than three places in its middle, too far from both plates to be
/// touched and too low to hang, and four places of the table.
Cloud FewParticles() {
  Cloud cloud;
  for (const double y : {-0.02, 0.0, 0.02}) AddPoint(cloud, 0, y, 0.019);
  for (const double x : {-0.3, -0.2, 0.2, 0.3}) AddPoint(cloud, x, 0, 0);
  return cloud;
}

Cloud Follow(const ContactGuess& guess, const Row& from, const Row& to, const Cloud& now,
             ContactRule::Touched* touched) {
  Cloud out(now.size());
  guess.Follow(from, to, now, touched, out);
  return out;
}

void ExpectRaised(const Cloud& cloud, const Cloud& before, std::size_t count, double by_m) {
  for (std::size_t i = 0; i < 3 * count; ++i) {
    EXPECT_NEAR(cloud[i], before[i] + (i % 3 == 2 ? by_m : 0), testing::kFloatPlaceToleranceM) << i;
  }
  EXPECT_TRUE(std::equal(cloud.begin() + 3 * static_cast<std::ptrdiff_t>(count), cloud.end(),
                         before.begin() + 3 * static_cast<std::ptrdiff_t>(count)));
}

TEST(ContactGuess, PointsOfItsOwnShowAGripThatParticlesFarApartDoNot) {
  const Cloud particles = FewParticles(), seen = BlockOnTable();
  const std::vector<std::int32_t> links = FreeLinks(particles), seen_links = FreeLinks(seen);
  const ContactGuess blind(Hand(), {particles, links});
  ContactRule::Touched untouched = blind.rule().Untouched();
  EXPECT_EQ(Follow(blind, kStart, kRaised, particles, &untouched), particles);

  const ContactGuess guess(Hand(), {seen, seen_links}, {particles, links});
  ContactRule::Touched touched = guess.rule().Untouched();
  const Cloud raised = Follow(guess, kStart, kRaised, particles, &touched);
  ExpectRaised(raised, particles, 3, .05);
  EXPECT_EQ(touched, ContactRule::Touched{1});
  // What is seen has gone with the particles, so that it is between the plates still.
  ExpectRaised(Follow(guess, kRaised, kHigher, raised, &touched), particles, 3, .08);
  // Particles that stayed behind have kept it where it was: it is let go, and lies already.
  EXPECT_EQ(Follow(guess, kRaised, kHigher, particles, &touched), particles);
}

TEST(ContactGuess, ParticlesThatAreWhatIsSeenMoveAlikeInBothForms) {
  const Cloud cloud = BlockOnTable();
  const std::vector<std::int32_t> links = FreeLinks(cloud);
  const ContactGuess one(Hand(), {cloud, links}), both(Hand(), {cloud, links}, {cloud, links});
  ContactRule::Touched of_one = one.rule().Untouched(), of_both = both.rule().Untouched();
  Cloud now = cloud;
  for (const auto& [from, to] : {std::pair{kStart, kRaised}, std::pair{kRaised, kHigher}}) {
    const Cloud next = Follow(one, from, to, now, &of_one);
    const Cloud other = Follow(both, from, to, now, &of_both);
    for (std::size_t i = 0; i < next.size(); ++i) {
      EXPECT_NEAR(next[i], other[i], testing::kFloatPlaceToleranceM) << i;
    }
    EXPECT_EQ(of_one, of_both);
    now = next;
  }
  EXPECT_GT(both.size_bytes(), one.size_bytes());
}

TEST(ContactGuess, WhatIsOfALinkOrFarFromAllThatIsSeenStays) {
  Cloud particles = FewParticles();
  AddPoint(particles, 0, 0, 0.04 + 1.1 * kSamePlaceM);
  std::vector<std::int32_t> links = FreeLinks(particles);
  links[0] = 4;
  const Cloud seen = BlockOnTable();
  const std::vector<std::int32_t> seen_links = FreeLinks(seen);
  const ContactGuess guess(Hand(), {seen, seen_links}, {particles, links});
  ContactRule::Touched touched = guess.rule().Untouched();
  const Cloud raised = Follow(guess, kStart, kRaised, particles, &touched);
  for (std::size_t i = 0; i < links.size(); ++i) {
    const bool goes = i == 1 || i == 2;
    EXPECT_NEAR(raised[3 * i + 2], particles[3 * i + 2] + (goes ? .05 : 0),
                testing::kFloatPlaceToleranceM)
        << i;
  }
}

TEST(ContactGuess, AParticleIsOfTheObjectOfTheNearestOfAllPoints) {
  const Cloud seen = BlockOnTable();
  const std::vector<std::int32_t> seen_links = FreeLinks(seen);
  RandomSequence random(1, RandomStream::kDataGeneration);
  Cloud particles;
  for (int i = 0; i < 600; ++i) {
    AddPoint(particles, random.Uniform(-.09, .09), random.Uniform(-.09, .09),
             random.Uniform(-.01, .09));
  }
  const std::vector<std::int32_t> links = FreeLinks(particles);
  const ContactGuess guess(Hand(), {seen, seen_links}, {particles, links});
  ContactRule::Touched touched = guess.rule().Untouched();
  const Cloud raised = Follow(guess, kStart, kRaised, particles, &touched);
  int moved = 0;
  for (std::size_t i = 0; i < links.size(); ++i) {
    double least_m = kSamePlaceM;
    std::int32_t object = kNotAttached;
    for (std::size_t k = 0; k < seen_links.size(); ++k) {
      const double distance_m = DistanceM(PositionOf(seen, k), PositionOf(particles, i));
      if (distance_m > least_m) continue;
      least_m = distance_m;
      object = guess.rule().objects()[k];
    }
    const bool goes = object != kNotAttached;
    moved += goes ? 1 : 0;
    EXPECT_EQ(raised[3 * i + 2] > particles[3 * i + 2], goes) << i;
  }
  EXPECT_GT(moved, 30);
  EXPECT_LT(moved, 500);
}

TEST(ContactGuess, WhatIsSeenTurnsWithTheParticlesAndWithNoOtherObject) {
  // A second block, 7 cm beside the one in the hand, stays.
  Cloud seen = BlockOnTable();
  const Cloud beside = BlockOnTable(0.11);
  seen.insert(seen.begin(), beside.begin(), beside.begin() + 3 * testing::kBlockParticles);
  const std::vector<std::int32_t> seen_links = FreeLinks(seen);
  Cloud particles = FewParticles();
  AddPoint(particles, 0.11, 0, 0.04);
  AddPoint(particles, .02, 0, 0.02);
  const std::vector<std::int32_t> links = FreeLinks(particles);
  const ContactGuess guess(Hand(), {seen, seen_links}, {particles, links});
  ASSERT_EQ(guess.rule().object_count(), 2u);
  ContactRule::Touched touched = guess.rule().Untouched();
  const Cloud raised = Follow(guess, kStart, kRaised, particles, &touched);
  EXPECT_EQ(raised[3 * 7 + 2], particles[3 * 7 + 2]);
  EXPECT_GT(raised[3 * 8 + 2], particles[3 * 8 + 2]);
  // Turned upside down about its middle and let go, it falls as far as it was raised: points that
  // only keep their distance to one particle would lie 2 cm below it.
  Cloud turned = raised;
  for (const std::size_t i : {0, 1, 2, 8}) {
    turned[3 * i] = -raised[3 * i];
    turned[3 * i + 2] = 2 * .08f - raised[3 * i + 2];
  }
  const Cloud fallen = Follow(guess, kRaised, {0, .05, .03, .03}, turned, &touched);
  for (const std::size_t i : {0, 1, 2, 8}) {
    EXPECT_NEAR(fallen[3 * i + 2], turned[3 * i + 2] - .05, testing::kFloatPlaceToleranceM) << i;
  }
}

TEST(ContactGuess, AnObjectWithoutParticlesMovesNothing) {
  Cloud particles;
  for (const double x : {-0.3, -0.2, 0.2, 0.3}) AddPoint(particles, x, 0, 0);
  const std::vector<std::int32_t> links = FreeLinks(particles);
  const Cloud seen = BlockOnTable();
  const std::vector<std::int32_t> seen_links = FreeLinks(seen);
  const ContactGuess guess(Hand(), {seen, seen_links}, {particles, links});
  ContactRule::Touched touched = guess.rule().Untouched();
  EXPECT_EQ(Follow(guess, kStart, kRaised, particles, &touched), particles);
}

TEST(ContactGuess, WithoutPointsOrWithoutParticlesNothingMoves) {
  const Cloud cloud = BlockOnTable();
  const std::vector<std::int32_t> links = FreeLinks(cloud);
  const ContactGuess unseen(Hand(), {{}, {}}, {cloud, links});
  ContactRule::Touched of_nothing = unseen.rule().Untouched();
  EXPECT_EQ(Follow(unseen, kStart, kRaised, cloud, &of_nothing), cloud);
  const ContactGuess empty(Hand(), {cloud, links}, {{}, {}});
  ContactRule::Touched touched = empty.rule().Untouched();
  EXPECT_TRUE(Follow(empty, kStart, kRaised, {}, &touched).empty());
}

}  // namespace
}  // namespace interlacer

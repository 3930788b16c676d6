#include "cli/bag_options.h"

#include <CLI/CLI.hpp>

#include "cli/option_checks.h"

namespace interlacer::cli {
namespace {

StatusOr<std::vector<NamedTopic>> ParseTopics(const std::vector<std::string>& texts,
                                              const char* option) {
  std::vector<NamedTopic> topics;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return Mismatch(reason::ARGUMENT_INVALID, option, "NAME=TOPIC", text);
    }
    topics.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return topics;
}

}  // namespace

void AddBagOptions(CLI::App* verb, const std::string& prefix, BagArguments* arguments) {
  BagOptions& bag = arguments->options;
  verb->add_option(
      "--color", arguments->color,
      prefix + "NAME=TOPIC of a camera's colour images, once a camera; default by type");
  verb->add_option("--depth", arguments->depth,
                   prefix + "NAME=TOPIC of its depth; default the one of the same frame and size");
  verb->add_option("--camera-info", arguments->camera_info,
                   prefix + "NAME=TOPIC of its calibration; default the one of the same frame");
  verb->add_option(
      "--world-frame", bag.world_frame,
      prefix +
          "frame of the transforms that becomes the world; required but for files of export mcap");
  verb->add_option("--joints", bag.joints,
                   prefix + "topic of measured joints; default the one that has the robot's");
  verb->add_option(
      "--inverse-kinematics", bag.end_effectors,
      prefix +
          "FRAME=LINK or TOPIC=LINK: find the joints that are not measured from where the "
          "transforms, or a topic of poses, have this link of the robot; once an arm");
  verb->add_option("--commands", bag.commands,
                   prefix +
                       "topic of commanded joints, which become the actions; default the measured "
                       "joints");
  verb->add_option("--robot", bag.robot_dir,
                   prefix + "folder of the robot whose joints these are (robot make)")
      ->check(CLI::ExistingDirectory);
  verb->add_option("--step-duration", arguments->step_duration_s,
                   prefix + "seconds of a step; default 0.5 with a robot, else the images' spacing")
      ->check(NumberBetween(0.001, 3600));
}

StatusOr<BagOptions> ParseBagArguments(const BagArguments& arguments) {
  BagOptions bag = arguments.options;
  INTERLACER_ASSIGN_OR_RETURN(bag.color, ParseTopics(arguments.color, "--color"));
  INTERLACER_ASSIGN_OR_RETURN(bag.depth, ParseTopics(arguments.depth, "--depth"));
  INTERLACER_ASSIGN_OR_RETURN(bag.camera_info, ParseTopics(arguments.camera_info, "--camera-info"));
  if (arguments.step_duration_s > 0) bag.step_duration_s = arguments.step_duration_s;
  return bag;
}

}  // namespace interlacer::cli

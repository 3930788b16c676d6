
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bag_options.h"
#include "cli/describe.h"
#include "cli/import_series.h"
#include "cli/option_checks.h"
#include "cli/validation_text.h"
#include "cli/verbs/verbs.h"
#include "common/json.h"
#include "data/importers/importers.h"

namespace interlacer::cli {
namespace {

struct ImportArguments {
  std::string format;
  ImportOptions import;
  double near_m = 0;
  double far_m = 0;
  double depth_unit_m = 0;
  int no_depth_value = 0;
  std::vector<double> workspace_m;
  BagArguments bag;
  std::vector<double> z_planes_m;
  ImportSeriesOptions series;
};

/// Options that some formats alone read.
struct FormatOption {
  const char* name;
  std::vector<std::string_view> formats;
};

const std::vector<FormatOption>& FormatOptions() {
  static const std::vector<FormatOption> options = {
      {"--intrinsics", {"tum", "redwood"}},
      {"--time-unit", {"tum"}},
      {"--trajectory", {"tum", "redwood", "apc"}},
      {"--color-folder", {"redwood"}},
      {"--depth-folder", {"redwood"}},
      {"--color", {"ros2", "lerobot"}},
      {"--depth", {"ros2", "lerobot"}},
      {"--camera-info", {"ros2"}},
      {"--world-frame", {"ros2"}},
      {"--joints", {"ros2", "hdf5", "lerobot"}},
      {"--inverse-kinematics", {"ros2", "hdf5"}},
      {"--commands", {"ros2", "lerobot"}},
      {"--robot", {"ros2", "hdf5", "lerobot"}},
      {"--step-duration", {"ros2", "hdf5", "lerobot"}},
      {"--episode", {"lerobot"}},
      {"--episodes", {"lerobot"}},
      {"--split", {"lerobot"}},
      {"--resume", {"lerobot"}},
      {"--joint-unit", {"lerobot"}},
      {"--demo", {"hdf5"}},
      {"--depth-kind", {"hdf5"}},
      {"--z-planes", {"hdf5"}}};
  return options;
}

/// An option that the format would pass over is refused.
Status CheckOptionsOfFormat(const CLI::App& verb, const std::string& format) {
  for (const FormatOption& option : FormatOptions()) {
    if (verb.count(option.name) == 0 ||
        std::find(option.formats.begin(), option.formats.end(), format) != option.formats.end()) {
      continue;
    }
    std::string formats;
    for (const std::string_view name : option.formats) {
      formats += (formats.empty() ? "" : " or ") + std::string(name);
    }
    return Mismatch(reason::ARGUMENT_INVALID, option.name, "format " + formats, format);
  }
  return Status::Ok();
}

std::vector<std::string> FormatNames() { return {ImportFormats().begin(), ImportFormats().end()}; }

/// The command that makes the same of one episode of a series, wherever it is written.
std::string CommandOfSeries(const CLI::App& verb) {
  static const std::set<std::string> kOfTheFolder = {"--output", "--episodes", "--split",
                                                     "--resume", "--force",    "--help"};
  std::string command = "interlacer import";
  for (const CLI::Option* option : verb.get_options()) {
    if (option->count() == 0 || kOfTheFolder.count("--" + option->get_single_name()) > 0) continue;
    const bool is_list = option->get_delimiter() != 0;
    std::string value;
    for (const std::string& result : option->results()) {
      const bool is_bare = result.find_first_of(" \t'\"\\$") == std::string::npos;
      const std::string word = is_bare ? result : "'" + result + "'";
      if (is_list) {
        value += (value.empty() ? "" : ",") + word;
      } else {
        command +=
            (option->get_positional() ? " " : " --" + option->get_single_name() + " ") + word;
      }
    }
    if (is_list) command += " --" + option->get_single_name() + " " + value;
  }
  return command;
}

StatusOr<ExitCode> RunImport(ImportArguments arguments, const CLI::App& verb,
                             const VerbContext& context) {
  ImportOptions& options = arguments.import;
  if (arguments.near_m > 0) options.near_m = arguments.near_m;
  if (arguments.far_m > 0) options.far_m = arguments.far_m;
  if (arguments.depth_unit_m > 0) options.depth_unit_m = arguments.depth_unit_m;
  if (arguments.no_depth_value > 0) {
    options.no_depth_value = static_cast<std::uint16_t>(arguments.no_depth_value);
  }
  if (!arguments.workspace_m.empty()) {
    const std::vector<double>& w = arguments.workspace_m;
    options.workspace = Box{{w[0], w[1], w[2]}, {w[3], w[4], w[5]}};
  }
  INTERLACER_ASSIGN_OR_RETURN(options.bag, ParseBagArguments(arguments.bag));
  if (!arguments.z_planes_m.empty()) {
    options.hdf5.z_near_m = arguments.z_planes_m[0];
    options.hdf5.z_far_m = arguments.z_planes_m[1];
  }
  options.stop = context.stop();
  if (!arguments.series.episodes.empty()) {
    return RunImportSeries(arguments.format, options, arguments.series, CommandOfSeries(verb),
                           context);
  }
  options.command = context.command_line();
  std::unique_ptr<Progress> progress;
  options.on_frame = [&](std::int64_t done, std::int64_t total) {
    if (!progress) progress = context.MakeProgress("import", total);
    progress->Update(done);
  };
  INTERLACER_ASSIGN_OR_RETURN(const ImportReport report,
                              ImportRecording(arguments.format, options));
  if (progress) progress->Finish();
  nlohmann::ordered_json json = ToJson(report.validation);
  json["frame_count"] = report.frame_count;
  json["skipped_count"] = report.skipped_count;
  json["choices"] = report.choices;
  std::string choices;
  for (const std::string& choice : report.choices) choices += choice + "\n";
  context.Result(json, choices +
                           Format("%d frames written to %s, %d skipped\n", report.frame_count,
                                  options.episode_dir.c_str(), report.skipped_count) +
                           ValidationText(report.validation));
  return report.validation.ok() ? kExitDone : kExitCheckFailed;
}

}  // namespace

void AddImport(CLI::App* app, VerbTable* verbs) {
  CLI::App* verb = app->add_subcommand("import", "Import an RGB-D recording as an episode");
  const auto arguments = std::make_shared<ImportArguments>();
  ImportOptions& options = arguments->import;
  verb->add_option("format", arguments->format, "tum, redwood, apc, ros2, hdf5 or lerobot")
      ->required()
      ->check(CLI::IsMember(FormatNames()));
  verb->add_option("source", options.source_dir,
                   "Folder of the recording; ros2: or a .mcap or .db3 file; hdf5: a file")
      ->required();
  verb->add_option("-o,--output", options.episode_dir,
                   "Folder of the episode; with --episodes of the data set")
      ->required();
  CLI::Option* id = verb->add_option(
      "--id", options.episode_id,
      "Name of the episode; default the folder's, with _ for other than A-Z a-z 0-9 . _ -");
  verb->add_option(
      "--intrinsics", options.intrinsics,
      "fx,fy,cx,cy in pixels, optionally with k1,k2,p1,p2,k3 of the lens; tum-fr1, "
      "tum-fr2, tum-fr3 or tum-ros; or an Open3D camera JSON; tum and redwood need it");
  verb->add_option("--calibration", options.calibration,
                   "JSON file of cameras in place of what the recording says "
                   "(docs/cli.md, Calibration)")
      ->check(CLI::ExistingFile);
  verb->add_option("--depth-unit", arguments->depth_unit_m,
                   "Metres of one depth integer, where the format's own does not hold; not for apc")
      ->check(AboveZero());
  verb->add_option("--no-depth-value", arguments->no_depth_value,
                   "Depth integer that means no measurement, beside 0 and 65535")
      ->check(CLI::Range(1, 65535));
  verb->add_option("--time-unit", options.time_unit,
                   "tum: unit of the time stamps, s, ms, us or ns; default by their size")
      ->check(CLI::IsMember({"s", "ms", "us", "ns"}));
  verb->add_option("--trajectory", options.trajectory,
                   "File with poses, in the source or elsewhere");
  verb->add_option("--color-folder", options.color_folder,
                   "redwood: colour images; default color, image or rgb");
  verb->add_option("--depth-folder", options.depth_folder, "redwood: depth images; default depth");
  AddBagOptions(verb, "ros2: ", &arguments->bag);
  verb->get_option("--joints")
      ->description(
          "ros2: topic of measured joints, default the one that has the robot's; "
          "hdf5: DATASET=NAME,NAME,..., the joints of an array's columns; lerobot: "
          "FEATURE[=NAME,NAME,...], default observation.state");
  verb->get_option("--inverse-kinematics")
      ->description(
          "find the joints that are not measured from poses of a link, once an arm; ros2: "
          "FRAME=LINK of the transforms, or TOPIC=LINK of poses (PoseStamped); hdf5: "
          "POSITION=LINK,ROTATION=LINK, arrays of x,y,z and "
          "of quaternions x,y,z,w");
  const auto say_more = [&](const char* option, const char* more) {
    CLI::Option* const found = verb->get_option(option);
    found->description(found->get_description() + more);
  };
  say_more("--color", "; lerobot: NAME=FEATURE, default by name");
  say_more("--depth", "; lerobot: NAME=FEATURE, default NAME_depth");
  say_more("--commands", "; lerobot: FEATURE[=NAME,NAME,...], such as action");
  say_more("--robot", "; hdf5: the same; lerobot: required");
  say_more("--step-duration", "; hdf5: default by control_freq; lerobot: default 0.5");
  CLI::Option* episode =
      verb->add_option("--episode", options.lerobot.episode,
                       "lerobot: number of the episode, from 0; default the only one");
  CLI::Option* series =
      verb->add_option("--episodes", arguments->series.episodes,
                       "lerobot: several into the folder of a data set: all, or such as 0-9,12")
          ->excludes(episode)
          ->excludes(id);
  verb->add_option("--split", arguments->series.split,
                   "Part of the data set that --episodes are for: train, val or test")
      ->capture_default_str()
      ->check(CLI::IsMember({"train", "val", "test"}))
      ->needs(series);
  CLI::Option* resume = verb->add_flag("--resume", arguments->series.resume,
                                       "Keep finished ones of --episodes, add what is missing")
                            ->needs(series);
  verb->add_option("--joint-unit", options.lerobot.joint_unit,
                   "lerobot: rad or deg, the unit of angles; required; a gripper in deg must be "
                   "named by --joints, since LeRobot writes many in percent");
  verb->add_option("--demo", options.hdf5.demo, "hdf5: demonstration, such as demo_0");
  verb->add_option("--depth-kind", options.hdf5.depth_kind,
                   "hdf5: metres, or z_buffer (pictures upside down); needed without camera_info")
      ->check(CLI::IsMember({"metres", "z_buffer"}));
  verb->add_option("--z-planes", arguments->z_planes_m,
                   "hdf5: NEAR,FAR of the renderer of a z-buffer, metres")
      ->delimiter(',')
      ->expected(2);
  verb->add_option("--near", arguments->near_m, "Nearest distance from the camera in use, metres")
      ->check(AboveZero());
  verb->add_option("--far", arguments->far_m, "Farthest distance from the camera in use, metres")
      ->check(AboveZero());
  verb->add_option("--workspace", arguments->workspace_m,
                   "Box in the world frame, metres: x0,y0,z0,x1,y1,z1; with a robot that of the "
                   "model around the table, by which positions are scaled; default from the points")
      ->delimiter(',')
      ->expected(6);
  verb->add_option("--frame-stride", options.frame_stride, "Every n-th frame")
      ->capture_default_str()
      ->check(NumberBetween(1, 100000));
  verb->add_option("--license", options.license, "Licence of the recording");
  verb->add_option("--attribution", options.attribution, "Whom to name");
  verb->add_flag("--force", options.overwrite, "Replace existing episodes")->excludes(resume);
  verbs->Add(verb, [arguments, verb](const VerbContext& context) -> StatusOr<ExitCode> {
    INTERLACER_RETURN_IF_ERROR(CheckOptionsOfFormat(*verb, arguments->format));
    return RunImport(*arguments, *verb, context);
  });
}

}  // namespace interlacer::cli

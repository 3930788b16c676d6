#include "server/parse_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "common/number_text.h"
#include "common/program_options.h"
#include "common/version.h"

namespace interlacer {
namespace {

constexpr char kPrefix[] = "INTERLACER_SERVER_";
const std::vector<std::string> kCommandOnly = {"help", "version", "config", "print-config",
                                               "check-config"};

/// About thirty years, which the clock's nanoseconds hold.
constexpr double kMaxDurationS = 1e9;
const std::map<std::string, double> kSecondUnits = {{"ms", 1e-3}, {"s", 1}, {"min", 60}};

/// Values of the flags as typed, before they become ServerOptions.
struct Flags {
  ServerOptions options;
  std::vector<std::string> models;
  std::string device = "auto";
  std::string reflection = "auto";
  std::string log_level = "info";
  std::string log_format = "text";
  bool print_config = false;
  bool check_config = false;
};

/// Accepts numbers above (or from) `least` up to `most`, but not infinity or NaN.
CLI::Validator Within(double least, bool is_included, double most, const std::string& text) {
  return CLI::Validator(
      [=](const std::string& value) {
        double number = 0;
        const bool is_number = CLI::detail::lexical_cast(value, number) && std::isfinite(number);
        const bool is_above = number > least || (is_included && number == least);
        if (is_number && is_above && number <= most) return std::string();
        return "expected " + text + ", got " + value;
      },
      "");
}

void AddDuration(CLI::App* app, const char* name, double* seconds, const char* help,
                 bool may_be_zero = false) {
  const std::string and_at_most = " and at most " + NumberText(kMaxDurationS) + " s";
  app->add_option(name, *seconds, help)
      ->transform(CLI::AsNumberWithUnit(kSecondUnits, CLI::AsNumberWithUnit::DEFAULT, "SECONDS"))
      ->check(Within(0, may_be_zero, kMaxDurationS,
                     (may_be_zero ? "0 s or more" : "more than 0 s") + and_at_most));
}

void AddBytes(CLI::App* app, const char* name, std::int64_t* bytes, const char* help) {
  app->add_option(name, *bytes, help)
      ->transform(CLI::AsSizeValue(false))
      ->check(Within(0, false, std::numeric_limits<double>::infinity(), "more than 0 bytes"));
}

void AddCount(CLI::App* app, const char* name, int* count, const char* help, int min = 1) {
  app->add_option(name, *count, help)->check(CLI::Range(min, 1'000'000));
}

void AddServing(CLI::App* app, Flags* flags) {
  ServerOptions& o = flags->options;
  app->add_option("--address", o.address,
                  "Address to listen on: HOST:PORT, [IPv6]:PORT, unix:PATH");
  app->add_option("--metrics-address", o.metrics_address, "Prometheus endpoint; empty for none");
  app->add_flag("--insecure", o.insecure, "Allow an address beyond loopback without TLS");
  CLI::Option* certificate =
      app->add_option("--tls-cert", o.tls.certificate, "Speak TLS; PEM file of the server's chain");
  CLI::Option* key = app->add_option("--tls-key", o.tls.key, "PEM file of its private key");
  CLI::Option* authority = app->add_option("--tls-client-ca", o.tls.client_authority,
                                           "PEM file of the clients' authority");
  // An empty name, as of a template that lacks a value, must not turn TLS off.
  const CLI::Validator named(
      [](const std::string& value) {
        return value.empty() ? std::string("expected a name, got nothing") : std::string();
      },
      "");
  for (CLI::Option* option : {certificate, key, authority}) option->check(named);
  certificate->needs(key)->needs(authority);
  key->needs(certificate);
  authority->needs(certificate);
  app->add_option("--allow-client", o.tls.clients,
                  "Name in the certificate of a client that may call; default all")
      ->check(named)
      ->needs(certificate);
  app->add_option("--reflection", flags->reflection, "Server reflection; auto: loopback only")
      ->check(CLI::IsMember({"auto", "on", "off"}));
  app->add_option("--model", flags->models, "NAME=DIR of a checkpoint; the first is the default");
  app->add_flag("--allow-failed-models", o.allow_failed_models, "Serve the models that do load");
  app->add_flag("--record-warm-up", o.record_warm_up,
                "Store the results of each model's warmup/episode as expected.json and stop");
  app->add_option("--record-dir", o.record_dir,
                  "Folder that keeps the last requests and answers of predictions");
  AddBytes(app, "--record-bytes", &o.record_bytes, "Bytes of all recordings in that folder");
  app->add_option("--device", flags->device, "cuda is strict, auto may fall back to the CPU")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  AddCount(app, "--threads", &o.threads, "Threads of the kernels; 0: all", 0);
  AddCount(app, "--decode-threads", &o.decode_threads, "Threads that decode images");
  app->add_option("--log-level", flags->log_level, "Least level that is logged")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  app->add_option("--log-format", flags->log_format, "Form of the log lines")
      ->check(CLI::IsMember({"text", "json"}));
}

void AddLimits(CLI::App* app, Limits* l) {
  AddBytes(app, "--max-request-bytes", &l->max_request_bytes, "Bytes of one request");
  AddBytes(app, "--max-response-bytes", &l->max_response_bytes, "Bytes of one response message");
  AddCount(app, "--max-image-side", &l->max_image_side_px, "Pixels of an input image's side");
  AddCount(app, "--max-steps", &l->max_step_count, "Steps of a rollout");
  AddCount(app, "--max-candidates", &l->max_candidate_count, "Candidates in one call");
  AddCount(app, "--max-candidate-steps", &l->max_candidate_step_count,
           "Steps times candidates in one call");
  AddCount(app, "--max-render-targets", &l->max_render_target_count, "Views in one call");
  AddCount(app, "--max-render-side", &l->max_render_side_px, "Pixels of a view's side");
  AddCount(app, "--max-queue", &l->max_queue_length, "Calls that may wait, of each priority");
  AddCount(app, "--max-active-calls", &l->max_active_calls, "Calls that take turns on the device");
  AddBytes(
      app, "--max-inflight-request-bytes", &l->max_inflight_request_bytes,
      "Bytes of all requests in flight, decoded frames included; a quarter is for CONTROL calls");
  AddCount(app, "--max-scenes", &l->max_scene_count, "Scenes kept at once", 0);
  AddBytes(app, "--max-scene-bytes", &l->max_scene_bytes, "Memory of all scenes that are kept");
  AddDuration(
      app, "--scene-ttl", &l->scene_ttl_s,
      "Time since its last use after which a scene goes, unless its client asked otherwise");
  AddDuration(app, "--max-scene-ttl", &l->max_scene_ttl_s, "Longest such time that is granted");
  AddDuration(app, "--max-camera-skew", &l->max_camera_skew_s, "Skew of an observation");
  AddDuration(app, "--max-call-duration", &l->max_call_duration_s, "Life of a call");
  AddDuration(app, "--slow-reader-timeout", &l->slow_reader_timeout_s,
              "Time for a client to read one message");
  AddCount(app, "--max-streams-per-connection", &l->max_streams_per_connection,
           "Calls at once on one connection");
  AddCount(app, "--max-connections", &l->max_connections, "Connections at once");
  AddDuration(app, "--upload-timeout", &l->upload_timeout_s, "Time for a request to arrive");
  AddBytes(app, "--memory-quota", &l->memory_quota_bytes, "Memory of the gRPC library");
  AddDuration(app, "--drain-timeout", &l->drain_timeout_s, "Time for calls in flight at the end",
              /*may_be_zero=*/true);
  AddDuration(app, "--watchdog", &l->watchdog_s, "Longest unit of work");
}

std::string VariableOf(const std::string& option_name) {
  std::string variable = kPrefix + option_name;
  std::transform(variable.begin(), variable.end(), variable.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return variable;
}

std::string NameOf(const CLI::Option& option) { return option.get_lnames().front(); }

bool Contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool IsTyped(const std::vector<std::string>& arguments, const std::string& option_name) {
  const std::string flag = "--" + option_name;
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    return argument == flag || argument.starts_with(flag + "=");
  });
}

Status Invalid(const std::string& option, const std::string& message) {
  return InvalidArgument(reason::CONFIG_INVALID, option + ": " + message).WithField(option);
}

/// Kubernetes describes every service of a namespace to its pods by variables of these forms; those
/// of a service named "interlacer-server" have our prefix.
bool IsKubernetesServiceVariable(const std::string& variable) {
  return variable.ends_with("_PORT") || variable.find("_PORT_") != std::string::npos ||
         variable.find("_SERVICE_") != std::string::npos;
}

/// Arguments for every option that is set by a variable and not by a flag.
StatusOr<std::vector<std::string>> EnvironmentArguments(
    const CLI::App& app, const std::vector<std::string>& arguments,
    const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string> option_of_variable;
  for (const CLI::Option* option : app.get_options()) {
    if (!Contains(kCommandOnly, NameOf(*option))) {
      option_of_variable[VariableOf(NameOf(*option))] = NameOf(*option);
    }
  }
  std::vector<std::string> extra;
  for (const auto& [variable, value] : environment) {
    if (!variable.starts_with(kPrefix)) continue;
    const auto it = option_of_variable.find(variable);
    if (it == option_of_variable.end()) {
      if (IsKubernetesServiceVariable(variable)) continue;
      return Invalid(variable, "no option has this variable");
    }
    if (!IsTyped(arguments, it->second)) extra.push_back("--" + it->second + "=" + value);
  }
  return extra;
}

/// CLI11 reads "--name=" as a name whose value is the next argument, so an empty argument is
/// inserted; of a flag it would be one that nobody expects.
StatusOr<std::vector<std::string>> WithEmptyValues(const CLI::App& app,
                                                   const std::vector<std::string>& arguments) {
  std::vector<std::string> all;
  for (const std::string& argument : arguments) {
    const bool is_empty_value =
        argument.starts_with("--") && argument.find('=') + 1 == argument.size();
    all.push_back(is_empty_value ? argument.substr(0, argument.size() - 1) : argument);
    if (!is_empty_value) continue;
    const CLI::Option* option = app.get_option_no_throw(all.back());
    if (option != nullptr && option->get_items_expected_max() == 0) {
      return Invalid(NameOf(*option), "expected true or false, got nothing");
    }
    all.emplace_back();
  }
  return all;
}

Status FillOptions(const Flags& flags, ServerOptions* options) {
  for (const std::string& model : flags.models) {
    const std::size_t equals = model.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == model.size()) {
      return Invalid("model", "expected NAME=DIR, got \"" + model + "\"");
    }
    const std::string name = model.substr(0, equals);
    if (model[equals - 1] == ' ' || model[equals + 1] == ' ') {
      return Invalid("model", "expected NAME=DIR without blanks around =, got \"" + model + "\"");
    }
    for (const auto& [known, dir] : options->models) {
      if (known == name) {
        return Invalid("model", "expected different names, got " + name + " for " + dir +
                                    " and for " + model.substr(equals + 1));
      }
    }
    options->models.emplace_back(name, model.substr(equals + 1));
  }
  INTERLACER_ASSIGN_OR_RETURN(options->device, ParseDeviceRequest(flags.device));
  INTERLACER_ASSIGN_OR_RETURN(options->log_level, ParseLogLevel(flags.log_level));
  INTERLACER_ASSIGN_OR_RETURN(options->log_format, ParseLogFormat(flags.log_format));
  options->reflection = flags.reflection == "on"    ? ReflectionMode::kOn
                        : flags.reflection == "off" ? ReflectionMode::kOff
                                                    : ReflectionMode::kAuto;
  return Status::Ok();
}

/// The configuration with one line per option: name = value  # source
std::string ConfigText(const CLI::App& app, const std::vector<std::string>& arguments,
                       const std::map<std::string, std::string>& environment) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = NameOf(*option);
    if (Contains(kCommandOnly, name)) continue;
    const char* source = IsTyped(arguments, name)                  ? "flag"
                         : environment.count(VariableOf(name)) > 0 ? "environment"
                                                                   : "file";
    text += OptionLine(*option, name, source);
  }
  return text;
}

}  // namespace

StatusOr<ParsedServerOptions> ParseServerOptions(
    const std::vector<std::string>& arguments,
    const std::map<std::string, std::string>& environment) {
  Flags flags;
  CLI::App app("Predicts rollouts from RGB-D frames over gRPC.", "interlacer-server");
  app.footer(
      "Every option of the service may also be a variable, INTERLACER_SERVER_MAX_QUEUE for\n"
      "max-queue. A flag beats a variable, which beats the file.");
  app.option_defaults()->always_capture_default();
  AddServing(&app, &flags);
  AddLimits(&app, &flags.options.limits);
  AddConfigFile(&app, "TOML file with any of these options");
  app.set_version_flag("--version", kVersion);
  app.add_flag("--print-config", flags.print_config, "Print every option with value and source");
  app.add_flag("--check-config", flags.check_config, "Check the options and exit");

  ReadIntegersInDecimal(&app);
  INTERLACER_ASSIGN_OR_RETURN(std::vector<std::string> extra,
                              EnvironmentArguments(app, arguments, environment));
  extra.insert(extra.begin(), arguments.begin(), arguments.end());
  INTERLACER_ASSIGN_OR_RETURN(std::vector<std::string> all, WithEmptyValues(app, extra));
  std::reverse(all.begin(), all.end());  // CLI11 consumes its vector from the back
  ParsedServerOptions parsed;
  try {
    app.parse(all);
  } catch (const CLI::CallForHelp&) {
    parsed.is_done = true;
    parsed.text = app.help();
    return parsed;
  } catch (const CLI::CallForVersion&) {
    parsed.is_done = true;
    parsed.text = std::string(kVersion) + "\n";
    return parsed;
  } catch (const CLI::ConfigError& error) {
    return Invalid("config", ConfigErrorText(app, error));
  } catch (const CLI::Error& error) {
    return Invalid(error.get_name(), error.what());
  }
  parsed.options = flags.options;
  INTERLACER_RETURN_IF_ERROR(FillOptions(flags, &parsed.options));
  if (flags.print_config) {
    parsed.text = ConfigText(app, arguments, environment);
  } else if (parsed.options.models.empty()) {
    return Invalid("model", "expected at least one NAME=DIR, got none");
  } else {
    INTERLACER_RETURN_IF_ERROR(CheckAddresses(parsed.options));
  }
  parsed.is_done = flags.print_config || flags.check_config;
  return parsed;
}

}  // namespace interlacer

#include "cli/verb.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "common/json.h"
#include "common/printable_text.h"

namespace interlacer::cli {

void VerbContext::Message(const std::string& text) const {
  if (!options_.quiet) std::cerr << PrintableText(text) << std::endl;
}

void VerbContext::Detail(const std::string& text) const {
  if (options_.verbose) Message(text);
}

void VerbContext::Result(const nlohmann::ordered_json& json, const std::string& text) const {
  if (options_.json) {
    std::cout << JsonText(json, 2) << std::endl;
  } else {
    std::cout << PrintableText(text) << std::flush;
  }
}

std::unique_ptr<Progress> VerbContext::MakeProgress(const std::string& label,
                                                    std::int64_t total) const {
  Progress::Options options;
  options.is_terminal = options_.progress == "always" || isatty(STDERR_FILENO) == 1;
  options.is_shown = !options_.quiet && options_.progress != "never";
  return std::make_unique<Progress>(label, total, &std::cerr, options);
}

VerbAction VerbTable::Chosen() const {
  for (const auto& [subcommand, action] : entries_) {
    if (subcommand->parsed()) return action;
  }
  return nullptr;
}

}  // namespace interlacer::cli

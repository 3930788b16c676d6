#pragma once

/// A temporary folder for a test, which is removed with its contents at the end.

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "common/check.h"

namespace interlacer {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "interlacer_XXXXXX").string();
    INTERLACER_CHECK(mkdtemp(name.data()) != nullptr, "cannot make a temporary folder");
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace interlacer

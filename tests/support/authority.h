#pragma once

/// Certificates of a test: an authority and whom it vouches for, as NAME.pem and NAME.key of a
/// folder. Needs the openssl program.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

namespace interlacer::testing {

class Authority {
 public:
  Authority(std::string folder, std::string name)
      : folder_(std::move(folder)), name_(std::move(name)) {
    Run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        "-subj /CN=" +
        name_ + " -keyout " + name_ + ".key -out " + name_ + ".pem");
  }
  /// `names`: alternative names, `key`: its kind, as openssl writes them.
  void Sign(const std::string& subject, const std::string& names = "IP:127.0.0.1",
            const std::string& key = "ec -pkeyopt ec_paramgen_curve:prime256v1") const {
    Run("openssl req -newkey " + key + " -nodes -subj /CN=" + subject + " -keyout " + subject +
        ".key -out " + subject + ".csr && echo subjectAltName=" + names +
        " > names && openssl x509 -req -days 2 -in " + subject + ".csr -CA " + name_ +
        ".pem -CAkey " + name_ + ".key -CAcreateserial -extfile names -out " + subject + ".pem");
  }

 private:
  void Run(const std::string& command) const {
    const std::string line = "cd " + folder_ + " && (" + command + ") 2>openssl.log";
    EXPECT_EQ(std::system(line.c_str()), 0) << command;
  }

  const std::string folder_;
  const std::string name_;
};

}  // namespace interlacer::testing

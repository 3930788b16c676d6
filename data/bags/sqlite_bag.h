#pragma once

/// Reads ROS 2 bags of SQLite (.db3); no other part includes libsqlite3.
///
/// Messages are visited in the order of their rows. A damaged file is read as far as SQLite reads
/// it; one that is shorter than its header says is refused (FILE_UNREADABLE), since messages would
/// end in zeros. As data/mcap/message_file.h. Source: ros2-interfaces.

#include <memory>
#include <string>

#include "data/mcap/message_file.h"

namespace interlacer {

StatusOr<std::unique_ptr<MessageFile>> OpenSqliteBag(const std::string& path);

}  // namespace interlacer

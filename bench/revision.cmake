# cmake -DSOURCE=FOLDER -DHEADER=FILE -P revision.cmake: the revision of FOLDER, with "+changes" where tracked files differ
# from it, as a constant in FILE, which is written only where it says something else; empty where there is no history.
execute_process(COMMAND git rev-parse --short=12 HEAD WORKING_DIRECTORY "${SOURCE}" RESULT_VARIABLE result
  OUTPUT_VARIABLE revision ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT result EQUAL 0)
  set(revision "")
else()
  # Without the lock, which another command of git may want.
  execute_process(COMMAND git --no-optional-locks status --porcelain -uno WORKING_DIRECTORY "${SOURCE}"
    OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    string(APPEND revision "+changes")
  endif()
endif()
file(CONFIGURE OUTPUT "${HEADER}" CONTENT [[
#pragma once

/// The revision that this build was made of; empty if there was no history.

namespace interlacer::bench {

inline constexpr char kBuiltRevision[] = "@revision@";

}  // namespace interlacer::bench
]] @ONLY)

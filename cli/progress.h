#pragma once

/// Progress of a long verb: one redrawn line on a terminal, else a plain line now and then.
///
/// Writes to the given stream only (stderr in the program), never to stdout. One Progress belongs
/// to one thread.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <ostream>
#include <string>

namespace interlacer::cli {

class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    bool is_shown = true;
    bool is_terminal = false;
    /// Between plain lines, and between redraws of a terminal.
    std::chrono::milliseconds plain_period{10'000};
    std::chrono::milliseconds redraw_period{100};
    std::function<Clock::time_point()> now = Clock::now;
  };

  /// `total` below 1 means that the end is not known.
  Progress(std::string label, std::int64_t total, std::ostream* stream, Options options);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of the total, with a note such as "loss 0.012". The first update is of one piece of
  /// work: whatever else it counts was done by an earlier run and is left out of this run's pace.
  void Update(std::int64_t done, const std::string& note = "");
  /// `done` of the total, the newest of them found finished; the pace counts from here on.
  void Found(std::int64_t done);
  /// Draws the last state and ends the line; further updates are ignored.
  void Finish();

 private:
  struct Mark {
    Clock::time_point time;
    std::int64_t done;
  };

  void MarkPace(Clock::time_point now);
  std::string StateText() const;
  void Draw();

  const std::string label_;
  const std::int64_t total_;
  std::ostream* const stream_;
  const Options options_;
  const Clock::time_point start_;
  /// The pace counts from the first on, about two minutes ago: the parts of a training run differ
  /// twentyfold, and a mean over all of it would predict the end badly.
  std::deque<Mark> pace_marks_;
  Clock::time_point last_drawn_;
  std::int64_t done_ = 0;
  std::string note_;
  std::size_t drawn_width_ = 0;
  bool is_drawn_ = false;
  bool is_current_ = true;
  bool is_finished_ = false;
};

}  // namespace interlacer::cli

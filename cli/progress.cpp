#include "cli/progress.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "common/printable_text.h"

namespace interlacer::cli {
namespace {

constexpr int kBarWidth = 24;
constexpr std::chrono::seconds kPaceWindow{120}, kPaceMarkPeriod{5};

std::string DurationText(double seconds) {
  char text[32];
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 60) {
    std::snprintf(text, sizeof text, "%d s", static_cast<int>(whole));
  } else if (whole < 3600) {
    std::snprintf(text, sizeof text, "%d:%02d min", static_cast<int>(whole / 60),
                  static_cast<int>(whole % 60));
  } else {
    std::snprintf(text, sizeof text, "%d:%02d h", static_cast<int>(whole / 3600),
                  static_cast<int>(whole / 60 % 60));
  }
  return text;
}

std::string Bar(double share) {
  const int full = std::clamp(static_cast<int>(share * kBarWidth), 0, kBarWidth);
  return "[" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(kBarWidth - full), '.') + "] ";
}

}  // namespace

Progress::Progress(std::string label, std::int64_t total, std::ostream* stream, Options options)
    : label_(std::move(label)),
      total_(total),
      stream_(stream),
      options_(std::move(options)),
      start_(options_.now()),
      last_drawn_(start_) {}

Progress::~Progress() { Finish(); }

void Progress::Update(std::int64_t done, const std::string& note) {
  if (is_finished_) return;
  done_ = done;
  note_ = note;
  is_current_ = false;
  const Clock::time_point now = options_.now();
  MarkPace(now);
  const bool is_due = options_.is_terminal
                          ? !is_drawn_ || now - last_drawn_ >= options_.redraw_period
                          : now - last_drawn_ >= options_.plain_period;
  if (!is_due) return;
  last_drawn_ = now;
  Draw();
}

void Progress::Found(std::int64_t done) {
  done_ = done;
  is_current_ = false;
  pace_marks_.assign(1, {options_.now(), done});
}

void Progress::MarkPace(Clock::time_point now) {
  if (pace_marks_.empty()) pace_marks_.push_back({start_, done_ - 1});
  while (pace_marks_.size() > 1 && now - pace_marks_[1].time >= kPaceWindow) {
    pace_marks_.pop_front();
  }
  if (now - pace_marks_.back().time >= kPaceMarkPeriod) pace_marks_.push_back({now, done_});
}

void Progress::Finish() {
  if (is_finished_) return;
  if (!is_current_) Draw();
  if (options_.is_shown && options_.is_terminal && is_drawn_) *stream_ << std::endl;
  is_finished_ = true;
}

std::string Progress::StateText() const {
  std::string text = label_ + " ";
  const Clock::time_point now = options_.now();
  const auto seconds_since = [now](Clock::time_point then) {
    return std::chrono::duration<double>(now - then).count();
  };
  if (total_ > 0) {
    const double share = static_cast<double>(done_) / static_cast<double>(total_);
    if (options_.is_terminal) text += Bar(share);
    text += std::to_string(done_) + "/" + std::to_string(total_);
    if (!pace_marks_.empty() && pace_marks_.front().done < done_ && done_ < total_) {
      const Mark& from = pace_marks_.front();
      const double seconds_each = seconds_since(from.time) / static_cast<double>(done_ - from.done);
      text += ", " + DurationText(seconds_each * static_cast<double>(total_ - done_)) + " left";
    }
  } else {
    text += std::to_string(done_);
  }
  if (done_ >= total_) text += ", " + DurationText(seconds_since(start_));
  if (!note_.empty()) text += ", " + note_;
  return text;
}

void Progress::Draw() {
  is_current_ = true;
  if (!options_.is_shown) return;
  const std::string text = PrintableLine(StateText());
  if (options_.is_terminal) {
    const std::size_t blank = drawn_width_ > text.size() ? drawn_width_ - text.size() : 0;
    *stream_ << '\r' << text << std::string(blank, ' ') << std::flush;
    drawn_width_ = text.size();
  } else {
    *stream_ << text << std::endl;
  }
  is_drawn_ = true;
}

}  // namespace interlacer::cli

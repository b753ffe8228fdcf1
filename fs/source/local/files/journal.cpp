#include "fs/source/local/files/journal.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include "frame/header/frame_header.hpp"
#include "frame/store/local_store.hpp"

namespace bloscfs::fs {
namespace {

/// Most bytes of a journal that are read: about a million lines.
constexpr std::uint64_t kMaxJournal = std::uint64_t{64} << 20;
/// Most makers that makers() returns, latest first. The sweep compares each temporary that it finds
/// with all of them.
constexpr std::size_t kMaxMakers = 1000;
constexpr std::string_view kKept = "kept", kMaker = "maker";
constexpr std::uint8_t kCancelled = '-';

bool stands_for_itself(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("._-/").find(c) != std::string_view::npos;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (stands_for_itself(c))
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

/// Returns nullopt if escaped() cannot have returned `text`.
std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text.front() != '%') {
      if (!stands_for_itself(text.front())) return std::nullopt;
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    unsigned value = 0;
    const std::string_view digits = text.substr(1, 2);
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 2 || result.ptr != digits.data() + 2 || value == 0) return std::nullopt;
    out += static_cast<char>(value);
    text.remove_prefix(3);
  }
  return out;
}

/// True if the path has no empty, "." or ".." component, so that it stays below its start.
bool is_inside(const std::string& path) {
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, '/');)
    if (part.empty() || part == "." || part == "..") return false;
  return !path.empty();
}

std::variant<std::monostate, frame::TemporaryMaker, KeptFile> parse_line(const std::string& line) {
  std::istringstream words(line);
  std::string kind, first, second, loss;
  words >> kind >> first >> second >> loss;
  if (kind == kMaker)
    if (const auto maker = frame::TemporaryMaker::parse(first)) return *maker;
  const auto path = unescaped(second);
  if (kind == kKept && frame::is_temporary_name(first) && path && is_inside(*path))
    return KeptFile{first, *path, loss_of(loss)};
  return {};
}

codec::Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

Journal::Journal(std::shared_ptr<frame::StoreFile> file) : file_(std::move(file)) {
  const MutexLock lock(mutex_);
  read();
}

Journal::Journal(const frame::UniqueFd& file)
    : Journal(frame::make_local_file(frame::UniqueFd(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0)))) {}

void Journal::read() {
  end_ = static_cast<std::uint64_t>(file_->stamp().size);
  is_too_long_ = end_ > kMaxJournal;
  std::string text(std::min(end_, kMaxJournal), '\0');
  text.resize(file_->read_at(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
  // A frame under the journal's name is user data: none of its bytes count as a line.
  if (frame::has_frame_magic(bytes_of(text))) text.clear();
  has_torn_end_ = !text.empty() && text.back() != '\n';
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    Line line{begin, end + 1 - begin, parse_line(text.substr(begin, end - begin))};
    if (const auto* kept = std::get_if<KeptFile>(&line.content))
      kept_.emplace(kept->temporary, lines_.size());
    lines_.push_back(std::move(line));
  }
}

std::vector<frame::TemporaryMaker> Journal::makers() const {
  const MutexLock lock(mutex_);
  std::vector<frame::TemporaryMaker> makers;
  if (is_too_long_) return makers;
  for (auto line = lines_.rbegin(); line != lines_.rend() && makers.size() < kMaxMakers; ++line)
    if (const auto* maker = std::get_if<frame::TemporaryMaker>(&line->content);
        // This process is still running: its temporaries are not leftovers.
        maker != nullptr && !(*maker == frame::TemporaryMaker::self()))
      makers.push_back(*maker);
  return makers;
}

std::vector<KeptFile> Journal::kept() const {
  const MutexLock lock(mutex_);
  std::vector<KeptFile> files;
  for (const Line& line : lines_)
    if (const auto* kept = std::get_if<KeptFile>(&line.content)) files.push_back(*kept);
  return files;
}

bool Journal::is_empty() const {
  const MutexLock lock(mutex_);
  return !is_too_long_ && std::all_of(lines_.begin(), lines_.end(), [](const Line& line) {
    return std::holds_alternative<std::monostate>(line.content);
  });
}

void Journal::add(const frame::TemporaryMaker& maker) {
  const MutexLock lock(mutex_);
  append(fmt::format("{} {}\n", kMaker, maker.text()), {0, 0, maker});
}

void Journal::add(const KeptFile& file) {
  const MutexLock lock(mutex_);
  const std::string_view loss = word_of(file.loss);
  append(fmt::format("{} {} {}{}{}\n", kKept, file.temporary, escaped(file.path),
                     loss.empty() ? "" : " ", loss),
         {0, 0, file});
  kept_.emplace(file.temporary, lines_.size() - 1);
  file_->sync();
}

void Journal::append(std::string text, Line line) {
  // A line that a crash has cut short must not become the start of the new line.
  if (has_torn_end_) text.insert(0, "\n");
  line.offset = end_ + (has_torn_end_ ? 1 : 0);
  line.size = text.size() - (line.offset - end_);
  try {
    file_->write_at(end_, bytes_of(text));
  } catch (const std::system_error&) {
    file_->truncate(end_);
    throw;
  }
  has_torn_end_ = false;
  end_ += text.size();
  lines_.push_back(std::move(line));
}

/// Cancels a line. Cuts off the cancelled lines at the end of the file.
void Journal::cancel(std::size_t number) {
  lines_[number].content = {};
  const std::size_t before = lines_.size();
  // Of a journal that is too long, only the first part was read. The bytes behind it may hold valid
  // lines.
  while (!is_too_long_ && !lines_.empty() &&
         std::holds_alternative<std::monostate>(lines_.back().content))
    lines_.pop_back();
  // Overwriting one byte is atomic in a crash. "kept" becomes "-ept", which no reader knows.
  if (lines_.size() == before) return file_->write_at(lines_[number].offset, {{kCancelled}});
  end_ = lines_.empty() ? 0 : lines_.back().offset + lines_.back().size;
  has_torn_end_ = false;
  file_->truncate(end_);
}

void Journal::forget(const frame::TemporaryMaker& maker) {
  const MutexLock lock(mutex_);
  std::vector<std::size_t> lines;
  for (std::size_t i = 0; i < lines_.size(); i++)
    if (const auto* known = std::get_if<frame::TemporaryMaker>(&lines_[i].content);
        known != nullptr && *known == maker)
      lines.push_back(i);
  for (const std::size_t line : lines) cancel(line);
}

void Journal::forget(const std::string& temporary) {
  const MutexLock lock(mutex_);
  for (auto [found, end] = kept_.equal_range(temporary); found != end; ++found)
    cancel(found->second);
  kept_.erase(temporary);
}

void Journal::sync() {
  const MutexLock lock(mutex_);
  file_->sync();
}

}  // namespace bloscfs::fs

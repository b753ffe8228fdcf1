#include "tools/csv_parser.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/python/utf8.hpp"

namespace bloscfs::tools {
namespace {

using codec::throw_malformed;

constexpr std::size_t kReadPiece = std::size_t{256} << 10;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

}  // namespace

CsvParser::CsvParser(Read read, char delimiter)
    : read_(std::move(read)), delimiter_(delimiter), buffer_(kReadPiece) {
  ends_plain_[static_cast<unsigned char>(delimiter)] = true;
  ends_plain_['\n'] = true;
  skip_byte_order_mark();
}

void CsvParser::skip_byte_order_mark() {
  fill();
  const auto begin = buffer_.begin();
  if (end_ >= kByteOrderMark.size() &&
      std::equal(kByteOrderMark.begin(), kByteOrderMark.end(), begin,
                 [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; }))
    position_ = kByteOrderMark.size();
}

bool CsvParser::fill() {
  position_ = 0;
  end_ = read_(buffer_);
  return end_ > 0;
}

/// Returns the next byte, but does not consume it. Returns -1 at the end of the input.
int CsvParser::peek() {
  if (position_ == end_ && !fill()) return -1;
  return buffer_[position_];
}

bool CsvParser::next() {
  do {
    record_.clear();
    ends_.clear();
    line_ = next_line_;
    if (!read_record()) return false;
  } while (record_.empty() && ends_.size() == 1 && !ends_.front().quoted && field_count_ != 1);
  set_fields();
  check_count();
  check_utf8();
  return true;
}

bool CsvParser::read_record() {
  if (peek() < 0) return false;
  while (read_field() == Stop::delimiter)
    if (ends_.size() == kMaxFields) refuse_size(fmt::format("{} fields", kMaxFields));
  return true;
}

CsvParser::Stop CsvParser::read_field() {
  const bool quoted = peek() == '"';
  Stop stop = Stop::input_end;
  if (quoted) {
    read_quoted();
    stop = stop_behind_quote();
  } else {
    stop = read_plain();
  }
  ends_.push_back({record_.size(), quoted});
  return stop;
}

/// Reads a field from its opening quote to its closing quote.
void CsvParser::read_quoted() {
  const std::int64_t line = next_line_;
  ++position_;
  for (;;) {
    if (peek() < 0) throw_malformed(fmt::format("line {}: a quote is not closed", line));
    const auto begin = buffer_.begin() + static_cast<std::ptrdiff_t>(position_);
    const auto end = buffer_.begin() + static_cast<std::ptrdiff_t>(end_);
    const auto quote = std::find(begin, end, std::uint8_t{'"'});
    next_line_ += std::count(begin, quote, std::uint8_t{'\n'});
    append(static_cast<std::size_t>(quote - begin));
    if (quote == end) continue;
    ++position_;
    if (peek() != '"') return;
    append(1);
  }
}

CsvParser::Stop CsvParser::stop_behind_quote() {
  int c = peek();
  if (c == '\r') {
    ++position_;
    c = peek();
    if (c >= 0 && c != '\n')
      throw_malformed(fmt::format("line {}: text behind a closing quote", next_line_));
  }
  if (c < 0) return Stop::input_end;
  if (c != '\n' && c != static_cast<unsigned char>(delimiter_))
    throw_malformed(fmt::format("line {}: text behind a closing quote", next_line_));
  ++position_;
  if (c != '\n') return Stop::delimiter;
  ++next_line_;
  return Stop::line_end;
}

CsvParser::Stop CsvParser::read_plain() {
  const std::size_t begin = record_.size();
  for (;;) {
    const int c = peek();
    if (c >= 0 && !ends_plain_[static_cast<std::size_t>(c)]) {
      std::size_t at = position_;
      while (at < end_ && !ends_plain_[buffer_[at]]) ++at;
      append(at - position_);
      continue;
    }
    if (c == static_cast<unsigned char>(delimiter_)) {
      ++position_;
      return Stop::delimiter;
    }
    // A carriage return in front of a line end belongs to the line end.
    if (record_.size() > begin && record_.back() == '\r') record_.pop_back();
    if (c < 0) return Stop::input_end;
    ++position_;
    ++next_line_;
    return Stop::line_end;
  }
}

/// Moves the next `size` bytes from the buffer to the record.
void CsvParser::append(std::size_t size) {
  if (record_.size() + size > kMaxRecord)
    refuse_size(fmt::format("{} MiB, is a quote not closed?", kMaxRecord >> 20));
  record_.append(reinterpret_cast<const char*>(buffer_.data()) + position_, size);
  position_ += size;
}

void CsvParser::set_fields() {
  fields_.clear();
  std::size_t begin = 0;
  for (const FieldEnd& end : ends_) {
    fields_.push_back({std::string_view(record_).substr(begin, end.at - begin), end.quoted});
    begin = end.at;
  }
}

void CsvParser::check_count() const {
  if (field_count_ != 0 && fields_.size() != field_count_)
    throw_malformed(fmt::format("line {}: wanted {} fields as in the first line, found {}", line_,
                                field_count_, fields_.size()));
}

void CsvParser::check_utf8() const {
  if (is_ascii(record_)) return;
  std::int64_t line = line_;
  for (const CsvField& field : fields_) {
    for (std::string_view rest = field.text; !rest.empty();) {
      if (rest.front() == '\n') ++line;
      if (!frame::take_code_point(rest))
        throw_malformed(fmt::format("line {}: invalid UTF-8", line));
    }
  }
}

void CsvParser::refuse_size(const std::string& what) const {
  throw codec::Error(codec::FormatErrc::too_large,
                     fmt::format("line {}: a record of more than {}", line_, what));
}

}  // namespace bloscfs::tools

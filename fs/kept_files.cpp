#include "fs/kept_files.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>

#include <fmt/core.h>

#include "frame/temporary_name.hpp"
#include "fs/naming.hpp"

namespace bloscfs::fs {
namespace {

/// Of a journal that is believed: some million lines. What lies behind would be swept.
constexpr std::int64_t kMaxJournal = 64 << 20;
constexpr std::string_view kKept = "kept";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 ||
        std::string_view("._-/").find(c) != std::string_view::npos)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text.front() != '%') {
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

/// A path that stays below where it starts.
bool is_inside(const std::string& path) {
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, '/');)
    if (part.empty() || part == "." || part == "..") return false;
  return !path.empty();
}

std::vector<KeptFile> read_journal(const frame::StoreDirectory& directory,
                                   const std::string& name) {
  const auto source = directory.open_source(name);
  if (!source) return {};
  std::vector<std::uint8_t> bytes(
      static_cast<std::size_t>(std::clamp<std::int64_t>(source->stamp().size, 0, kMaxJournal)));
  bytes.resize(source->read_at(0, bytes));
  std::istringstream lines(std::string(bytes.begin(), bytes.end()));
  std::vector<KeptFile> files;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind, temporary, path;
    words >> kind >> temporary >> path;
    const auto plain = unescaped(path);
    if (kind == kKept && is_temporary(temporary) && plain && is_inside(*plain))
      files.push_back({temporary, *plain});
  }
  return files;
}

}  // namespace

KeptFiles::KeptFiles(std::shared_ptr<frame::StoreDirectory> directory,
                     const std::optional<std::string>& single)
    : directory_(std::move(directory)), journal_(lock_file_name(single)) {}

std::vector<KeptFile> KeptFiles::list() const { return read_journal(*directory_, journal_); }

void KeptFiles::add(const KeptFile& file) {
  auto files = list();
  files.push_back(file);
  write(files);
}

void KeptFiles::forget(const std::string& temporary) {
  auto files = list();
  std::erase_if(files, [&](const KeptFile& file) { return file.temporary == temporary; });
  write(files);
}

void KeptFiles::write(const std::vector<KeptFile>& files) {
  std::string text;
  for (const KeptFile& file : files)
    text += fmt::format("{} {} {}\n", kKept, file.temporary, escaped(file.path));
  const std::string fresh = frame::temporary_name();
  const auto journal = directory_->create(fresh, 0600);
  try {
    journal->write_at(0, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    journal->sync();
    directory_->rename(fresh, journal_, frame::RenameMode::replace);
  } catch (...) {
    directory_->unlink(fresh);
    throw;
  }
  directory_->sync();
}

std::vector<KeptFile> kept_files_in(const std::shared_ptr<frame::StoreDirectory>& directory,
                                    const std::vector<std::string>& names) {
  std::vector<KeptFile> files;
  for (const std::string& name : names) {
    if (!is_lock_file(name)) continue;
    for (KeptFile& file : read_journal(*directory, name)) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace bloscfs::fs

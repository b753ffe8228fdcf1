#include "frame/pystore/column_names.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "frame/python/utf8.hpp"

namespace bloscfs::frame::inline pystore {
namespace {

/// A file's name is a part of the key, followed by at most `.notnull.b2nd`.
constexpr std::size_t kMaxPart = 255 - 13;
constexpr std::size_t kMaxPath = 1000;

/// Appends a character to a path in which points and slashes have a meaning.
void append_encoded(std::string& path, char c) {
  if (c == '%' || c == '/' || c == '.' || c == '\\')
    path += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  else
    path += c;
}

std::optional<std::string> part_problem(std::string_view part) {
  if (part.empty()) return "a point in a name stands between two parts";
  if (part.starts_with('_')) return "names that begin with _ are those of a table's own leaves";
  if (part.size() > kMaxPart) return fmt::format("a part has more than {} bytes", kMaxPart);
  return std::nullopt;
}

}  // namespace

std::string column_path(std::string_view name) {
  std::string path;
  bool escaped = false;
  for (const char c : name) {
    if (c == '\\' && !escaped) {
      escaped = true;
      continue;
    }
    if (c == '.' && !escaped)
      path += '/';
    else
      append_encoded(path, c);
    escaped = false;
  }
  if (escaped) append_encoded(path, '\\');
  return path;
}

std::optional<std::string> column_name_problem(std::string_view name) {
  if (name.empty()) return "the name is empty";
  if (!is_utf8(name)) return "the name is not UTF-8";
  const bool has_control = std::any_of(name.begin(), name.end(),
                                       [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (has_control) return "no key has control characters";
  // python-blosc2 takes a backslash for the start of an escape.
  if (name.find('\\') != std::string_view::npos) return "no name of a column has a backslash";
  const std::string path = column_path(name);
  if (path.size() > kMaxPath) return fmt::format("the key has more than {} bytes", kMaxPath);
  for (std::string_view rest = path;;) {
    const std::size_t slash = rest.find('/');
    if (auto problem = part_problem(rest.substr(0, slash))) return problem;
    if (slash == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(slash + 1);
  }
}

}  // namespace bloscfs::frame::inline pystore

#include "tests/model/trees.hpp"

#include <algorithm>
#include <sstream>
#include <system_error>

#include "tests/support/xattr.hpp"

namespace bloscfs::test {

namespace {

std::string attribute_difference(const fs_std::path& model, const fs_std::path& other) {
  const auto own = [](const std::string& name) {
    return name.starts_with("user.") && !name.starts_with("user.blosc2.") &&
           !name.starts_with("user.bloscfs.");
  };
  std::set<std::string> expected, found;
  for (const auto& name : list_xattrs(model))
    if (own(name)) expected.insert(name);
  for (const auto& name : list_xattrs(other))
    if (own(name)) found.insert(name);
  if (expected != found) return "attributes " + join(expected) + ", other side " + join(found);
  for (const auto& name : expected)
    if (get_xattr(model, name) != get_xattr(other, name)) return "value of " + name;
  return {};
}

std::string text_of(const fs_std::path& symlink) { return fs_std::read_symlink(symlink).string(); }

}  // namespace

std::set<std::string> names_in(const fs_std::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs_std::directory_iterator(directory))
    names.insert(entry.path().filename().string());
  return names;
}

std::string join(const std::set<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : " ") + name;
  return "{" + text + "}";
}

std::string first_difference(const ByteVector& model, const ByteVector& other) {
  if (model == other) return {};
  std::ostringstream text;
  const auto common = static_cast<std::ptrdiff_t>(std::min(model.size(), other.size()));
  const auto at = std::mismatch(model.begin(), model.begin() + common, other.begin());
  text << "sizes " << model.size() << " and " << other.size() << ", first difference at "
       << at.first - model.begin();
  if (at.first != model.begin() + common)
    text << ": " << int{*at.first} << " became " << int{*at.second};
  std::size_t count = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(common); ++i) count += model[i] != other[i];
  text << ", " << count << " bytes differ";
  return text.str();
}

std::string difference_of(const fs_std::path& model, const fs_std::path& other) {
  try {
    const auto status = fs_std::symlink_status(model);
    if (fs_std::is_symlink(status) && text_of(model) != text_of(other)) return "symlinks' texts";
    if (fs_std::is_regular_file(status)) {
      const std::string difference = first_difference(read_file(model), read_file(other));
      if (!difference.empty()) return difference;
    }
    return attribute_difference(model, other);
  } catch (const std::system_error& error) {
    return error.what();
  }
}

}  // namespace bloscfs::test

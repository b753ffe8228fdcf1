#include "fs/source/local/files/target_name.hpp"

#include <climits>

namespace bloscfs::fs {

bool is_array_name(std::string_view shown_name) { return shown_name.ends_with(kNpySuffix); }

std::vector<std::string> container_names(const std::string& shown_name, ShownAs shown,
                                         std::string_view previous, std::string_view suffix) {
  std::vector<std::string> names;
  const auto consider = [&](std::string_view base, std::string_view with) {
    std::string name = std::string(base) + std::string(with);
    if (name.size() <= NAME_MAX && preferred_name(name, shown) == shown_name)
      names.push_back(std::move(name));
  };
  const auto consider_all = [&](std::string_view with) {
    if (shown == ShownAs::array && is_array_name(shown_name))
      consider(std::string_view(shown_name).substr(0, shown_name.size() - kNpySuffix.size()), with);
    consider(shown_name, with);
  };
  if (!previous.empty()) consider_all(previous.substr(stem(previous, shown).size()));
  consider_all(suffix);
  if (names.empty()) consider_all({});
  return names;
}

bool shows_as(const std::string& shown_name, const std::string& full_name, ShownAs shown,
              const EntryProbe& others) {
  if (is_temporary(full_name) || is_lock_file(full_name) ||
      preferred_name(full_name, shown) != shown_name)
    return false;
  // If no entry is shown as `shown_name`, a new entry can be shown so without changing others: an
  // entry that also wants this shown name appears under another one already.
  if (others(full_name) || full_name_of(shown_name, others)) return false;
  const EntryProbe all = [&](const std::string& name) {
    return name == full_name ? std::optional<ShownAs>(shown) : others(name);
  };
  return full_name_of(shown_name, all) == full_name;
}

}  // namespace bloscfs::fs

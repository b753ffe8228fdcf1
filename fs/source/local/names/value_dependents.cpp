#include "fs/source/local/names/value_dependents.hpp"

#include <algorithm>
#include <cerrno>
#include <set>
#include <string_view>
#include <utility>

#include <sys/stat.h>

#include "frame/pystore/store_names.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/target_name.hpp"
#include "fs/source/local/names/protected_columns.hpp"
#include "fs/source/local/names/removal.hpp"
#include "fs/source/local/names/surroundings.hpp"
#include "fs/support/lock_breaks.hpp"

namespace bloscfs::fs {
namespace {

/// Which of a table's rows are there.
constexpr std::string_view kValidRows = "_valid_rows";
constexpr std::string_view kResults = ".__query_cache__.b2frame";

std::vector<std::string> components(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin) parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts, std::size_t first, std::size_t last) {
  std::string path;
  for (std::size_t i = first; i < last; i++) path = join_path(path, parts[i]);
  return path;
}

bool exists(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0;
}

std::string without(std::string name, std::string_view ending) {
  if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name;
}

/// The name minus its last extension, as python-blosc2 makes keys of names; what will be an array
/// loses that of the shown one, too.
std::string key_of(const std::string& full_name) {
  const std::size_t dot = full_name.rfind('.');
  return dot == std::string::npos || dot == 0 ? full_name
                                              : without(full_name.substr(0, dot), ".npy");
}

bool is_array(ShownAs shown, const std::string& full_name) {
  return shown == ShownAs::array || full_name.ends_with(kArraySuffix) ||
         stem(full_name).ends_with(".npy");
}

bool has_columns(const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), kColumnsGroup) != names.end();
}

/// Names under which results of queries on an array of that name can be: python-blosc2 takes off
/// all that follows the first dot.
std::set<std::string> result_names(const std::string& full_name) {
  std::string_view name = stem(full_name);
  std::set<std::string> names{std::string(name), without(std::string(name), ".npy")};
  const std::size_t dot = name.find('.', name.find_first_not_of('.'));
  names.insert(std::string(name.substr(0, dot)));
  return names;
}

}  // namespace

struct ValueDependents::Place {
  NodeId directory = 0;
  SourcePath directory_path;
  std::string full_name;
  bool is_array = false;
};

std::optional<ValueDependents::Place> ValueDependents::place_of(NodeId node) {
  return Attempts::run([&]() -> std::optional<Place> {
    ReadTree names(services_.tree);
    const auto object = names.object(node, TreeLooks::State::any);
    if (!object) return std::nullopt;
    return Place{object->directory, object->directory_path, object->full_name,
                 is_array(object->entry.shown, object->full_name)};
  });
}

/// Looks through the directories above the file, of which some may lie above SOURCE, for that of a
/// table.
void ValueDependents::require_changeable(const Place& place) const {
  const Surroundings& above = services_.surroundings;
  const std::size_t first = above.names().size();  // that is below SOURCE
  std::vector<std::string> all = above.names();
  for (std::string& name : components(place.directory_path.text())) all.push_back(std::move(name));
  const auto path_at = [&](std::size_t depth) {
    return join_path(frame::descriptor_path(services_.root.descriptor()), join(all, first, depth));
  };
  // True if the directory with the first `depth` of the names has, or is in, a table.
  const auto require_of_table = [&](std::size_t depth, const std::string& key) {
    std::string obstacle;
    bool is_described = false;
    if (depth < first) {
      is_described = above.has_table(depth);
      if (is_described) obstacle = above.columns(depth).obstacle(key);
    } else if (const auto table = join_path(path_at(depth), std::string(kTableFrame));
               exists(table)) {
      is_described = true;
      obstacle = ProtectedColumns(table).obstacle(key);
    }
    if (!obstacle.empty()) frame::throw_errno(EROFS, obstacle);
    if (is_described) return true;
    bool is_in_store = first > 0 && above.is_in_store(std::min(depth, first - 1));
    for (std::size_t up = depth; !is_in_store && up >= first && up > 0; up--)
      is_in_store = exists(join_path(path_at(up), std::string(frame::kEmbedName)));
    if (is_in_store)
      frame::throw_errno(
          EROFS, "read-only, since the table that it belongs to is described inside of a store");
    return false;
  };
  const std::string name = key_of(place.full_name);
  if (name == kValidRows && require_of_table(all.size(), {})) return;
  for (std::size_t depth = all.size(); depth-- > 0;)
    if (all[depth] == kColumnsGroup &&
        require_of_table(depth, join_path(join(all, depth + 1, all.size()), name)))
      return;
}

void ValueDependents::require_changeable(NodeId node) {
  if (!may_have_any(node)) return;
  if (const auto place = place_of(node)) require_changeable(*place);
}

void ValueDependents::require_changeable(NodeId directory, const std::string& full_name) {
  require_changeable({directory, services_.tree.path(directory), full_name, false});
}

/// False where its names alone tell that it belongs to no table and has no results: of most files,
/// which a commit need not look at for that.
bool ValueDependents::may_have_any(NodeId node) const {
  if (has_columns(services_.surroundings.names())) return true;
  const Tree::Called file = services_.tree.called(node);
  const auto may_have = [&](const SourcePath& path) {
    const std::vector<std::string> names = components(path.text());
    return names.empty() || has_columns(names) || key_of(names.back()) == kValidRows ||
           is_array(file.shown, names.back());
  };
  return file.paths.empty() || std::any_of(file.paths.begin(), file.paths.end(), may_have);
}

void ValueDependents::remove_results(NodeId node) {
  if (!may_have_any(node)) return;
  const auto place = place_of(node);
  if (!place || !place->is_array) return;
  bool is_removed = false;
  const SourceDirectory directory = services_.root.directory(place->directory_path);
  const std::vector<NodeId> ended = Attempts::run([&] {
    TreeChanges names(services_.tree);
    services_.unsynced_names.before_giving_up();
    Removal removal(names, services_);
    for (const std::string& stem : result_names(place->full_name)) {
      const std::string name = stem + std::string(kResults);
      // An array may itself have the name of such a result: it is what changes, and stays.
      const auto object = name == place->full_name || !directory.stat(name)
                              ? std::nullopt
                              : names.stored(place->directory, name);
      if (!object || object->is_directory()) continue;
      removal.remove(*object);
      is_removed = true;
    }
    return removal.ended();
  });
  if (is_removed) directory.sync();
  services_.tell_removed(ended);
}

}  // namespace bloscfs::fs

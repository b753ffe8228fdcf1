#include "frame/pystore/store_names.hpp"

#include "frame/store/temporary_name.hpp"

namespace bloscfs::frame::inline pystore {

LeafForm leaf_form(std::string_view file_name) {
  if (leaf_stem(file_name).size() == file_name.size()) return LeafForm::other;
  if (file_name.ends_with(".b2nd")) return LeafForm::array;
  if (file_name.ends_with(".b2f")) return LeafForm::flat;
  return file_name.ends_with(".b2b") ? LeafForm::batch : LeafForm::other;
}

std::string_view leaf_stem(std::string_view file_name) {
  const std::size_t point = file_name.rfind('.');
  // As in Python, points at the start of a name begin no suffix.
  const bool begins = file_name.find_first_not_of('.') >= point;
  return point == std::string_view::npos || begins ? file_name : file_name.substr(0, point);
}

std::string_view last_part(std::string_view key) { return key.substr(key.rfind('/') + 1); }

bool is_no_leaf(std::string_view file_name, bool in_root) {
  return (in_root && file_name == kEmbedName) || file_name.ends_with(".tmp") ||
         file_name.ends_with(".b2lock") || file_name.ends_with(".bloscfs-lock") ||
         is_temporary_name(file_name);
}

bool is_hidden_in_store(std::string_view file_name, bool in_root) {
  return is_no_leaf(file_name, in_root) || leaf_stem(file_name) == kGroupAttributes;
}

}  // namespace bloscfs::frame::inline pystore

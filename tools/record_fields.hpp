#pragma once
// Records: items of NumPy's structured types, as columns of scalars.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/item_text.hpp"

namespace bloscfs::tools {

struct RecordField {
  std::string name;   ///< of a field of a nested record a.b, of items of a sub-array a[0], a[1]
  std::string dtype;  ///< of a scalar
  std::size_t offset = 0, size = 0;  ///< bytes

  codec::Bytes of(codec::Bytes record) const { return record.subspan(offset, size); }
};

/// The scalars of a record in their order; nullopt for a dtype that is not structured. Throws
/// Error(unsupported) for more than 4096.
std::optional<std::vector<RecordField>> record_fields(const std::string& dtype);

/// Texts of the fields, in their order. Throws Error(unsupported), which names a field that has
/// none.
std::vector<ItemText> field_texts(const std::vector<RecordField>& fields, TextStyle style);

/// The text of a record: those of its fields, with a comma or a blank between them.
ItemText record_text(const std::vector<RecordField>& fields, TextStyle style);

}  // namespace bloscfs::tools

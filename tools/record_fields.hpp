#pragma once
// Splits records, which are items of NumPy's structured types, into columns of scalars.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/item_text.hpp"

namespace bloscfs::tools {

struct RecordField {
  std::string name;                  ///< a.b for a nested record, a[0], a[1] for a sub-array
  std::string dtype;                 ///< dtype of the scalar
  std::size_t offset = 0, size = 0;  ///< bytes

  codec::Bytes of(codec::Bytes record) const { return record.subspan(offset, size); }
};

/// Returns the scalars of a record in order; nullopt if the dtype is not structured. Throws
/// Error(unsupported) if there are more than 4096 scalars.
std::optional<std::vector<RecordField>> record_fields(const std::string& dtype);

/// Returns the conversions to text for the fields, in order. Throws Error(unsupported) that names a
/// field without a text form.
std::vector<ItemText> field_texts(const std::vector<RecordField>& fields, TextStyle style);

/// Returns the conversion for a record: the texts of its fields, separated by a comma or a space.
ItemText record_text(const std::vector<RecordField>& fields, TextStyle style);

}  // namespace bloscfs::tools

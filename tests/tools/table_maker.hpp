#pragma once
// Makes tables of python-blosc2 for tests.

#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/frame_writer.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// A store in a directory, whose root is a table.
class TableMaker {
 public:
  TableMaker();

  std::string path() const { return (dir_ / "t.b2d").string(); }
  /// Returns a path next to the store, for other files.
  std::string beside(const std::string& name) const { return (dir_ / name).string(); }

  /// Adds a column to the schema, without a leaf.
  void declare(const nlohmann::json& column);
  /// Writes a leaf that is an array with the bytes `items`.
  void array(const std::string& key, const std::string& items,
             const std::vector<std::int64_t>& shape, const std::string& dtype,
             std::size_t itemsize);
  /// Writes a leaf that is a list of objects, in one MessagePack document.
  void objects(const std::string& key, const nlohmann::json& values);
  /// Writes a leaf that is a list of objects, from the bytes of a document.
  void document(const std::string& key, const ByteVector& document);
  /// Writes the schema. `is_live` has a byte for each row, which is 0 for deleted rows.
  void finish(const std::string& is_live);
  /// Like the other finish(), but with any text as the schema.
  void finish(const std::string& is_live, const std::string& schema);

 private:
  TempDir dir_;
  nlohmann::json columns_ = nlohmann::json::array();
};

}  // namespace bloscfs::test

#pragma once
// Makes tables of python-blosc2 for tests.

#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/frame_writer.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// A directory store whose root is a table.
class TableMaker {
 public:
  TableMaker();

  std::string path() const { return (dir_ / "t.b2d").string(); }
  /// A path for something else.
  std::string beside(const std::string& name) const { return (dir_ / name).string(); }

  /// Adds a column to the schema alone.
  void declare(const nlohmann::json& column);
  /// Writes a leaf that is an array; `items` are its bytes.
  void array(const std::string& key, const std::string& items,
             const std::vector<std::int64_t>& shape, const std::string& dtype,
             std::size_t itemsize);
  /// Writes a leaf that is a list of objects, all in one document.
  void objects(const std::string& key, const nlohmann::json& values);
  /// The same of a document.
  void document(const std::string& key, const ByteVector& document);
  /// Writes the schema, and the rows that were not deleted.
  void finish(const std::string& is_live);
  /// The same with a schema of any text.
  void finish(const std::string& is_live, const std::string& schema);

 private:
  TempDir dir_;
  nlohmann::json columns_ = nlohmann::json::array();
};

}  // namespace bloscfs::test

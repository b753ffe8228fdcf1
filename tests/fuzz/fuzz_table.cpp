// A .b2z of arbitrary bytes is read as a table of python-blosc2, and written as CSV and as JSON.
// The bytes are also read as parts of tables: a schema, an Arrow stream, msgpack.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "frame/header/arrow_batch.hpp"
#include "frame/pystore/python_store.hpp"
#include "tests/fuzz/memory_source.hpp"
#include "tools/run_limits.hpp"
#include "tools/tables/msgpack_text.hpp"
#include "tools/tables/table.hpp"

using namespace bloscfs;
using tools::CellStyle;

namespace {

/// A hostile table of a few KiB does its harm in much less text than this.
constexpr std::size_t kMostText = std::size_t{1} << 20;
constexpr CellStyle kStyles[] = {CellStyle::csv, CellStyle::json};

/// Runs `action`, which may refuse its input.
template <typename Action>
void tolerate(const Action& action) {
  try {
    action();
  } catch (const std::runtime_error&) {
    // Also thrown: codec::Error and std::system_error, which are derived from it.
  }
}

void read_table(const frame::PythonStore& store, CellStyle style) {
  tools::RunLimits limits;
  tools::Table table(store, "/", {}, style, limits);
  std::string line;
  for (std::size_t written = 0; written < kMostText && table.next_row(); written += line.size()) {
    line = '\n';
    for (std::size_t column = 0; column < table.schemas().size(); column++)
      table.append_cell(column, line);
  }
}

void read_parts(codec::Bytes bytes) {
  tolerate([&] {
    tools::parse_table_schema({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  });
  for (const CellStyle style : kStyles) {
    std::string cell;
    tolerate([&] { tools::append_msgpack_cell(bytes, 0, style, cell); });
    // Converted Arrow data is valid msgpack, but its texts may not be UTF-8.
    tolerate([&] { tools::append_msgpack_cell(frame::arrow_to_msgpack(bytes), 0, style, cell); });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const codec::Bytes bytes(data, size);
  if (!std::string_view(reinterpret_cast<const char*>(data), size).starts_with("PK")) {
    read_parts(bytes);
    return 0;
  }
  tolerate([&] {
    const auto source = std::make_shared<frame::fuzz::MemorySource>(bytes);
    const auto store = frame::open_zip_store(source, {});
    if (!store) return;
    for (const CellStyle style : kStyles) tolerate([&] { read_table(*store, style); });
  });
  return 0;
}

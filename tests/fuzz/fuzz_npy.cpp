// Parses the input as the start of a NPY file, as a Python literal and as a dtype. An accepted
// value must survive being written and parsed again.

#include <string_view>

#include "codec/error.hpp"
#include "fs/numpy/npy.hpp"

using namespace bloscfs;

namespace {

void require(bool condition) {
  if (!condition) __builtin_trap();
}

void check_literal(std::string_view text) {
  const std::optional<frame::PythonValue> value = frame::parse_python_literal(text);
  if (!value) return;
  const std::string repr = frame::python_repr(*value);
  if (repr.size() > frame::kMaxPythonLiteral) return;
  const std::optional<frame::PythonValue> again = frame::parse_python_literal(repr);
  require(again && frame::python_repr(*again) == repr);
}

void check_dtype(std::string_view text) {
  const std::optional<fs::NumpyDtype> dtype = fs::parse_numpy_dtype(text);
  if (!dtype) return;
  require(dtype->itemsize >= 0 && dtype->itemsize <= 0x7fffffff);
  fs::build_npy_header(dtype->descr, false, {1, 2});
  // In lists and dicts, empty names and zero-sized items are written in a way that has another
  // meaning.
  if (text[0] == '[' || text[0] == '{') return;
  const std::optional<fs::NumpyDtype> again = fs::parse_numpy_dtype(dtype->stored);
  require(again && again->descr == dtype->descr && again->itemsize == dtype->itemsize);
}

void check_header(codec::Bytes file) {
  try {
    const fs::NpyHeader header = fs::parse_npy_header(file);
    require(header.header_size <= file.size() && header.nbytes >= 0);
    const auto built = fs::build_npy_header(header.dtype.descr, header.fortran_order, header.shape);
    if (built) require(fs::npy_header_size(*built) == built->size());
  } catch (const codec::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_literal(text);
  check_dtype(text);
  check_header({data, size});
  return 0;
}

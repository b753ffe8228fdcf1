#include "tests/support/npy.hpp"

namespace bloscfs::test {

std::string npy_header(const std::string& descr, const std::vector<std::int64_t>& shape,
                       bool fortran_order) {
  constexpr std::size_t kFixed = 10, kAlignment = 64, kSpareDigits = 21;
  std::string tuple = "(";
  for (const auto extent : shape) tuple += std::to_string(extent) + ", ";
  if (shape.size() == 1) tuple.pop_back();
  if (shape.size() > 1) tuple.resize(tuple.size() - 2);
  tuple += ")";
  std::string text = "{'descr': '" + descr +
                     "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                     ", 'shape': " + tuple + ", }";
  // NumPy leaves room for more digits of the dimension that grows when a program appends to the
  // file.
  const std::size_t growing = fortran_order && !shape.empty() ? shape.size() - 1 : 0;
  if (!shape.empty()) text.append(kSpareDigits - std::to_string(shape[growing]).size(), ' ');
  const std::size_t used = kFixed + text.size() + 1;
  text.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace bloscfs::test

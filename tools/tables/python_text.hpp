#pragma once
// Writes values like Python's str() and repr().

#include <string>
#include <string_view>

#include "codec/bytes.hpp"

namespace bloscfs::tools {

/// Appends the fewest digits that read back to the same number: 1.5, 100000.0, 1e+16, nan, -inf.
void append_python_float(float value, std::string& line);
void append_python_float(double value, std::string& line);

/// Appends a number like NumPy's str(): (2-2j), 4j.
void append_python_complex(float real, float imaginary, std::string& line);
void append_python_complex(double real, double imaginary, std::string& line);

/// Appends the repr() of a str: 'a', "it's". Throws Error(malformed) if it is not UTF-8.
void append_python_repr(std::string_view text, std::string& line);

/// Appends the repr() of bytes: b'a\x00'.
void append_python_bytes(codec::Bytes bytes, std::string& line);

}  // namespace bloscfs::tools

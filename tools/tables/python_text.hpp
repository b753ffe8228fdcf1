#pragma once
// Values as Python's str() and repr() write them.

#include <string>
#include <string_view>

#include "codec/bytes.hpp"

namespace bloscfs::tools {

/// The shortest digits that read back as the same number: 1.5, 100000.0, 1e+16, nan, -inf.
void append_python_float(float value, std::string& line);
void append_python_float(double value, std::string& line);

/// As NumPy's str(): (2-2j), 4j.
void append_python_complex(float real, float imaginary, std::string& line);
void append_python_complex(double real, double imaginary, std::string& line);

/// The repr() of a str: 'a', "it's". Throws Error(malformed) for what is no UTF-8.
void append_python_repr(std::string_view text, std::string& line);

/// The repr() of bytes: b'a\x00'.
void append_python_bytes(codec::Bytes bytes, std::string& line);

}  // namespace bloscfs::tools

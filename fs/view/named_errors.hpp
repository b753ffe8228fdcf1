#pragma once
// Errors about bad data that name the part of the container with the bad data.

#include <cstdint>
#include <string>

#include "codec/error.hpp"

namespace bloscfs::fs {

/// Throws `error` again, with `part` before its text.
[[noreturn]] inline void throw_named(const codec::Error& error, const std::string& part) {
  throw codec::Error(static_cast<codec::FormatErrc>(error.code().value()),
                     part + ": " + error.what());
}

/// Runs `step`. If it throws codec::Error, the error names the chunk.
template <typename Step>
auto naming_chunk(std::int64_t chunk, Step step) {
  try {
    return step();
  } catch (const codec::Error& error) {
    throw_named(error, "chunk " + std::to_string(chunk));
  }
}

/// Runs `step`. If it throws codec::Error, the error names the index.
template <typename Step>
auto naming_index(Step step) {
  try {
    return step();
  } catch (const codec::Error& error) {
    throw_named(error, "index");
  }
}

}  // namespace bloscfs::fs

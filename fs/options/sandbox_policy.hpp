#pragma once
// Whether a mount gets a sandbox (fs/sandbox/sandbox.hpp).

namespace bloscfs::fs {

enum class SandboxPolicy {
  automatic,  ///< as much as the kernel supports
  off,
  required,  ///< the full sandbox, or no mount
};

}  // namespace bloscfs::fs

// b2frame: works on frames without mounting them.

#include <cstdio>
#include <exception>

#include <fmt/core.h>

#include "fs/support/log.hpp"
#include "fs/support/printable.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/command_line.hpp"
#include "tools/interrupt.hpp"

int main(int argc, char** argv) {
  bloscfs::fs::log::use_plain("b2frame");
  try {
    bloscfs::tools::watch_for_interrupts();
    const int status = bloscfs::tools::CommandLine(argc > 1 ? argv[1] : "").run(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
    std::perror("b2frame: stdout");
  } catch (const bloscfs::tools::Interrupted& interrupted) {
    bloscfs::tools::end_by_signal(interrupted.signal());
  } catch (const std::exception& error) {
    fmt::print(stderr, "b2frame: {}\n", bloscfs::fs::printable(error.what()));
  }
  return bloscfs::tools::kExitBadData;
}

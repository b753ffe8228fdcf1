#include "tools/command_line.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "frame/remote/open_remote.hpp"
#include "fs/support/printable.hpp"
#include "tools/help_layout.hpp"
#include "tools/unknown_word.hpp"
#include "tools/version.hpp"

namespace bloscfs::tools {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Resolves -n, which has two meanings in extract: --dry-run with -r, and --count otherwise, as in
/// cat. Also turns `head -5` into `head -n 5`, as in head(1).
std::vector<const char*> with_count_spelled_out(std::vector<const char*> arguments) {
  const auto is_word = [](std::string_view word) {
    return [word](const char* argument) { return argument == word; };
  };
  if (arguments.size() > 2 && is_word("head")(arguments[1]) && arguments[2][0] == '-' &&
      is_number(arguments[2] + 1)) {
    arguments[2]++;
    arguments.insert(arguments.begin() + 2, "-n");
  }
  const bool is_extract = arguments.size() > 1 && is_word("extract")(arguments[1]);
  const bool is_recursive = std::any_of(arguments.begin(), arguments.end(), is_word("-r")) ||
                            std::any_of(arguments.begin(), arguments.end(), is_word("--recursive"));
  if (!is_extract || is_recursive) return arguments;
  for (std::size_t i = 2; i + 1 < arguments.size(); i++)
    if (is_word("-n")(arguments[i]) && is_number(arguments[i + 1])) arguments[i] = "--count";
  return arguments;
}

}  // namespace

CommandLine::CommandLine(std::string_view first) {
  app_.formatter(help_layout());
  app_.set_version_flag("-V,--version", "b2frame " + version_text(), "Print the version");
  app_.set_help_flag("-h,--help", "Print this help, or that of a subcommand");
  app_.footer(
      "Examples:\n"
      "  b2frame create measured.npy -o measured.b2nd");
  app_.require_subcommand(0, 1);
  for (const Subcommand& subcommand : needed_for(first)) (this->*subcommand.add)(subcommand.name);
  app_.allow_extras();  // called last, so that subcommands do not inherit it; run() refuses the
                        // extra words
}

int CommandLine::run(int argc, const char* const* argv) {
  try {
    const std::vector<const char*> arguments = with_count_spelled_out({argv, argv + argc});
    app_.parse(static_cast<int>(arguments.size()), arguments.data());
    if (!app_.remaining().empty()) throw CLI::ExtrasError(app_.remaining());
    if (!work_) throw UsageError("a subcommand is required");
    return work_();
  } catch (const CLI::Success& request) {
    return app_.exit(request);
  } catch (const CLI::ParseError& error) {
    complain(explanation(error, app_));
  } catch (const UsageError& error) {
    complain(error.what());
  }
  return kExitBadUsage;
}

std::span<const CommandLine::Subcommand> CommandLine::all_subcommands() {
  static constexpr Subcommand kAll[] = {
      {"info", &CommandLine::add_info},
      {"ls", &CommandLine::add_ls},
      {"extract", &CommandLine::add_extract},
      {"cat", &CommandLine::add_cat},
      {"head", &CommandLine::add_head},
      {"diff", &CommandLine::add_diff},
      {"verify", &CommandLine::add_verify},
      {"report", &CommandLine::add_report},
      {"advise", &CommandLine::add_advise},
      {"create", &CommandLine::add_create},
      {"convert", &CommandLine::add_convert},
      {"compact", &CommandLine::add_compact},
      {"set-meta", &CommandLine::add_set_meta},
      {"pack", &CommandLine::add_pack},
      {"unpack", &CommandLine::add_unpack},
      {"recover", &CommandLine::add_recover},
      {"gc", &CommandLine::add_gc},
      {"repair", &CommandLine::add_repair},
  };
  return kAll;
}

std::span<const CommandLine::Subcommand> CommandLine::needed_for(std::string_view first) {
  const std::span<const Subcommand> all = all_subcommands();
  if (first == "-V" || first == "--version") return {};
  const auto named = std::find_if(all.begin(), all.end(),
                                  [&](const Subcommand& one) { return one.name == first; });
  return named == all.end() ? all : std::span(named, 1);
}

void CommandLine::complain(const std::string& what) const {
  const auto chosen = app_.get_subcommands();
  fmt::print(stderr, "b2frame: {}\nTry 'b2frame{} --help'.\n", bloscfs::fs::printable(what),
             chosen.empty() ? "" : " " + chosen.front()->get_name());
}

CLI::Validator CommandLine::local() {
  return CLI::Validator(
      [](std::string& text) {
        return frame::is_remote(text) ? std::string(
                                            "needs a local file: only info, ls, extract, cat, "
                                            "head, diff, verify and report read URLs")
                                      : std::string();
      },
      "");
}

CLI::App* CommandLine::add_command(const char* name, const char* help,
                                   std::initializer_list<const char*> examples,
                                   const std::string& statuses) {
  CLI::App* command = app_.add_subcommand(name, help);
  command->get_help_ptr()->description("Print this help");
  std::string footer = statuses + "Examples:";
  for (const char* example : examples) footer += fmt::format("\n  b2frame {} {}", name, example);
  command->footer(footer);
  return command;
}

void CommandLine::add_remote(CLI::App& command, RemoteOptions& options) {
  command.add_option("--cafile", options.cafile, "File of trusted certificates (the system's)")
      ->option_text("FILE")
      ->group(kUrlOptions);
  const auto parse_seconds = [](const std::string& text) {
    return static_cast<int>(parse_number(text, 0, 86400));
  };
  add_parsed(command, "--retry-time", options.retry_time, parse_seconds, "SECONDS",
             "Seconds to retry failed requests (60)")
      ->group(kUrlOptions);
  command.add_option("--netrc", options.netrc, "Web users and passwords, in curl's .netrc format")
      ->option_text("FILE")
      ->group(kUrlOptions);
  command
      .add_option("--endpoint", options.endpoint, "URL of the object store for s3:// (Amazon's)")
      ->option_text("URL")
      ->group(kUrlOptions);
  command
      .add_option("--region", options.region,
                  "Region of the object store (AWS_REGION, or us-east-1)")
      ->option_text("REGION")
      ->group(kUrlOptions);
  command.add_flag("--virtual-host", options.virtual_host, "Put the bucket into the host name")
      ->group(kUrlOptions);
  command.add_flag("--anonymous", options.anonymous, "Do not sign requests to s3://")
      ->group(kUrlOptions);
}

}  // namespace bloscfs::tools

// The subcommands that only read.

#include <filesystem>
#include <system_error>

#include <fmt/core.h>

#include "tools/advice.hpp"
#include "tools/command_line.hpp"
#include "tools/help_layout.hpp"
#include "tools/storage_options.hpp"
#include "tools/store_address.hpp"
#include "tools/version.hpp"

namespace bloscfs::tools {

namespace {

constexpr std::int64_t kHeadRows = 10;
constexpr const char* kSliced = "Frame, .blp, table, URL or STORE:/KEY; slice: [0:10, 2]";

}  // namespace

void CommandLine::add_info(const char* name) {
  CLI::App* command =
      add_command(name, "Show header, chunks and metalayers of frames",
                  {"run.b2nd", "--json -r /data", "https://example.org/run.b2z:/temperature/day"});
  command->add_flag("--json", info_.json, "Print one JSON object per file");
  add_recursive(*command, info_.recursive);
  command->add_flag("--stats", info_.stats,
                    "Print minimum, maximum, mean, deviation, NaNs and zeros");
  command->add_flag("--chunk", info_.chunk, "Read each FILE as a bare chunk");
  command->add_option("FILE", info_.files, "Frames, Bloscpack files, URLs, stores or STORE:/KEY")
      ->required();
  add_remote(*command, info_.remote);
  command->callback([this] { work_ = [this] { return run_info(info_); }; });
}

void CommandLine::add_ls(const char* name) {
  CLI::App* command = add_command(
      name, "List frames: shape, dtype, codec, sizes, time",
      {"/data", "-h *.b2nd run.b2z", "-R --json /data | jq 'select(.ratio and .ratio < 2).file'"});
  command->formatter(help_layout("[FILE|DIR]..."));
  // As in ls(1), -h is not --help.
  command->set_help_flag("--help", "Print this help");
  command->add_flag("-h,--human-readable", ls_.human, "Print sizes as 1.5K, 20.0M, 213G");
  command->add_flag("-R,--recursive", ls_.recursive, "Also list subdirectories");
  command->add_flag("--json", ls_.json, "Print one JSON object per file");
  command->add_option("FILE|DIR", ls_.files,
                      "Frames, Bloscpack files, URLs, stores, STORE:/KEY, or directories (default: "
                      "the working directory)");
  add_remote(*command, ls_.remote);
  command->callback([this] { work_ = [this] { return run_ls(ls_); }; });
}

void CommandLine::add_recursive(CLI::App& command, bool& recursive) {
  command.add_flag("-r,--recursive", recursive, "Read all frames below a directory");
}

void CommandLine::add_tree(CLI::App& command, TreeOptions& options, const char* outputs) {
  CLI::Option* const force =
      command.add_flag("--force", options.force,
                       fmt::format("With -r: overwrite {} changed after they were made", outputs));
  command
      .add_flag("--update", options.update, fmt::format("With -r: skip such {} silently", outputs))
      ->excludes(force);
  command.add_flag("-n,--dry-run", options.dry_run,
                   fmt::format("With -r: print the {} that would be written", outputs));
}

void CommandLine::add_extract(const char* name) {
  CLI::App* command = add_command(name, "Write decompressed contents to a file",
                                  {"run.b2nd -o run.npy", "'run.b2nd[-1, 10:20]' -o last.npy",
                                   "-r /data/results -o /tmp/results"});
  command->add_flag("-r,--recursive", extract_.recursive,
                    "Write the tree that a mount of FILE shows to OUT");
  add_tree(*command, extract_.tree, "files");
  command->add_flag("--chunk", extract_.chunk, "Read FILE as a bare chunk");
  command->add_flag("--npy", extract_.npy, "Write an array as a NPY file");
  command->add_flag("--raw", extract_.raw, "Write the bytes, whatever the suffix of OUT is");
  add_parsed(*command, "--offset", extract_.offset, parse_bytes, "SIZE", "First byte to write (0)");
  add_parsed(*command, "--length", extract_.length, parse_bytes, "SIZE",
             "Write at most SIZE bytes (all that follow)");
  add_json(*command, extract_);
  add_parsed(*command, "--count", extract_.count, parse_count, "N",
             "Write at most N items, or rows of a table; also -n N");
  add_table(*command, extract_);
  add_remote(*command, extract_.remote);
  command->add_option("FILE", extract_.file, kSliced)->required();
  command
      ->add_option("-o", extract_.output,
                   "File to write (- for stdout); .npy, .csv and .txt select the format")
      ->option_text("OUT")
      ->required()
      ->check(local());
  command->callback([this] { work_ = [this] { return run_extract(extract_); }; });
}

void CommandLine::add_cat(const char* name) {
  CLI::App* command =
      add_command(name, "Write decompressed contents to stdout",
                  {"--text 'run.b2nd[10:12, 0, ::2]'", "--json run.b2z:/events | jq .name"});
  add_parsed(*command, "-s,--start", cat_.start, parse_position, "N",
             "First item in C order (0); -N counts from the end");
  add_parsed(*command, "-n,--count", cat_.count, parse_count, "N",
             "Write at most N items (all that follow)");
  command->add_flag("--text", cat_.text, "Write text: a line per item, or per row of an array");
  command
      ->add_option("--dtype", cat_.dtype,
                   "With a flat frame: text of this type (unsigned integers)")
      ->option_text("DTYPE");
  add_json(*command, cat_);
  add_table(*command, cat_);
  add_remote(*command, cat_.remote);
  command->add_option("FILE", cat_.file, kSliced)->required();
  cat_.output = "-";
  command->callback([this] { work_ = [this] { return run_extract(cat_); }; });
}

void CommandLine::add_head(const char* name) {
  CLI::App* command = add_command(name, "Write the first rows as text",
                                  {"run.b2nd", "-n 3 run.b2z:/events", "'run.b2nd[:, 0]'"});
  head_.rows = kHeadRows;
  add_parsed(*command, "-n,--count", head_.rows, parse_count, "N",
             fmt::format("Write N rows of an array or table, or lines of a text ({})", kHeadRows));
  command->add_option("--dtype", head_.dtype, "With a flat frame: text of this type")
      ->option_text("DTYPE");
  add_table(*command, head_);
  add_remote(*command, head_.remote);
  command->add_option("FILE", head_.file, kSliced)->required();
  head_.output = "-";
  command->callback([this] { work_ = [this] { return run_extract(head_); }; });
}

void CommandLine::add_diff(const char* name) {
  CLI::App* command = add_command(
      name, "Compare the contents of two frames",
      {"run.b2nd copy.b2nd", "--all a.b2frame b.blp",
       "--meta run.b2nd https://example.org/run.b2nd"},
      fmt::format("Exit status: 0 equal, {} different, {} error.\n", kExitBadData, kExitTrouble));
  command->add_flag("--all", diff_.all, "Count the items that differ");
  command->add_flag("-q,--brief", diff_.brief, "Print only whether they differ");
  command->add_flag("--meta", diff_.meta, "Compare metalayers and storage settings, too");
  command->add_option("A", diff_.first, "Frame, Bloscpack file, URL or STORE:/KEY")->required();
  command->add_option("B", diff_.other, "Another one; kinds may differ")->required();
  add_remote(*command, diff_.remote);
  command->callback([this] { work_ = [this] { return run_diff(diff_); }; });
}

void CommandLine::add_json(CLI::App& command, ExtractOptions& options) {
  command.add_flag("--json", options.json, "Write rows, records or objects as JSON, one per line");
}

void CommandLine::add_table(CLI::App& command, ExtractOptions& options) {
  command.add_option("--columns", options.columns, "Only these columns of a table or of records")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->option_text("NAME,...");
  command.add_option("--rows", options.row_range, "Only rows A to B-1 of a table, counted from 0")
      ->option_text("A:B");
}

void CommandLine::add_verify(const char* name) {
  CLI::App* command = add_command(
      name, "Decode everything and name each bad chunk",
      {"run.b2nd", "-r /data || mail -s 'bad frames' root </dev/null"},
      fmt::format("Exit status: {} damaged or no contents, else {} unreadable or above a limit,\n"
                  "else {} unsupported, else 0 good; 2 wrong command line.\n",
                  kExitBadData, kExitUnreadable, kExitUnsupported));
  command->add_flag("--chunk", verify_.chunk, "Read each FILE as a bare chunk");
  command->add_flag("--json", verify_.json, "Print one JSON object per file");
  command->add_flag("--repairable", verify_.repairable,
                    "Report what repair would restore, with its exit status");
  add_recursive(*command, verify_.recursive);
  add_parsed(*command, "--limit", verify_.limit, parse_bytes, "SIZE",
             "Decode at most SIZE per file (-r: 16G + 256 * stored)");
  add_remote(*command, verify_.remote);
  command->add_option("FILE", verify_.files, "Frames, Bloscpack files, URLs, stores or STORE:/KEY")
      ->required();
  command->callback([this] { work_ = [this] { return run_verify(verify_); }; });
}

void CommandLine::add_report(const char* name) {
  CLI::App* command = add_command(
      name, "Show frames on a page for a browser: chunks, pictures, damage",
      {"run.b2nd -o run.html", "/data/*.b2nd -o data.html", "run.b2z:/temperature -o t.html"},
      fmt::format("Exit status: 0 success, {} damaged or unreadable frame, 2 wrong command line.\n",
                  kExitBadData));
  command->add_option("FILE", report_.files, "Frames, Bloscpack files, URLs, stores or STORE:/KEY")
      ->required();
  command->add_option("-o", report_.output, "HTML file to write, or - for stdout")
      ->option_text("OUT")
      ->required()
      ->check(local());
  add_remote(*command, report_.remote);
  report_.program = "b2frame " + version_text();
  command->callback([this] { work_ = [this] { return run_report(report_); }; });
}

/// Handles the word behind --apply: a name of settings, or the first FILE. `word` is empty if
/// --apply is the last word.
void CommandLine::set_applied(const std::string& word) {
  std::error_code error;
  const bool is_file = std::filesystem::exists(word, error) || parse_store_address(word);
  if (is_file) advise_.files.insert(advise_.files.begin(), word);
  advise_.apply = is_file || word.empty() ? kRecommended : word;
}

void CommandLine::add_advise(const char* name) {
  CLI::App* command = add_command(
      name, "Find the codec and filters that suit files, and measure them",
      {"run.b2nd", "--typesize 20 records.bin --picture records.svg", "--apply smallest run.b2nd"});
  command->add_option("FILE", advise_.files, "Frames, arrays (NPY) or any other files")
      ->check(local());
  add_parsed(*command, "--typesize", advise_.typesize, parse_size, "SIZE",
             "Bytes of an item (the array's, or the best one found)");
  CLI::Option* const json =
      command->add_flag("--json", advise_.json, "Print one JSON object per file");
  command
      ->add_option_function<std::string>(
          "--apply", [this](const std::string& word) { set_applied(word); },
          std::string("Convert each frame to the settings NAME (") + kRecommended + ")")
      ->expected(0, 1)
      ->option_text("[NAME]")
      ->excludes(json);
  command->add_option("--picture", advise_.picture, "SVG picture to write (one FILE only)")
      ->option_text("OUT")
      ->check(local());
  command->callback([this] { work_ = [this] { return run_advise(advise_); }; });
}

}  // namespace bloscfs::tools

// b2frame: works on frames without mounting them. Parses the command line and calls a subcommand.

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <functional>
#include <span>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "frame/remote/open_remote.hpp"
#include "fs/support/log.hpp"
#include "fs/support/printable.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/command_values.hpp"
#include "tools/help_layout.hpp"
#include "tools/interrupt.hpp"
#include "tools/storage_options.hpp"
#include "tools/unknown_word.hpp"

namespace {

using namespace bloscfs::tools;

/// Refuses URLs where only local files will do.
CLI::Validator local() {
  return CLI::Validator(
      [](std::string& text) {
        return bloscfs::frame::is_remote(text) ? std::string(
                                                     "URLs are read only, by info, ls, list, "
                                                     "extract, cat, diff, verify and report")
                                               : std::string();
      },
      "");
}

class CommandLine {
 public:
  /// `first` of the command's words.
  explicit CommandLine(std::string_view first) {
    app_.formatter(help_layout());
    app_.set_version_flag("-V,--version", std::string("b2frame ") + BLOSCFS_VERSION,
                          "Print the version");
    app_.set_help_flag("-h,--help",
                       "Print this help; of a subcommand, see man b2frame-create, too");
    app_.footer(
        "Examples:\n"
        "  b2frame create measured.npy -o measured.b2nd");
    app_.require_subcommand(0, 1);
    for (const Subcommand& subcommand : needed_for(first)) (this->*subcommand.add)(subcommand.name);
    app_.allow_extras();  // last, since subcommands inherit it; run() names the first one
  }

  /// The exit status of the whole program.
  int run(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
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

 private:
  struct Subcommand {
    const char* name;
    void (CommandLine::*add)(const char* name);
  };

  /// In the order of --help.
  static std::span<const Subcommand> all_subcommands() {
    static constexpr Subcommand kAll[] = {
        {"info", &CommandLine::add_info},
        {"ls", &CommandLine::add_ls},
        {"list", &CommandLine::add_list},
        {"extract", &CommandLine::add_extract},
        {"cat", &CommandLine::add_cat},
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

  /// Putting all together would take longer than many of them do.
  static std::span<const Subcommand> needed_for(std::string_view first) {
    const std::span<const Subcommand> all = all_subcommands();
    if (first == "-V" || first == "--version") return {};
    const auto named = std::find_if(all.begin(), all.end(),
                                    [&](const Subcommand& one) { return one.name == first; });
    return named == all.end() ? all : std::span(named, 1);
  }

  /// Names the help that there is for what was asked for.
  void complain(const std::string& what) const {
    const auto chosen = app_.get_subcommands();
    fmt::print(stderr, "b2frame: {}\nTry 'b2frame{} --help'.\n", bloscfs::fs::printable(what),
               chosen.empty() ? "" : " " + chosen.front()->get_name());
  }

  /// A subcommand, whose --help ends with `examples`: command lines without the program's name.
  CLI::App* add_command(const char* name, const char* help,
                        std::initializer_list<const char*> examples,
                        const std::string& above_examples = "") {
    CLI::App* command = app_.add_subcommand(name, help);
    command->get_help_ptr()->description("Print this help");
    std::string footer = above_examples + "Examples:";
    for (const char* example : examples) footer += fmt::format("\n  b2frame {} {}", name, example);
    command->footer(footer);
    return command;
  }

  void add_info(const char* name) {
    CLI::App* command = add_command(
        name, "Show header, chunks and metalayers of frames",
        {"run.b2nd", "--json -r /data", "https://example.org/run.b2z:/temperature/day"});
    command->add_flag("--json", info_.json, "One JSON object per file");
    add_recursive(*command, info_.recursive);
    command->add_flag("--chunk", info_.chunk, "The files are bare chunks");
    command->add_option("FILE", info_.files, "Frames, Bloscpack files, URLs, stores or STORE:/KEY")
        ->required();
    add_remote(*command, info_.remote);
    command->callback([this] { work_ = [this] { return run_info(info_); }; });
  }

  void add_ls(const char* name) {
    CLI::App* command = add_command(name, "List frames: shape, dtype, codec, sizes, time",
                                    {"/data", "-h *.b2nd run.b2z", "-R --json /data | jq .ratio"});
    // As ls(1) has it.
    command->set_help_flag("--help", "Print this help");
    command->add_flag("-h,--human-readable", ls_.human, "Sizes as 1.5K, 20.0M, 213G");
    command->add_flag("-R,--recursive", ls_.recursive, "Enter directories below a directory");
    command->add_flag("--json", ls_.json, "One JSON object per frame");
    command->add_option("FILE|DIR", ls_.files,
                        "Frames, Bloscpack files, URLs, stores, STORE:/KEY, or directories (.)");
    add_remote(*command, ls_.remote);
    command->callback([this] { work_ = [this] { return run_ls(ls_); }; });
  }

  static void add_remote(CLI::App& command, RemoteOptions& options) {
    command
        .add_option("--cafile", options.cafile, "Certificates to trust (the system's authorities)")
        ->option_text("FILE")
        ->group(kUrlOptions);
    command
        .add_option("--retry-time", options.retry_time,
                    "For how long what fails is tried again (60)")
        ->check(CLI::Range(0, 86400))
        ->option_text("SECONDS")
        ->group(kUrlOptions);
    command.add_option("--netrc", options.netrc, "Users and passwords of web servers, as curl has")
        ->option_text("FILE")
        ->group(kUrlOptions);
    command.add_option("--endpoint", options.endpoint, "Store of s3:// (Amazon's, by the region)")
        ->option_text("URL")
        ->group(kUrlOptions);
    command.add_option("--region", options.region, "Of s3:// (as AWS_REGION says)")
        ->option_text("REGION")
        ->group(kUrlOptions);
    command
        .add_flag("--virtual-host", options.virtual_host,
                  "The bucket of s3:// stands in the host's name")
        ->group(kUrlOptions);
    command.add_flag("--anonymous", options.anonymous, "Requests to s3:// are not signed")
        ->group(kUrlOptions);
  }

  static void add_recursive(CLI::App& command, bool& recursive) {
    command.add_flag("-r,--recursive", recursive, "Of a directory, all frames below it");
  }

  void add_list(const char* name) {
    CLI::App* command =
        add_command(name, "Show the names that a mount would have, or a store's keys",
                    {"/data", "--json run.b2z", "https://example.org/data/"});
    command->add_flag("--json", list_.json, "One JSON object per name");
    command->add_flag("-r,--recursive")->description("As it is: list always goes down");
    command
        ->add_option("DIR", list_.directory,
                     "Directory that would be mounted, .b2z, .b2e, STORE:/KEY, or URL")
        ->required();
    add_remote(*command, list_.remote);
    command->callback([this] { work_ = [this] { return run_list(list_); }; });
  }

  void add_extract(const char* name) {
    CLI::App* command = add_command(name, "Write decompressed contents to a file",
                                    {"run.b2nd -o run.npy", "-r /data/results -o /tmp/results"});
    command->add_flag("-r,--recursive", extract_.recursive,
                      "FILE and OUT are directories: write what a mount would show");
    command->add_flag("--chunk", extract_.chunk, "FILE is a bare chunk");
    command->add_flag("--npy", extract_.npy, "Write an array as a NPY file");
    command
        ->add_option_function<std::string>(
            "--offset", [this](const std::string& text) { extract_.offset = parse_bytes(text); },
            "First byte to write (0)")
        ->option_text("SIZE");
    command
        ->add_option_function<std::string>(
            "--length", [this](const std::string& text) { extract_.length = parse_bytes(text); },
            "Bytes to write, at most (all that follow)")
        ->option_text("SIZE");
    add_json(*command, extract_);
    add_remote(*command, extract_.remote);
    command->add_option("FILE", extract_.file, "Frame, Bloscpack file, URL, or STORE:/KEY")
        ->required();
    command->add_option("-o", extract_.output, "File to write, or - for stdout; .npy implies --npy")
        ->option_text("OUT")
        ->required()
        ->check(local());
    command->callback([this] { work_ = [this] { return run_extract(extract_); }; });
  }

  void add_cat(const char* name) {
    CLI::App* command = add_command(name, "Write decompressed contents to stdout",
                                    {"station.b2frame | head", "--text -s 1000 -n 10 run.b2nd",
                                     "--json run.b2z:/events | jq .name"});
    command->add_option("-s,--start", cat_.start, "First item, in C order; -N: N from the end (0)")
        ->option_text("N");
    command->add_option("-n,--count", cat_.count, "Items, at most (all that follow)")
        ->check(CLI::NonNegativeNumber)
        ->option_text("N");
    command->add_flag("--text", cat_.text, "An item a line; an array's last dimension in one line");
    command->add_option("--dtype", cat_.dtype, "Text of a flat frame's items (unsigned integers)")
        ->option_text("DTYPE");
    add_json(*command, cat_);
    add_remote(*command, cat_.remote);
    command->add_option("FILE", cat_.file, "Frame, Bloscpack file, URL, or STORE:/KEY")->required();
    cat_.output = "-";
    command->callback([this] { work_ = [this] { return run_extract(cat_); }; });
  }

  void add_diff(const char* name) {
    CLI::App* command =
        add_command(name, "Compare the contents of two frames",
                    {"run.b2nd copy.b2nd", "--all a.b2frame b.blp",
                     "--meta run.b2nd https://example.org/run.b2nd"},
                    fmt::format("Exit status: 0 the same, {} different, {} trouble.\n",
                                kExitBadData, kExitTrouble));
    command->add_flag("--all", diff_.all, "Count the items that differ");
    command->add_flag("-q,--brief", diff_.brief, "Tell only whether they differ");
    command->add_flag("--meta", diff_.meta, "Compare metalayers, and how they are stored, too");
    command->add_option("A", diff_.first, "Frame, Bloscpack file, URL, or STORE:/KEY")->required();
    command->add_option("B", diff_.other, "The same, of any kind")->required();
    add_remote(*command, diff_.remote);
    command->callback([this] { work_ = [this] { return run_diff(diff_); }; });
  }

  static void add_json(CLI::App& command, ExtractOptions& options) {
    command.add_flag("--json", options.json, "Of a list of Python's objects, one a line as JSON");
  }

  void add_verify(const char* name) {
    CLI::App* command = add_command(
        name, "Decode everything and name each bad chunk",
        {"run.b2nd", "-r /data || mail -s 'bad frames' root </dev/null"},
        fmt::format("Exit status: 0 good, {} damaged or without contents, else {} could not be\n"
                    "read, else {} not supported here.\n",
                    kExitBadData, kExitUnreadable, kExitUnsupported));
    command->add_flag("--chunk", verify_.chunk, "The files are bare chunks");
    command->add_flag("--json", verify_.json, "One JSON object per frame");
    command->add_flag("--repairable", verify_.repairable,
                      "Say what repair would bring back, with its exit status");
    add_recursive(*command, verify_.recursive);
    add_remote(*command, verify_.remote);
    command
        ->add_option("FILE", verify_.files, "Frames, Bloscpack files, URLs, stores or STORE:/KEY")
        ->required();
    command->callback([this] { work_ = [this] { return run_verify(verify_); }; });
  }

  void add_report(const char* name) {
    CLI::App* command = add_command(
        name, "Show frames on a page for a browser: chunks, pictures, damage",
        {"run.b2nd -o run.html", "/data/*.b2nd -o data.html", "run.b2z:/temperature -o t.html"},
        fmt::format("Exit status: 0, or {} if a frame is damaged or cannot be read.\n",
                    kExitBadData));
    command
        ->add_option("FILE", report_.files, "Frames, Bloscpack files, URLs, stores or STORE:/KEY")
        ->required();
    command->add_option("-o", report_.output, "HTML file to write, or - for stdout")
        ->option_text("OUT")
        ->required()
        ->check(local());
    add_remote(*command, report_.remote);
    report_.program = std::string("b2frame ") + BLOSCFS_VERSION;
    command->callback([this] { work_ = [this] { return run_report(report_); }; });
  }

  void add_advise(const char* name) {
    CLI::App* command = add_command(
        name, "Find the codec and filters that suit files, and measure them",
        {"run.b2nd", "--typesize 20 records.bin --picture records.svg", "--json /data/*.b2nd"});
    command->add_option("FILE", advise_.files, "Frames, or files that would be made some")
        ->required()
        ->check(local());
    command
        ->add_option_function<std::string>(
            "--typesize", [this](const std::string& text) { advise_.typesize = parse_size(text); },
            "Bytes of an item (the array's, or what suits it)")
        ->option_text("SIZE");
    command->add_flag("--json", advise_.json, "One JSON object per file");
    command->add_option("--picture", advise_.picture, "Picture to write, as SVG; of one FILE")
        ->option_text("OUT")
        ->check(local());
    command->callback([this] { work_ = [this] { return run_advise(advise_); }; });
  }

  void add_create(const char* name) {
    CLI::App* command = add_command(name, "Compress a file to a frame, or a NPY file to an array",
                                    {"--clevel 9 --filters delta+shuffle --typesize 4 x -o x.b2f",
                                     "-r /home/me/results -o /data/results"});
    command->add_option("INPUT", create_.input, "File to compress, or - for stdin")
        ->required()
        ->check(local());
    command->add_option("-o", create_.output, "Frame to write; one that is there is replaced")
        ->option_text("OUT")
        ->required()
        ->check(local());
    command->add_flag("-r,--recursive", create_.recursive,
                      "INPUT is a directory, and OUT one of frames");
    add_compression_options(*command, create_, StorageDefaults::usual);
    add_layout_options(*command, create_, StorageDefaults::usual);
    command->add_flag("--flat", create_.flat, "Store a NPY file as it is");
    add_layers(*command, "--meta", create_.metalayers,
               "Fixed metalayer of FILE's bytes; msgpack of a .json");
    add_layers(*command, "--vlmeta", create_.vlmetalayers, "One that can be changed later");
    command->callback([this] { work_ = [this] { return run_create(create_); }; });
  }

  void add_convert(const char* name) {
    CLI::App* command =
        add_command(name, "Store frames in another way",
                    {"--clevel 9 run.b2nd -o small.b2nd", "--codec lz4 --in-place /data/*.b2nd",
                     "--chunk-shape 100,100 -d tiled *.blp"});
    command->add_option("FILE", convert_.files, "Frames, Bloscpack files or STORE:/KEY")
        ->required()
        ->check(local());
    command->add_option("-o", convert_.output, "Frame to write, of one FILE")
        ->option_text("OUT")
        ->check(local());
    command->add_option("-d", convert_.directory, "Directory to write them to")
        ->option_text("DIR")
        ->check(local());
    command->add_flag("--in-place", convert_.in_place, "Replace each FILE");
    add_compression_options(*command, convert_.storage, StorageDefaults::kept);
    add_layout_options(*command, convert_.storage, StorageDefaults::kept);
    command->add_flag("--contiguous", convert_.contiguous, "Of a sparse frame make one file");
    command->callback([this] { work_ = [this] { return run_convert(convert_); }; });
  }

  void add_compact(const char* name) {
    CLI::App* command = add_command(name, "Rewrite frames without their unused space",
                                    {"log.b2frame", "/data/*.b2frame"});
    command->add_option("FILE", compact_.files, "Frames or sparse frames")
        ->required()
        ->check(local());
    command->callback([this] { work_ = [this] { return run_compact(compact_); }; });
  }

  void add_pack(const char* name) {
    CLI::App* pack =
        add_command(name, "Pack the directory of a store into a .b2z file", {"run.b2d -o run.b2z"});
    pack->add_option("DIR", pack_.input, "Directory with an embed.b2e")->required()->check(local());
    pack->add_option("-o", pack_.output, "File to write; one that is there is replaced")
        ->option_text("OUT")
        ->required()
        ->check(local());
    pack->callback([this] { work_ = [this] { return run_pack(pack_); }; });
  }

  void add_unpack(const char* name) {
    CLI::App* unpack =
        add_command(name, "Unpack a .b2z file into a directory", {"run.b2z -o run.b2d"});
    unpack->add_option("FILE", pack_.input, "ZIP file of a store")->required()->check(local());
    unpack->add_option("-o", pack_.output, "Directory to make, which is not there yet")
        ->option_text("OUT")
        ->required()
        ->check(local());
    unpack->callback([this] { work_ = [this] { return run_unpack(pack_); }; });
  }

  void add_set_meta(const char* name) {
    CLI::App* command = add_command(
        name, "Change the vlmetalayers of a frame",
        {"run.b2nd 'unit:=\"kelvin\"' scale:=0.25", "run.b2nd note=note.json", "run.b2nd note="});
    command->add_option("FILE", set_meta_.file, "Frame or sparse frame")
        ->required()
        ->check(local());
    command
        ->add_option_function<std::vector<std::string>>(
            "NAME:=JSON|NAME=FILE",
            [this](const std::vector<std::string>& texts) {
              for (const std::string& text : texts)
                set_meta_.vlmetalayers.push_back(parse_layer(text, set_meta_.vlmetalayers));
            },
            "What NAME is to hold: JSON as msgpack, the bytes of FILE, or those of a .json as "
            "msgpack; NAME= removes it")
        ->required();
    command->callback([this] { work_ = [this] { return run_set_meta(set_meta_); }; });
  }

  static void add_layers(CLI::App& command, const char* name, std::vector<NamedLayer>& layers,
                         const char* help) {
    command
        .add_option_function<std::vector<std::string>>(
            name,
            [&layers](const std::vector<std::string>& texts) {
              for (const std::string& text : texts) layers.push_back(parse_layer(text, layers));
            },
            help)
        ->option_text("NAME=FILE")
        ->allow_extra_args(false);
  }

  void add_recover(const char* name) {
    CLI::App* command = add_command(name, "Give names to what a mount could not commit",
                                    {"/data", "/data/log.b2frame"});
    command->add_option("SOURCE", recover_.source, "What was mounted")->required()->check(local());
    command->callback([this] { work_ = [this] { return run_recover(recover_); }; });
  }

  void add_gc(const char* name) {
    CLI::App* command =
        add_command(name, "Remove what hosts that ended left behind in an object store",
                    {"s3://bucket/data", "--endpoint https://example.org s3://bucket/"},
                    "Exit status: 0, or 1 if something failed or a damaged frame was left.\n");
    command->add_flag("--force", gc_.force,
                      "Also what is younger than a day; only while nothing writes there");
    command->add_option("SOURCE", gc_.source, "s3://BUCKET/PREFIX, with all that is below it")
        ->required();
    add_remote(*command, gc_.remote);
    command->callback([this] { work_ = [this] { return run_gc(gc_); }; });
  }

  void add_repair(const char* name) {
    CLI::App* command = add_command(
        name, "Write what is left of a damaged frame to a new one",
        {"damaged.b2nd -o mended.b2nd",
         "--json --missing leave-out damaged.b2frame -o rest.b2frame"},
        fmt::format("Exit status: 0 all is there and in its place, {} OUT is written, but parts\n"
                    "are lost, doubtful or guessed, {} nothing was found, {} FILE or OUT failed.\n",
                    kExitIncomplete, kExitNothingFound, kExitBadData));
    command->add_option("FILE", repair_.input, "Frame or Bloscpack file; stays as it is")
        ->required()
        ->check(local());
    command->add_option("-o", repair_.output, "Contiguous frame to write")
        ->required()
        ->check(local());
    command
        ->add_option_function<std::string>(
            "--missing",
            [this](const std::string& what) { repair_.leave_out = what == "leave-out"; },
            "For lost chunks, not of arrays")
        ->check(CLI::IsMember({"zeros", "leave-out"}));
    command->add_flag("--force", repair_.force, "Replace the file of -o where there is one");
    command->add_flag("--json", repair_.json, "The report as one JSON object");
    command->callback([this] { work_ = [this] { return run_repair(repair_); }; });
  }

  CLI::App app_{"Works on Blosc2 frames without mounting them. Pages: man b2frame-create ...",
                "b2frame"};
  InfoOptions info_;
  LsOptions ls_;
  ListOptions list_;
  ExtractOptions extract_, cat_;
  DiffOptions diff_;
  VerifyOptions verify_;
  AdviseOptions advise_;
  CreateOptions create_;
  ConvertOptions convert_;
  CompactOptions compact_;
  PackOptions pack_;
  SetMetaOptions set_meta_;
  RecoverOptions recover_;
  GcOptions gc_;
  RepairOptions repair_;
  ReportOptions report_;
  std::function<int()> work_;
};

}  // namespace

int main(int argc, char** argv) {
  bloscfs::fs::log::use(bloscfs::fs::log::Target::plain);
  try {
    const int status = CommandLine(argc > 1 ? argv[1] : "").run(argc, argv);
    if (std::fflush(stdout) == 0) return status;
    std::perror("b2frame: stdout");
  } catch (const Interrupted& interrupted) {
    std::signal(interrupted.signal(), SIG_DFL);
    std::raise(interrupted.signal());
  } catch (const std::exception& error) {
    fmt::print(stderr, "b2frame: {}\n", bloscfs::fs::printable(error.what()));
  }
  return kExitBadData;
}

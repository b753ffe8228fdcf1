// The subcommands that write.

#include <fmt/core.h>

#include "tools/command_line.hpp"
#include "tools/help_layout.hpp"
#include "tools/storage_options.hpp"

namespace bloscfs::tools {

void CommandLine::add_create(const char* name) {
  CLI::App* command = add_command(name, "Compress a file to a frame, an array or a table",
                                  {"--clevel 9 --filters delta+shuffle --typesize 4 x -o x.b2f",
                                   "-r /home/me/results -o /data/results",
                                   "--schema 'id:int32,note:utf8?' trips.csv -o trips.b2z"});
  command->add_option("INPUT", create_.input, "File to compress, or - for stdin")
      ->required()
      ->check(local());
  command
      ->add_option("-o", create_.output, "Frame to write; x.b2z for a table (.csv) or store (.npz)")
      ->option_text("OUT")
      ->required()
      ->check(local());
  command->add_flag("-r,--recursive", create_.recursive,
                    "Compress the directory INPUT to frames below OUT");
  add_tree(*command, create_.tree, "frames");
  add_compression_options(*command, create_, StorageDefaults::usual);
  add_layout_options(*command, create_, StorageDefaults::usual);
  command->add_flag("--flat", create_.flat, "Store the bytes as they are, even of a NPY file");
  command->add_flag("--bytes", create_.flat)->group("");  // alias of --flat
  add_table_text(*command, create_.table);
  add_layers(*command, "--meta", create_.metalayers,
             "Fixed metalayer: the bytes of FILE (.json: as msgpack)");
  add_layers(*command, "--vlmeta", create_.vlmetalayers, "Metalayer that set-meta can change");
  command->callback([this] { work_ = [this] { return run_create(create_); }; });
}

void CommandLine::add_table_text(CLI::App& command, TableTextOptions& options) {
  command
      .add_option("--schema", options.schema, "Types of a table's columns: NAME:TYPE,... or a file")
      ->option_text("FILE");
  command.add_flag("--no-header", options.no_header,
                   "A table's first line has values; columns: c0, c1, ...");
  command
      .add_option("--delimiter", options.delimiter,
                  "Separator of a table's fields (comma; tab in a .tsv)")
      ->option_text("C");
}

void CommandLine::add_convert(const char* name) {
  CLI::App* command =
      add_command(name, "Store frames with another codec, other chunks or container",
                  {"--clevel 9 run.b2nd -o small.b2nd", "--codec lz4 --in-place /data/*.b2nd",
                   "--chunk-shape 100,100 -d tiled *.blp"});
  command->formatter(help_layout("FILE... (-o OUT | -d DIR | --in-place)"));
  command->add_option("FILE", convert_.files, "Frames, Bloscpack files or STORE:/KEY")
      ->required()
      ->check(local());
  command->add_option("-o", convert_.output, "Frame to write (one FILE only)")
      ->option_text("OUT")
      ->check(local());
  command->add_option("-d", convert_.directory, "Directory to write the frames to")
      ->option_text("DIR")
      ->check(local());
  command->add_flag("--in-place", convert_.in_place, "Replace each FILE");
  add_compression_options(*command, convert_.storage, StorageDefaults::kept);
  add_layout_options(*command, convert_.storage, StorageDefaults::kept);
  command->add_flag("--contiguous", convert_.contiguous,
                    "Write one file, even if FILE is a sparse frame");
  command->callback([this] { work_ = [this] { return run_convert(convert_); }; });
}

void CommandLine::add_compact(const char* name) {
  CLI::App* command = add_command(name, "Rewrite frames without their unused space",
                                  {"log.b2frame", "/data/*.b2frame"});
  command->add_option("FILE", compact_.files, "Frames or sparse frames")
      ->required()
      ->check(local());
  command->callback([this] { work_ = [this] { return run_compact(compact_); }; });
}

void CommandLine::add_pack(const char* name) {
  CLI::App* pack =
      add_command(name, "Pack the directory of a store into a .b2z file", {"run.b2d -o run.b2z"});
  pack->add_option("DIR", pack_.input, "Directory with an embed.b2e")->required()->check(local());
  pack->add_option("-o", pack_.output, "File to write (replaces a .b2z store)")
      ->option_text("OUT")
      ->required()
      ->check(local());
  pack->callback([this] { work_ = [this] { return run_pack(pack_); }; });
}

void CommandLine::add_unpack(const char* name) {
  CLI::App* unpack =
      add_command(name, "Unpack a .b2z file into a directory", {"run.b2z -o run.b2d"});
  unpack->add_option("FILE", pack_.input, "ZIP file of a store")->required()->check(local());
  unpack->add_option("-o", pack_.output, "Directory to create (must not exist)")
      ->option_text("OUT")
      ->required()
      ->check(local());
  unpack->callback([this] { work_ = [this] { return run_unpack(pack_); }; });
}

void CommandLine::add_set_meta(const char* name) {
  CLI::App* command = add_command(
      name, "Change the vlmetalayers of a frame",
      {"run.b2nd 'unit:=\"kelvin\"' scale:=0.25", "run.b2nd note=note.json", "run.b2nd note="});
  command->add_option("FILE", set_meta_.file, "Frame or sparse frame")->required()->check(local());
  command
      ->add_option_function<std::vector<std::string>>(
          "CHANGE",
          [this](const std::vector<std::string>& texts) {
            for (const std::string& text : texts)
              set_meta_.vlmetalayers.push_back(parse_layer(text, set_meta_.vlmetalayers));
          },
          "NAME:=JSON stores JSON as msgpack, NAME=PATH a file (.json as msgpack), NAME= removes")
      ->required();
  command->callback([this] { work_ = [this] { return run_set_meta(set_meta_); }; });
}

void CommandLine::add_layers(CLI::App& command, const char* name, std::vector<NamedLayer>& layers,
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

void CommandLine::add_recover(const char* name) {
  CLI::App* command =
      add_command(name, "Recover what a mount could not commit", {"/data", "-n /data/log.b2frame"});
  command->add_option("SOURCE", recover_.source, "Directory or frame that was mounted")
      ->required()
      ->check(local());
  command->add_option("--rescue", recover_.rescue, "Rescue directory of the mount (its -o rescue)")
      ->option_text("DIR");
  command->add_flag("-n,--dry-run", recover_.is_dry, "Only print what would be recovered");
  command->callback([this] { work_ = [this] { return run_recover(recover_); }; });
}

void CommandLine::add_gc(const char* name) {
  CLI::App* command =
      add_command(name, "Delete objects that crashed hosts left in an object store",
                  {"s3://bucket/data", "--endpoint https://example.org s3://bucket/"},
                  "Exit status: 0 success, 1 error or damaged frame, 2 wrong command line.\n");
  command->add_flag("--force", gc_.force,
                    "Delete objects under a day old, too; no mount may write");
  command->add_flag("--dry-run", gc_.dry_run, "List objects, delete none (needs write access)");
  command->add_option("SOURCE", gc_.source, "s3://BUCKET/PREFIX, with everything below it")
      ->required();
  add_remote(*command, gc_.remote);
  command->callback([this] { work_ = [this] { return run_gc(gc_); }; });
}

void CommandLine::add_repair(const char* name) {
  CLI::App* command = add_command(
      name, "Rebuild a damaged frame from its readable chunks",
      {"damaged.b2nd -o mended.b2nd", "--json --missing leave-out damaged.b2frame -o rest.b2frame"},
      fmt::format("Exit status: 0 complete, {} written but partly lost, doubtful or guessed,\n"
                  "{} nothing found, {} error, 2 wrong command line.\n",
                  kExitIncomplete, kExitNothingFound, kExitBadData));
  command->add_option("FILE", repair_.input, "Damaged frame or Bloscpack file (is not changed)")
      ->required()
      ->check(local());
  command->add_option("-o", repair_.output, "Frame to write (one file)")
      ->option_text("OUT")
      ->required()
      ->check(local());
  command
      ->add_option_function<std::string>(
          "--missing", [this](const std::string& what) { repair_.leave_out = what == "leave-out"; },
          "What replaces lost chunks (zeros); arrays only zeros")
      ->option_text("zeros|leave-out")
      ->check(CLI::IsMember({"zeros", "leave-out"}));
  command->add_flag("--force", repair_.force, "Replace OUT if it exists");
  command->add_flag("--json", repair_.json, "Print the report as one JSON object");
  command->callback([this] { work_ = [this] { return run_repair(repair_); }; });
}

}  // namespace bloscfs::tools

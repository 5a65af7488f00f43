// secsim: the program.
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "common/diag.h"
#include "host/cli/cli.h"

extern "C" int sc_main(int, char**);
int sc_main(int, char**) { return 0; }  // SystemC's library wants one; main below is the program

int main(int argc, char** argv) {
  using namespace sec::host::cli;
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  CLI::App app{"Co-simulation of Freescale/NXP's integrated Security Engine (SEC): model, driver, workloads, comparison"};
  app.name("secsim");
  app.set_version_flag("--version", "secsim 0.1.0");
  app.require_subcommand(1);
  Context context;
  add_algs(app, context);
  add_crypt(app, context);
  add_hash(app, context);
  add_rng(app, context);
  add_esp(app, context);
  add_disk(app, context);
  add_compare(app, context);
  add_gso(app, context);
  add_calibrate(app, context);
  add_regs(app, context);
  add_decode(app, context);
  add_poke(app, context);
  try {
    if (argc > 1 && argv[1][0] != '-') {
      std::string names;
      bool known = false;
      for (const CLI::App* sub : app.get_subcommands({})) {
        names += (names.empty() ? "" : ", ") + sub->get_name();
        known |= sub->get_name() == argv[1];
      }
      if (!known) throw sec::SetupError(fmt::format("unknown command '{}'; the commands are {}", argv[1], names));
    }
    app.parse(argc, argv);
    return context.run ? context.run() : 0;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    fmt::print(stderr, "secsim: {}\n", e.what());
    return 2;
  } catch (const sec::SetupError& e) {
    fmt::print(stderr, "secsim: {}\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "secsim: {}\n", e.what());
    return 1;
  }
}

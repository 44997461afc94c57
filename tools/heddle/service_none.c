/* Service functions of a build without a network. */
#include "Support/diag.h"
#include "cli.h"
#include "commands.h"
#include "service_client.h"

static const char why[] = "this heddle was built without a network (HEDDLE_NETWORK=OFF)";

heddle_status service_tuned(heddle_context *ctx, const service_args *args, hd_tuned **tuned) {
  (void)args, (void)tuned;
  return hd_error(ctx, HEDDLE_UNSUPPORTED, HD_NOWHERE, "service.network",
                  "%s; nearest: --db FILE of heddle sync", why);
}

void service_report(const service_args *args, const char *product, bool missed) {
  (void)args, (void)product, (void)missed;
}

static int refuse(void) {
  return cli_usage_error("service.network", "%s", why);
}

int cmd_submit(int argc, char **argv) {
  return (void)argc, (void)argv, refuse();
}
int cmd_sync(int argc, char **argv) {
  return (void)argc, (void)argv, refuse();
}
int cmd_fleet(int argc, char **argv) {
  return (void)argc, (void)argv, refuse();
}

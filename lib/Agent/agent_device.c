#include "Agent/agent_device.h"

#include <stdio.h>
#include <unistd.h>

#include "Support/diag.h"
#include "Support/file.h"
#include "Support/strbuf.h"

heddle_status hd_agent_device_open(heddle_context *ctx, const hd_agent_options *o,
                                   hd_agent_device *device) {
  hd_agent_device d = {.lock = {-1}, .locks = o->locks};
  HD_TRY(hd_file_mkdirs(ctx, o->locks));
  if (o->scripted) {
    snprintf(d.is.uuid, sizeof d.is.uuid, "scripted-%s-%u", o->scripted, o->gpu);
    snprintf(d.is.name, sizeof d.is.name, "Scripted %s", o->scripted);
    snprintf(d.is.driver, sizeof d.is.driver, "none");
    snprintf(d.device_class, sizeof d.device_class, "scripted:%s", o->scripted);
    *device = d;
    return HEDDLE_OK;
  }
  HD_TRY(hd_nvml_open_index(ctx, o->nvml, o->gpu, &d.nvml));
  heddle_status status = hd_nvml_identify(ctx, d.nvml, &d.is);
  if (status != HEDDLE_OK) {
    hd_nvml_close(d.nvml);
    return status;
  }
  if (o->device_class)
    snprintf(d.device_class, sizeof d.device_class, "%s", o->device_class);
  else
    snprintf(d.device_class, sizeof d.device_class, "%.40s %.0fW%s", d.is.name, d.is.power_limit_w,
             d.is.mig ? " MIG" : "");
  *device = d;
  return HEDDLE_OK;
}

void hd_agent_device_close(hd_agent_device *d) {
  hd_lock_free(&d->lock);
  hd_nvml_close(d->nvml);
  d->nvml = NULL;
}

heddle_status hd_agent_device_take(heddle_context *ctx, hd_agent_device *d, int own,
                                   char busy[160]) {
  unsigned n = 0, pid = 0;
  busy[0] = '\0';
  if (d->lock.fd < 0) {
    hd_strbuf path = {0};
    hd_strbuf_printf(&path, "%s/heddle-%s.lock", d->locks, d->is.uuid);
    heddle_status status = hd_lock_take(ctx, hd_strbuf_text(&path), &d->lock);
    hd_strbuf_free(&path);
    if (status == HEDDLE_NOT_FOUND) {
      snprintf(busy, 160, "another agent uses %.90s", d->is.uuid);
      return HEDDLE_OK;
    }
    HD_TRY(status);
  }
  if (d->nvml)
    HD_TRY(hd_nvml_processes(ctx, d->nvml, own, &n, &pid));
  if (n)
    snprintf(busy, 160, "%u processes use %.80s, for example process %u", n, d->is.uuid, pid);
  return HEDDLE_OK;
}

json_t *hd_agent_device_json(const hd_agent_device *d) {
  json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:b}", "uuid", d->is.uuid, "name", d->is.name,
                        "class", d->device_class, "driver", d->is.driver, "scripted", !d->nvml);
  if (!d->nvml)
    return o;
  json_object_set_new(o, "power_limit_w", json_real(d->is.power_limit_w));
  json_object_set_new(o, "ecc", json_boolean(d->is.ecc));
  if (d->is.mig)
    json_object_set_new(o, "mig", json_string("enabled"));
  return o;
}

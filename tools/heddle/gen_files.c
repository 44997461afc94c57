#include "gen_files.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "Support/diag.h"
#include "Support/file.h"

/* The targets of a manifest or bundle; "" if the file is neither. */
static void targets_of(const char *path, hd_strbuf *targets) {
  json_t *root = json_load_file(path, 0, NULL);
  const json_t *list = json_object_get(root, "targets");
  const char *one = json_string_value(json_object_get(root, "target"));
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *target = json_object_get(json_array_get(list, i), "target");
    const char *text = json_string_value(target);
    hd_strbuf_printf(targets, "%s%s", i ? "," : "", text ? text : "?");
  }
  if (one)
    hd_strbuf_add(targets, one);
  json_decref(root);
}

/* Refuses to overwrite a kernel of the same name for another target. */
static heddle_status check_targets(heddle_context *ctx, const char *path, const char *targets) {
  hd_strbuf before = {0};
  targets_of(path, &before);
  bool other = before.len && strcmp(hd_strbuf_text(&before), targets) != 0;
  heddle_status status =
      !other ? HEDDLE_OK
             : hd_error(ctx, HEDDLE_INVALID, (hd_loc){.file = path}, "gen.exists",
                        "there is a kernel of this name for %s, and this one is for %s; legal: "
                        "another -o or --name, --targets for one launcher of both, --force to "
                        "replace it",
                        hd_strbuf_text(&before), targets);
  hd_strbuf_free(&before);
  return status;
}

heddle_status gen_files_write(heddle_context *ctx, const char *dir, const char *name,
                              const char *targets, bool force, const gen_file files[GEN_FILES]) {
  hd_file_part part[GEN_FILES];
  hd_strbuf path[GEN_FILES] = {{0}};
  bool was_there[GEN_FILES];
  for (size_t i = 0; i < GEN_FILES; i++) {
    hd_strbuf_printf(&path[i], "%s/%s.%s", dir, name, files[i].extension);
    part[i] = (hd_file_part){hd_strbuf_text(&path[i]), files[i].data, files[i].n_bytes, false};
    was_there[i] = access(part[i].path, F_OK) == 0;
  }
  heddle_status status =
      force ? HEDDLE_OK : check_targets(ctx, part[GEN_FILES - 1].path, targets);
  if (status == HEDDLE_OK)
    status = hd_file_mkdirs(ctx, dir);
  if (status == HEDDLE_OK)
    status = hd_file_write_set(ctx, part, GEN_FILES);
  for (size_t i = 0; i < GEN_FILES; i++) {
    if (status == HEDDLE_OK && part[i].data)
      printf("wrote %s (%zu bytes%s)\n", part[i].path, part[i].n_bytes,
             was_there[i] ? ", replaced an earlier one" : "");
    else if (status == HEDDLE_OK && was_there[i])
      printf("removed %s (of an earlier kernel)\n", part[i].path);
    hd_strbuf_free(&path[i]);
  }
  return status;
}

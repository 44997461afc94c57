#include "heddle/status.h"

#include <string.h>

#include "heddle/types.h"
#include "heddle/version.h"

const char *heddle_status_text(heddle_status status) {
  switch (status) {
#define HEDDLE_STATUS(name, number, exit_code, text)                                               \
  case number:                                                                                     \
    return text;
#include "heddle/status.def"
#undef HEDDLE_STATUS
  }
  return "unknown status";
}

int heddle_status_exit_code(heddle_status status) {
  switch (status) {
#define HEDDLE_STATUS(name, number, exit_code, text)                                               \
  case number:                                                                                     \
    return exit_code;
#include "heddle/status.def"
#undef HEDDLE_STATUS
  }
  return 5;
}

static const heddle_elem_info elems[HEDDLE_N_ELEMS] = {
#define HEDDLE_ELEM(name, text, value_bits, container_bits, kind, group, kept, acc, d)             \
  {text, value_bits, container_bits, HEDDLE_##kind, group, kept, HEDDLE_##acc, HEDDLE_##d},
#include "heddle/types.def"
#undef HEDDLE_ELEM
};

const heddle_elem_info *heddle_elem_get(heddle_elem elem) {
  return (unsigned)elem < HEDDLE_N_ELEMS ? &elems[elem] : NULL;
}

heddle_status heddle_elem_parse(const char *name, heddle_elem *elem) {
  for (int i = 0; i < HEDDLE_N_ELEMS; i++) {
    if (strcmp(name, elems[i].name) == 0) {
      *elem = (heddle_elem)i;
      return HEDDLE_OK;
    }
  }
  return HEDDLE_NOT_FOUND;
}

int heddle_version_number(void) { return HEDDLE_VERSION_NUMBER; }

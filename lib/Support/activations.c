#include "Support/activations.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {
#define HD_ACTIVATION(kind, name) #name,
#include "Support/activations.def"
#undef HD_ACTIVATION
};

static const struct pair {
  const char *name;
  hd_act gate;
} pairs[] = {
#define HD_PAIR(name, of) {#name, HD_ACT_##of},
#include "Support/pairs.def"
#undef HD_PAIR
};

const char *hd_act_name(int act) { return act >= 0 && act < HD_N_ACTS ? names[act] : 0; }

hd_act hd_act_of_gate(const char *act) {
  for (size_t i = 0; act && i < sizeof pairs / sizeof *pairs; i++)
    if (strcmp(act, pairs[i].name) == 0)
      return pairs[i].gate;
  return HD_N_ACTS;
}

bool hd_act_is_pair(const char *act) {
  return hd_act_of_gate(act) != HD_N_ACTS || (act && strcmp(act, "user_pair") == 0);
}

bool hd_act_is_user(const char *act) {
  return act && (strcmp(act, "user") == 0 || strcmp(act, "user_pair") == 0);
}

bool hd_act_is_coarse(heddle_elem d) { return heddle_elem_get(d)->container_bits <= 16; }

const char hd_act_words[] =
#define HD_ACTIVATION(kind, name) #name " "
#include "Support/activations.def"
#undef HD_ACTIVATION
#define HD_PAIR(name, of) #name " "
#include "Support/pairs.def"
#undef HD_PAIR
    "user user_pair";

const char hd_act_about[] = "activation:"
#define HD_ACTIVATION(kind, name) " " #name
#include "Support/activations.def"
#undef HD_ACTIVATION
                            "; of gate and up:"
#define HD_PAIR(name, of) " " #name
#include "Support/pairs.def"
#undef HD_PAIR
    ;

const char hd_act_list[] =
#define HD_ACTIVATION(kind, name) #name ", "
#include "Support/activations.def"
#undef HD_ACTIVATION
#define HD_PAIR(name, of) #name ", "
#include "Support/pairs.def"
#undef HD_PAIR
    "user, user_pair";

/* Support/activations.h: the activations of an epilogue (activations.def, pairs.def). */
#ifndef HD_ACTIVATIONS_H
#define HD_ACTIVATIONS_H

#include <stdbool.h>

#include "heddle/types.h"

typedef enum hd_act {
#define HD_ACTIVATION(kind, name) HD_ACT_##kind,
#include "Support/activations.def"
#undef HD_ACTIVATION
  HD_N_ACTS
} hd_act;

/* Each 16 rows of an A of pairs are 8 rows of gate, then 8 rows of up. */
enum { HD_PAIR_ROWS = 8 };

/* "none", "relu", …; NULL if the number is out of range. */
const char *hd_act_name(int act);
/* True for pairs.def and user_pair: A has rows of gate and up, and D has half of A's rows. */
bool hd_act_is_pair(const char *act);
/* The activation of the gate (silu for swiglu); HD_N_ACTS if `act` is not in pairs.def. */
hd_act hd_act_of_gate(const char *act);
/* True for functions of the user: user, user_pair. */
bool hd_act_is_user(const char *act);
/* Whether an activation need not be more accurate than 16 bits: D has at most as many. */
bool hd_act_is_coarse(heddle_elem d);
/* The legal values of an epilogue's `act`: separated by spaces, and as a list for messages. */
extern const char hd_act_words[], hd_act_list[];
/* For the help of an option: "activation: none relu …". */
extern const char hd_act_about[];

#endif

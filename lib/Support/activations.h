/* Support/activations.h: the activations of an epilogue, once (activations.def, pairs.def). */
#ifndef HD_ACTIVATIONS_H
#define HD_ACTIVATIONS_H

#include <stdbool.h>

typedef enum hd_act {
#define HD_ACTIVATION(kind, name) HD_ACT_##kind,
#include "Support/activations.def"
#undef HD_ACTIVATION
  HD_N_ACTS
} hd_act;

/* Rows of gate, then of up, in each 16 rows of an A of pairs. */
enum { HD_PAIR_ROWS = 8 };

/* "none", "relu", …; NULL past the last. */
const char *hd_act_name(int act);
/* Does `act` take rows of gate and up, and D has half of A's rows: pairs.def, or user_pair. */
bool hd_act_is_pair(const char *act);
/* The activation of the gate: of swiglu silu; HD_N_ACTS when it is none of pairs.def. */
hd_act hd_act_of_gate(const char *act);
/* Is `act` a function of the user's: user, user_pair. */
bool hd_act_is_user(const char *act);
/* What `act` of an epilogue may be: words, and as a list for messages. */
extern const char hd_act_words[], hd_act_list[];
/* For the help of an option: "activation: none relu …". */
extern const char hd_act_about[];

#endif

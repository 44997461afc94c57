/* Support/activations.h: the activations of an epilogue, once (activations.def). */
#ifndef HD_ACTIVATIONS_H
#define HD_ACTIVATIONS_H

typedef enum hd_act {
#define HD_ACTIVATION(kind, name) HD_ACT_##kind,
#include "Support/activations.def"
#undef HD_ACTIVATION
  HD_N_ACTS
} hd_act;

/* "none", "relu", …; NULL past the last. */
const char *hd_act_name(int act);
/* What `act` of an epilogue may be: words, and as a list for messages. */
extern const char hd_act_words[], hd_act_list[];
/* For the help of an option: "activation: none relu …". */
extern const char hd_act_about[];

#endif

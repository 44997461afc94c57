#include "Support/activations.h"

static const char *const names[] = {
#define HD_ACTIVATION(kind, name) #name,
#include "Support/activations.def"
#undef HD_ACTIVATION
};

const char *hd_act_name(int act) { return act >= 0 && act < HD_N_ACTS ? names[act] : 0; }

const char hd_act_words[] =
#define HD_ACTIVATION(kind, name) #name " "
#include "Support/activations.def"
#undef HD_ACTIVATION
    "user";

const char hd_act_about[] = "activation:"
#define HD_ACTIVATION(kind, name) " " #name
#include "Support/activations.def"
#undef HD_ACTIVATION
    ;

const char hd_act_list[] =
#define HD_ACTIVATION(kind, name) #name ", "
#include "Support/activations.def"
#undef HD_ACTIVATION
    "user";

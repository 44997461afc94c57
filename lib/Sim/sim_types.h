/* Sim/sim_types.h: PTX element types, and exact conversion of their bits (private to the
 * folder). */
#ifndef HD_SIM_TYPES_H
#define HD_SIM_TYPES_H

#include <stdbool.h>
#include <stdint.h>

/* name, text, bits, class (b: bits, u, s, f, p: predicate), lanes packed in it, element */
#define SIM_TYPES(X)                                                                               \
  X(NONE, "", 0, 'b', 1, NONE)                                                                     \
  X(PRED, "pred", 1, 'p', 1, PRED)                                                                 \
  X(B8, "b8", 8, 'b', 1, B8) X(B16, "b16", 16, 'b', 1, B16) X(B32, "b32", 32, 'b', 1, B32)         \
  X(B64, "b64", 64, 'b', 1, B64) X(B128, "b128", 128, 'b', 1, B128)                                \
  X(U8, "u8", 8, 'u', 1, U8) X(U16, "u16", 16, 'u', 1, U16) X(U32, "u32", 32, 'u', 1, U32)         \
  X(U64, "u64", 64, 'u', 1, U64) X(S8, "s8", 8, 's', 1, S8) X(S16, "s16", 16, 's', 1, S16)         \
  X(S32, "s32", 32, 's', 1, S32) X(S64, "s64", 64, 's', 1, S64)                                    \
  X(U16X2, "u16x2", 32, 'u', 2, U16) X(S16X2, "s16x2", 32, 's', 2, S16)                            \
  X(F16, "f16", 16, 'f', 1, F16) X(F16X2, "f16x2", 32, 'f', 2, F16)                                \
  X(BF16, "bf16", 16, 'f', 1, BF16) X(BF16X2, "bf16x2", 32, 'f', 2, BF16)                          \
  X(F32, "f32", 32, 'f', 1, F32) X(F32X2, "f32x2", 64, 'f', 2, F32) X(F64, "f64", 64, 'f', 1, F64) \
  X(TF32, "tf32", 32, 'f', 1, TF32)                                                                \
  X(E4M3, "e4m3", 8, 'f', 1, E4M3) X(E5M2, "e5m2", 8, 'f', 1, E5M2)                                \
  X(E3M2, "e3m2", 8, 'f', 1, E3M2) X(E2M3, "e2m3", 8, 'f', 1, E2M3)                                \
  X(E2M1, "e2m1", 8, 'f', 1, E2M1) X(UE8M0, "ue8m0", 8, 'f', 1, UE8M0)                             \
  X(UE4M3, "ue4m3", 8, 'f', 1, UE4M3)                                                              \
  X(E4M3X2, "e4m3x2", 16, 'f', 2, E4M3) X(E5M2X2, "e5m2x2", 16, 'f', 2, E5M2)                      \
  X(E3M2X2, "e3m2x2", 16, 'f', 2, E3M2) X(E2M3X2, "e2m3x2", 16, 'f', 2, E2M3)                      \
  X(UE8M0X2, "ue8m0x2", 16, 'f', 2, UE8M0)                                                         \
  X(S4, "s4", 4, 's', 1, S4) X(U4, "u4", 4, 'u', 1, U4)

enum {
#define X(name, text, bits, cls, lanes, elem) SIM_T_##name,
  SIM_TYPES(X)
#undef X
  SIM_N_TYPES
};

typedef struct sim_type_info {
  const char *name;
  uint8_t bits;
  char cls;
  uint8_t lanes, elem;
} sim_type_info;

const sim_type_info *hd_sim_type(uint8_t type);
/* The type with that text; SIM_T_NONE when there is none. */
uint8_t hd_sim_type_find(const char *text);

enum { SIM_RN, SIM_RZ, SIM_RM, SIM_RP, SIM_RNA, SIM_RNI, SIM_RZI, SIM_RMI, SIM_RPI, SIM_R_NONE };

/* The exact value of an element's bits (float types, and integers); NaN and Inf are preserved. tf32
 * ignores the low 13 bits. */
double hd_sim_decode_bits(uint8_t elem, uint64_t bits);
/* The bits of a value, rounded once (SIM_RN ... SIM_RNA). satfinite: overflow and Inf become the
 * largest finite value (formats without Inf always do so). NaN gives the canonical NaN of the
 * type.*/
uint64_t hd_sim_encode_bits(uint8_t elem, double value, uint8_t round, bool satfinite);

static inline float hd_sim_f32(uint32_t bits) {
  union {
    uint32_t u;
    float f;
  } x = {.u = bits};
  return x.f;
}
static inline uint32_t hd_sim_f32_bits(float value) {
  union {
    float f;
    uint32_t u;
  } x = {.f = value};
  return x.u;
}
static inline double hd_sim_f64(uint64_t bits) {
  union {
    uint64_t u;
    double f;
  } x = {.u = bits};
  return x.f;
}
static inline uint64_t hd_sim_f64_bits(double value) {
  union {
    double f;
    uint64_t u;
  } x = {.f = value};
  return x.u;
}

#endif

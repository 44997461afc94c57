// Descriptors, field by field.
defvar Start = BitField<"start_address", 0, 13, "matrix start address in shared memory, bytes", 4>;
class Lbo<string text> : BitField<"leading_offset", 16, 29, text, 4>;
defvar Sbo = BitField<"stride_offset", 32, 45, "stride dimension byte offset", 4>;
defvar BaseOffset = BitField<"base_offset", 49, 51,
    "(address >> 7) & 7 when a swizzled pattern does not start at its natural boundary">;

def wgmma_smem : Descriptor<64, "PTX ISA 9.7.15.5.1.2.2 (matrix descriptor format)", [
  Start, Lbo<"leading dimension byte offset">, Sbo, BaseOffset,
  BitField<"swizzle", 62, 63, "0 none, 1 128 B, 2 64 B, 3 32 B">]>;

def tcgen05_smem : Descriptor<64, "PTX ISA 9.7.16.4.1 (shared memory descriptor)", [
  Start, Lbo<"leading dimension byte offset (or absolute address, see lbo_mode)">, Sbo,
  BitField<"version", 46, 48, "fixed", 0, 1>, BaseOffset,
  BitField<"lbo_mode", 52, 52, "0 leading_offset is relative, 1 an absolute address (48-byte K)">,
  BitField<"reserved53", 53, 60, "fixed", 0, 0>,
  BitField<"swizzle", 61, 63, "0 none, 1 128 B with 32 B atoms, 2 128 B, 4 64 B, 6 32 B", 0, -1,
           [0, 1, 2, 4, 6]>]>;

defvar IdescSource = "PTX ISA 9.7.16.4.2 (instruction descriptor)";
class IdescCommon<list<BitField> transpose = [
    BitField<"transpose_a", 15, 15, "0 K-major, 1 M-major">,
    BitField<"transpose_b", 16, 16, "0 K-major, 1 N-major">]> {
  list<BitField> Tail = !listconcat([
    BitField<"negate_a", 13, 13, "1 negates A">, BitField<"negate_b", 14, 14, "1 negates B">],
    transpose, [
    BitField<"n", 17, 22, "N: 8 to 256", 3, -1, !range(1, 33)>]);
}
def tcgen05_idesc : Descriptor<32, IdescSource # ", kinds f16, tf32, f8f6f4, i8", !listconcat([
  BitField<"sparsity_selector", 0, 1, "which sub-columns hold the metadata">,
  BitField<"sparse", 2, 2, "1 for tcgen05.mma.sp">,
  BitField<"saturate", 3, 3, "kind::i8: 1 saturates">,
  BitField<"d_type", 4, 5, "0 f16, 1 f32, 2 s32", 0, -1, [0, 1, 2]>,
  BitField<"reserved6", 6, 6, "fixed", 0, 0>,
  BitField<"a_type", 7, 9, "f16: 0 f16, 1 bf16; tf32: 2; f8f6f4: 0 e4m3, 1 e5m2, 3 e2m3, 4 e3m2, "
           "5 e2m1; i8: 0 u8, 1 s8", 0, -1, !range(6)>,
  BitField<"b_type", 10, 12, "as a_type", 0, -1, !range(6)>], IdescCommon<>.Tail, [
  BitField<"reserved23", 23, 23, "fixed", 0, 0>, 
  BitField<"m", 24, 28, "M: 64, 128, 256; .ws: 32, 64, 128", 4, -1, [2, 4, 8, 16]>,
  BitField<"reserved29", 29, 29, "fixed", 0, 0>,
  BitField<"max_shift", 30, 31, ".ws: 0 none, 1 8, 2 16, 3 32">])>;
def tcgen05_idesc_mxf8f6f4 : Descriptor<32, IdescSource # ", kind mxf8f6f4", !listconcat([
  BitField<"reserved0", 0, 1, "fixed", 0, 0>,
  BitField<"sparse", 2, 2, "1 for tcgen05.mma.sp">,
  BitField<"reserved3", 3, 3, "fixed", 0, 0>,
  BitField<"scale_b_id", 4, 5, "byte of the tensor memory word that holds scale_B">,
  BitField<"reserved6", 6, 6, "fixed", 0, 0>,
  BitField<"a_type", 7, 9, "0 e4m3, 1 e5m2, 3 e2m3, 4 e3m2, 5 e2m1", 0, -1, [0, 1, 3, 4, 5]>,
  BitField<"b_type", 10, 12, "as a_type", 0, -1, [0, 1, 3, 4, 5]>], IdescCommon<>.Tail, [
  BitField<"scale_type", 23, 23, "1 ue8m0", 0, -1, [1]>,
  BitField<"reserved24", 24, 26, "fixed", 0, 0>, BitField<"m", 27, 28, "M: 128, 256", 7, -1, [1, 2]>,
  BitField<"scale_a_id", 29, 30, "byte of the tensor memory word that holds scale_A">,
  BitField<"reserved31", 31, 31, "fixed", 0, 0>])>;
def tcgen05_idesc_mxf4 : Descriptor<32, IdescSource # ", kinds mxf4, mxf4nvf4", !listconcat([
  BitField<"reserved0", 0, 1, "fixed", 0, 0>,
  BitField<"sparse", 2, 2, "1 for tcgen05.mma.sp">,
  BitField<"reserved3", 3, 3, "fixed", 0, 0>,
  BitField<"scale_b_id", 4, 5, "0 or 2: half word of the tensor memory word that holds scale_B", 0, -1,
           [0, 2]>,
  BitField<"reserved6", 6, 6, "fixed", 0, 0>,
  BitField<"a_type", 7, 9, "1 e2m1", 0, -1, [1]>, BitField<"b_type", 10, 11, "1 e2m1", 0, -1, [1]>,
  BitField<"reserved12", 12, 12, "fixed", 0, 0>], IdescCommon<[
    BitField<"transpose_a", 15, 15, "fixed: K-major", 0, 0>,
    BitField<"transpose_b", 16, 16, "fixed: K-major", 0, 0>]>.Tail, [
  BitField<"scale_type", 23, 23, "0 ue4m3, 1 ue8m0">,
  BitField<"reserved24", 24, 26, "fixed", 0, 0>, BitField<"m", 27, 28, "M: 128, 256", 7, -1, [1, 2]>,
  BitField<"scale_a_id", 29, 30, "0 or 2: half word that holds scale_A", 0, -1, [0, 2]>,
  BitField<"k96", 31, 31, "1: dense K = 96; 0 for sparse">])>;

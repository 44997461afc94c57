// Targets that ptxas 13.0 (PTX 9.0) knows and Heddle may generate for. sm_101 became sm_110
// with PTX 9.0; ptxas 13.0 knows the new name only.
// Shared memory and threads: CUDA C++ Programming Guide, "Compute Capabilities".
class Turing<int sm> : Target<sm, "", 75, 63, 86> {
  let SharedBlock = 65536; let SharedSm = 65536; let MaxThreads = 1024;
  let Source = "CUDA C++ Programming Guide, compute capability 7.5";
}
class Ampere<int sm, int ptx, int block, int total, int threads>
    : Target<sm, "", 80, ptx, 86> {
  let SharedBlock = block; let SharedSm = total; let MaxThreads = threads;
  let Source = "CUDA C++ Programming Guide, compute capability 8.x";
}
def sm_75 : Turing<75>;
def sm_80 : Ampere<80, 70, 166912, 167936, 2048>;
def sm_86 : Ampere<86, 71, 101376, 102400, 1536>;
def sm_87 : Ampere<87, 74, 166912, 167936, 1536>;
def sm_88 : Ampere<88, 90, 101376, 102400, 1536> {
  let LlvmPtx = 90;
  let TakenPtx = 73;
}
def sm_89 : Ampere<89, 78, 101376, 102400, 1536>;

class Hopper<string suffix, int ptx> : Target<90, suffix, 90, ptx, 86> {
  let SharedBlock = 232448; let SharedSm = 233472; let Tma = 1; let Cluster = 1;
  let Source = "CUDA C++ Programming Guide, compute capability 9.0";
}
def sm_90 : Hopper<"", 78>;
def sm_90a : Hopper<"a", 80>;

class Blackwell<int sm, string suffix, int family, int ptx, int llvm>
    : Target<sm, suffix, family, ptx, llvm> {
  let SharedBlock = 232448; let SharedSm = 233472; let Tma = 1; let Cluster = 1;
  let TensorColumns = 512;
  let Source = "CUDA C++ Programming Guide, compute capability 10.x and 11.x";
}
def sm_100  : Blackwell<100, "", 100, 86, 86>;
def sm_100a : Blackwell<100, "a", 100, 86, 88>;
def sm_100f : Blackwell<100, "f", 100, 88, 88>;
def sm_103  : Blackwell<103, "", 100, 88, 88>;
def sm_103a : Blackwell<103, "a", 100, 88, 88>;
def sm_103f : Blackwell<103, "f", 100, 88, 88>;
let MaxThreads = 1536 in {
def sm_110  : Blackwell<110, "", 110, 90, 90> { let Formerly = "sm_101"; }
def sm_110a : Blackwell<110, "a", 110, 90, 90> { let Formerly = "sm_101a"; }
def sm_110f : Blackwell<110, "f", 110, 90, 90> { let Formerly = "sm_101f"; }
}

class GeForce<int sm, string suffix, int ptx, int llvm> : Target<sm, suffix, 120, ptx, llvm> {
  let SharedBlock = 101376; let SharedSm = 102400; let MaxThreads = 1536;
  let Tma = 1; let Cluster = 1;
  let Source = "CUDA C++ Programming Guide, compute capability 12.x";
}
def sm_120  : GeForce<120, "", 87, 87>;
def sm_120a : GeForce<120, "a", 87, 88>;
def sm_120f : GeForce<120, "f", 88, 88>;
def sm_121  : GeForce<121, "", 88, 88>;
def sm_121a : GeForce<121, "a", 88, 88>;
def sm_121f : GeForce<121, "f", 88, 88>;

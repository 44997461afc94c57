// What a launch needs, for extension.cpp: Heddle's functions, the driver, the kernels that are there, workspaces.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <dlfcn.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace {

union Arg { // heddle_arg
  const void *ptr;
  int32_t i32;
  int64_t i64;
  float f32;
};

// heddle/kernel.h and heddle/context.h, by address.
struct Api {
  int (*launch)(void *ctx, const void *kernel, const Arg *args, size_t n_args, void *stream);
  int (*workspace)(void *ctx, const void *kernel, const Arg *args, size_t n_args, uint64_t *n_bytes);
  void *(*context_create)();
  void (*context_free)(void *ctx);
  size_t (*context_count)(const void *ctx);
  const void *(*context_get)(const void *ctx, size_t i);
  size_t (*diagnostic_format)(const void *diagnostic, char *out, size_t n_bytes);
  // Makes the kernel of a key for so many tokens and registers it; 0, or the sentence of a refusal.
  int (*resolve)(const int64_t *key, int64_t n_tokens, char *message, size_t n_bytes);
};
Api api;

// The driver, for what torch has no function: a thread without a context, and streams that are being captured.
struct Driver {
  int (*ctx_get)(void **ctx);
  int (*ctx_set)(void *ctx);
  int (*primary_retain)(void **ctx, int device);
  int (*capture_info)(void *stream, int *status, uint64_t *id, void **graph, void *nodes, void *n_nodes);
  int (*capture_mode)(int *mode); // of this thread; exchanges it
  int (*mem_alloc)(uint64_t *address, size_t n_bytes);
  int (*mem_set)(uint64_t address, unsigned char value, size_t n_bytes, void *stream);
  int (*stream_create)(void **stream, unsigned flags);
  int (*stream_synchronize)(void *stream);
  int (*stream_destroy)(void *stream);
  int (*object_create)(void **object, void *user, void (*destroy)(void *user), unsigned n_refs, unsigned flags);
  int (*object_release)(void *object, unsigned n_refs);
  int (*graph_retain)(void *graph, void *object, unsigned n_refs, unsigned flags);
};

const Driver &driver() {
  static const Driver found = [] {
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    TORCH_CHECK(lib, "heddle: error[torch.driver]: libcuda.so.1 cannot be opened");
    Driver d{};
    auto find = [lib](auto &function, const char *name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(lib, name));
      TORCH_CHECK(function, "heddle: error[torch.driver]: libcuda.so.1 lacks ", name);
    };
    find(d.ctx_get, "cuCtxGetCurrent");
    find(d.ctx_set, "cuCtxSetCurrent");
    find(d.primary_retain, "cuDevicePrimaryCtxRetain");
    find(d.capture_info, "cuStreamGetCaptureInfo_v2");
    find(d.capture_mode, "cuThreadExchangeStreamCaptureMode");
    find(d.mem_alloc, "cuMemAlloc_v2");
    find(d.mem_set, "cuMemsetD8Async");
    find(d.stream_create, "cuStreamCreate");
    find(d.stream_synchronize, "cuStreamSynchronize");
    find(d.stream_destroy, "cuStreamDestroy_v2");
    find(d.object_create, "cuUserObjectCreate");
    find(d.object_release, "cuUserObjectRelease");
    find(d.graph_retain, "cuGraphRetainUserObject");
    return d;
  }();
  return found;
}

// The numbers of types that Python counts in (_plans.py, _NUMBERS).
static_assert(int(at::kChar) == 1 && int(at::kInt) == 3 && int(at::kHalf) == 5 && int(at::kFloat) == 6 &&
              int(at::kDouble) == 7 && int(at::kBFloat16) == 15 && int(at::kFloat8_e5m2) == 23 &&
              int(at::kFloat8_e4m3fn) == 24, "ORDER SCALAR TYPES");

// What kernels are made for: device, types of x, D and bias (-1: none), activation, whether there are scales, rows and
// columns of the weight, whether there is an addend, whether it normalises x by sums of squares and whether it writes sums
// of its output. There is one for each range of token counts. ORDER KEY (_plans.py)
enum { KEY_DEVICE, KEY_X, KEY_OUT, KEY_BIAS, KEY_ACT, KEY_SCALED, KEY_M, KEY_K, KEY_ADDEND, KEY_NORM, KEY_REDUCE, KEY_FIELDS };
struct Key {
  int64_t field[KEY_FIELDS];
  bool operator==(const Key &other) const { return std::memcmp(field, other.field, sizeof field) == 0; }
};
struct KeyHash {
  size_t operator()(const Key &key) const {
    uint64_t hash = 0;
    for (int64_t x : key.field)
      hash = (hash ^ static_cast<uint64_t>(x)) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
    return hash;
  }
};

enum class Role : uint8_t { A, B, C, D, BIAS, SCALE_A, SCALE_B, SCALE_D, N, LDB, LDC, LDD, LDSB, LDSD, EPS,
                            WORKSPACE }; // ORDER ROLES (_plans.py)
constexpr size_t MAX_ARGS = 16;
struct Args { // of one launch: nothing on its way allocates
  Arg v[MAX_ARGS];
  size_t n;
};
struct Kernel {
  const void *handle;
  std::vector<Role> roles;
  bool has_workspace;
  int64_t packed_bytes; // of the weight
};

// The kernels of a key: range i takes at most limits[i] tokens, the last any number. Null: not made yet.
struct Family {
  std::vector<int64_t> limits;
  std::vector<std::unique_ptr<Kernel>> kernels;
};

std::shared_mutex families_lock;
std::unordered_map<Key, Family, KeyHash> families; // nothing is erased: a found kernel stays where it is

const Kernel *look_up(const Key &key, int64_t n_tokens) {
  std::shared_lock<std::shared_mutex> hold(families_lock);
  auto found = families.find(key);
  if (found == families.end())
    return nullptr;
  const Family &family = found->second;
  size_t i = 0;
  while (i + 1 < family.limits.size() && n_tokens > family.limits[i])
    i++;
  return family.kernels[i].get();
}

const Kernel &kernel_of(const Key &key, int64_t n_tokens) {
  if (const Kernel *kernel = look_up(key, n_tokens))
    return *kernel;
  char message[2048] = "";
  int failed = api.resolve(key.field, n_tokens, message, sizeof message);
  TORCH_CHECK(!failed, message);
  const Kernel *kernel = look_up(key, n_tokens);
  TORCH_INTERNAL_ASSERT(kernel);
  return *kernel;
}

// The reason of a refusal: the call again, with a context that keeps the sentences.
std::string sentences(const Kernel &kernel, const Args &args, void *stream) {
  void *ctx = api.context_create();
  std::string text = "heddle: ";
  if (api.launch(ctx, kernel.handle, args.v, args.n, stream) == 0)
    text.clear();
  for (size_t i = 0; i < api.context_count(ctx); i++) {
    char line[1024];
    api.diagnostic_format(api.context_get(ctx, i), line, sizeof line);
    text += std::string(i ? "\n" : "") + line;
  }
  api.context_free(ctx);
  return text;
}

// ---- workspace ----
// A launch that splits k needs memory that is zero before it, and leaves it zero. Each kernel has one workspace for
// each stream, and in a capture one for each captured graph and stream: launches that may overlap never share.

// Memory that captured graphs own. It is zeroed once, beside the capture: from torch's allocator it would lie in the
// graph's pool, which other tensors of the graph use too, and each replay would have to zero it. When the graph is
// destroyed, the driver calls give_back, which must not call CUDA: the next capture takes the block.
struct Block {
  uint64_t address;
  size_t n_bytes;
  int64_t device;
};
struct FreeBlocks {
  std::mutex lock;
  std::vector<Block> blocks;
};
FreeBlocks &free_blocks() {
  static auto *f = new FreeBlocks; // never destroyed: graphs may outlive static objects
  return *f;
}

void give_back(void *user) {
  auto *block = static_cast<Block *>(user);
  std::lock_guard<std::mutex> hold(free_blocks().lock);
  free_blocks().blocks.push_back(*block);
  delete block;
}

// The smallest free block that suffices, else a new one; false: out of memory.
bool take_block(Block *block) {
  FreeBlocks &f = free_blocks();
  std::lock_guard<std::mutex> hold(f.lock);
  auto best = f.blocks.end();
  for (auto it = f.blocks.begin(); it != f.blocks.end(); ++it)
    if (it->device == block->device && it->n_bytes >= block->n_bytes &&
        (best == f.blocks.end() || it->n_bytes < best->n_bytes))
      best = it;
  if (best == f.blocks.end())
    return driver().mem_alloc(&block->address, block->n_bytes) == 0;
  *block = *best;
  f.blocks.erase(best);
  return true;
}

bool set_zero(const Block &block) {
  constexpr unsigned NON_BLOCKING = 1;
  const Driver &d = driver();
  void *stream = nullptr;
  if (d.stream_create(&stream, NON_BLOCKING))
    return false;
  bool done = !d.mem_set(block.address, 0, block.n_bytes, stream) && !d.stream_synchronize(stream);
  d.stream_destroy(stream);
  return done;
}

// While a stream is captured into `graph`: zeroed memory that the graph owns; null: there is none.
void *block_of_graph(void *graph, size_t n_bytes, int64_t device) {
  constexpr int RELAXED = 2;
  constexpr unsigned NO_DESTRUCTOR_SYNC = 1, MOVE = 1;
  const Driver &d = driver();
  Block block{0, n_bytes, device};
  void *object = nullptr;
  int mode = RELAXED; // this thread may allocate, though a stream is being captured
  d.capture_mode(&mode);
  bool owned = false;
  if (take_block(&block)) {
    auto *user = new Block(block);
    if (!set_zero(block) || d.object_create(&object, user, give_back, 1, NO_DESTRUCTOR_SYNC))
      give_back(user);
    else if (!(owned = d.graph_retain(graph, object, 1, MOVE) == 0))
      d.object_release(object, 1);
  }
  d.capture_mode(&mode);
  return owned ? reinterpret_cast<void *>(block.address) : nullptr;
}

struct Workspace {
  void *address;
  uint64_t n_bytes;
  at::Tensor kept; // undefined: a graph owns it
};
struct Workspaces {
  std::mutex lock;
  std::map<std::tuple<const void *, void *, uint64_t>, Workspace> kept; // of kernel, stream, capture (0: none)
  uint64_t capture = 0; // the latest; those of earlier captures are let go of
};
Workspaces &workspaces() {
  static auto *w = new Workspaces; // never destroyed: tensors must not outlive CUDA at exit
  return *w;
}

void *workspace_of(const Kernel &kernel, const Args &args, void *stream, const at::Tensor &x) {
  uint64_t n_bytes = 0, capture = 0;
  void *graph = nullptr;
  int capturing = 0;
  api.workspace(nullptr, kernel.handle, args.v, args.n, &n_bytes);
  if (n_bytes == 0)
    return nullptr;
  driver().capture_info(stream, &capturing, &capture, &graph, nullptr, nullptr);
  if (!capturing)
    capture = 0;
  Workspaces &w = workspaces();
  std::lock_guard<std::mutex> hold(w.lock);
  if (capture && capture != w.capture) {
    for (auto it = w.kept.begin(); it != w.kept.end();)
      it = std::get<2>(it->first) ? w.kept.erase(it) : std::next(it);
    w.capture = capture;
  }
  Workspace &found = w.kept[{kernel.handle, stream, capture}];
  if (found.n_bytes >= n_bytes)
    return found.address;
  if (capture)
    if (void *address = block_of_graph(graph, n_bytes, x.get_device())) {
      found = {address, n_bytes, {}};
      return address;
    }
  found.kept = at::zeros({static_cast<int64_t>(n_bytes)}, x.options().dtype(at::kByte));
  found = {found.kept.data_ptr(), n_bytes, found.kept};
  return found.address;
}

} // namespace

// The ops of heddle.torch in C++: what eager mode and Inductor call. It is compiled by _extension.py against the
// headers of the torch that is there; it links neither libheddle nor CUDA: the functions of the first come as pointers,
// those of the driver from the libcuda that torch has loaded.
//
// An op finds its kernel by what it was made for (Key). The first call for a key asks Python to make it.
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/cuda/EmptyTensor.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>
#if __has_include(<Python.h>)
#include <torch/csrc/Dtype.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#endif

#include "extension_launch.h"

extern "C" __attribute__((weak)) int aoti_torch_get_current_cuda_stream(int32_t device_index, void **stream);

namespace {

const char *const ACTS[] = {"none", "relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu", "geglu_tanh",
                            "reglu"}; // ORDER ACTS (_plans.py)
constexpr int64_t FIRST_PAIR = 5; // from here on the weight is half gate, half up

int64_t act_number(c10::string_view act) {
  for (size_t i = 0; i < sizeof ACTS / sizeof *ACTS; i++)
    if (act == ACTS[i])
      return static_cast<int64_t>(i);
  TORCH_CHECK(false, "heddle: error[torch.act]: got '", act, "'; legal: none, relu, gelu, gelu_tanh, silu, swiglu, "
              "geglu, geglu_tanh, reglu");
}

at::ScalarType default_out(at::ScalarType x) {
  switch (x) {
  case at::kBFloat16: case at::kHalf: case at::kFloat: return x;
  case at::kChar: return at::kInt;
  case at::kFloat8_e4m3fn: case at::kFloat8_e5m2: return at::kBFloat16;
  default:
    TORCH_CHECK(false, "heddle: error[torch.dtype]: got x of ", x, "; legal: bfloat16, float16, float32, float8_e4m3fn, "
                "float8_e5m2, int8");
  }
}

void check_vector(const char *name, const at::Tensor &v, int64_t size, const at::Tensor &x) {
  TORCH_CHECK(v.device() == x.device(), "heddle: error[torch.device]: got ", name, " on ", v.device(), " and x on ",
              x.device(), "; legal: one device");
  TORCH_CHECK(v.numel() == size && v.is_contiguous(), "heddle: error[torch.shape]: got ", name, " of shape ", v.sizes(),
              "; legal: ", size, " values that lie together");
}

// The kernel adds it before the activation, so an act is refused: what is meant is the sum behind it. d: the result.
void check_addend(const at::Tensor &addend, const at::Tensor &d, c10::string_view act) {
  TORCH_CHECK(addend.device() == d.device(), "heddle: error[torch.device]: got addend on ", addend.device(),
              " and x on ", d.device(), "; legal: one device");
  TORCH_CHECK(act == "none", "heddle: error[torch.addend]: got an addend with act = ", act, "; legal: act = none");
  TORCH_CHECK(d.is_floating_point() && addend.scalar_type() == d.scalar_type(),
              "heddle: error[torch.addend]: got an addend of ", addend.scalar_type(), " to a result of ",
              d.scalar_type(), "; legal: the type of the result, a floating-point type");
  TORCH_CHECK(addend.sizes() == d.sizes(), "heddle: error[torch.shape]: got an addend of shape ", addend.sizes(),
              "; legal: ", d.sizes());
}

// x as rows that a kernel can read: elements of a row together, rows no closer than that.
at::Tensor as_rows(const at::Tensor &x, int64_t k) {
  at::Tensor rows = x.dim() == 2 ? x : x.reshape({-1, k});
  bool readable = (rows.stride(1) == 1 || k == 1) && (rows.size(0) == 1 || rows.stride(0) >= k);
  return readable ? rows : rows.contiguous();
}

// The distance between rows in elements; of a single row, whose stride means nothing, its length.
int64_t pitch_of(const at::Tensor &rows) { return rows.size(0) == 1 ? rows.size(1) : rows.stride(0); }

// A thread that has never used CUDA has no context: it gets the device's primary one.
void need_context(int device) {
  void *ctx = nullptr;
  if (driver().ctx_get(&ctx) == 0 && ctx)
    return;
  int status = driver().primary_retain(&ctx, device);
  if (status == 0)
    status = driver().ctx_set(ctx);
  TORCH_CHECK(status == 0, "heddle: error[torch.context]: this thread has no CUDA context, and the primary one of device ",
              device, " cannot be made current (driver error ", status, ")");
}

struct Operands {
  const at::Tensor &rows, &packed, &d, &addend; // addend: undefined if there is none
  const void *bias, *scale_w, *scale_x;
  void *sums; // of squares of D
  double eps;
};

// m: output features, the pitch of D.
Args arguments(const Kernel &kernel, const Operands &o, int64_t n, int64_t m) {
  Args args;
  args.n = kernel.roles.size();
  for (size_t i = 0; i < args.n; i++)
    switch (kernel.roles[i]) {
    case Role::A: args.v[i].ptr = o.packed.const_data_ptr(); break;
    case Role::B: args.v[i].ptr = o.rows.const_data_ptr(); break;
    case Role::C: args.v[i].ptr = o.addend.const_data_ptr(); break;
    case Role::D: args.v[i].ptr = o.d.data_ptr(); break;
    case Role::BIAS: args.v[i].ptr = o.bias; break;
    case Role::SCALE_A: args.v[i].ptr = o.scale_w; break;
    case Role::SCALE_B: args.v[i].ptr = o.scale_x; break;
    case Role::SCALE_D: args.v[i].ptr = o.sums; break;
    case Role::N: args.v[i].i32 = static_cast<int32_t>(n); break;
    case Role::LDB: args.v[i].i64 = pitch_of(o.rows); break;
    case Role::LDC: args.v[i].i64 = pitch_of(o.addend); break;
    case Role::LDD: args.v[i].i64 = m; break;
    case Role::LDSB: case Role::LDSD: args.v[i].i64 = n; break;
    case Role::EPS: args.v[i].f32 = static_cast<float>(o.eps); break;
    case Role::WORKSPACE: args.v[i].ptr = nullptr; break;
    }
  return args;
}

void launch(const Kernel &kernel, const Operands &o, int64_t n, int64_t m, int device) {
  Args args = arguments(kernel, o, n, m);
  void *stream = nullptr;
  TORCH_CHECK(aoti_torch_get_current_cuda_stream(device, &stream) == 0, "heddle: error[torch.stream]: no current stream");
  if (kernel.has_workspace)
    for (size_t j = 0; j < args.n; j++)
      if (kernel.roles[j] == Role::WORKSPACE)
        args.v[j].ptr = workspace_of(kernel, args, stream, o.rows);
  if (api.launch(nullptr, kernel.handle, args.v, args.n, stream) != 0) {
    std::string why = sentences(kernel, args, stream);
    TORCH_CHECK(why.empty(), why);
  }
}

// The tensor's data, in the type that kernels have for it; `kept` holds a converted copy.
const void *vector_data(const char *name, const c10::optional<at::Tensor> &given, int64_t size, const at::Tensor &x,
                        bool f32, at::Tensor &kept) {
  if (!given)
    return nullptr;
  kept = *given;
  if (f32 && kept.scalar_type() != at::kFloat)
    kept = kept.to(at::kFloat);
  if (!kept.is_contiguous())
    kept = kept.contiguous();
  check_vector(name, kept, size, x);
  return kept.const_data_ptr();
}

constexpr int64_t SUM_ROWS = 128; // features that a sum of squares covers

// Sums of squares: those that normalise x, [k / 128, tokens], and those of the output, [features / 128, tokens].
struct Norm {
  const c10::optional<at::Tensor> &given;
  double eps;
  at::Tensor *wanted; // null: not wanted
};

void check_norm(const Norm &norm, const at::Tensor &x, int64_t k, int64_t n, int64_t features) {
  if (!norm.given && !norm.wanted)
    return;
  TORCH_CHECK(x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kHalf,
              "heddle: error[torch.norm]: got sums with x of ", x.scalar_type(), "; legal: bfloat16, float16");
  TORCH_CHECK(!norm.wanted || features % SUM_ROWS == 0, "heddle: error[torch.norm]: got ", features,
              " output features whose sums are wanted; legal: multiples of 128");
  if (!norm.given)
    return;
  const at::Tensor &sums = *norm.given;
  TORCH_CHECK(sums.device() == x.device(), "heddle: error[torch.device]: got sums on ", sums.device(), " and x on ",
              x.device(), "; legal: one device");
  TORCH_CHECK(k % SUM_ROWS == 0 && sums.scalar_type() == at::kFloat && norm.eps >= 0,
              "heddle: error[torch.norm]: got ", k, " input features, sums of ", sums.scalar_type(), ", eps ", norm.eps,
              "; legal: multiples of 128, float32, at least 0");
  TORCH_CHECK(sums.dim() == 2 && sums.size(0) == k / SUM_ROWS && sums.size(1) == n,
              "heddle: error[torch.shape]: got sums of shape ", sums.sizes(), "; legal: [", k / SUM_ROWS, ", ", n, "]");
}

at::Tensor multiply(const at::Tensor &x, const at::Tensor &packed, int64_t features,
                    const c10::optional<at::Tensor> &bias, const c10::optional<at::Tensor> &scale_x,
                    const c10::optional<at::Tensor> &scale_w, c10::string_view act,
                    c10::optional<at::ScalarType> out_dtype, const c10::optional<at::Tensor> &addend, const Norm &norm) {
  TORCH_CHECK(x.dim() >= 1 && features >= 1, "heddle: error[torch.shape]: got x of ", x.dim(), " dimensions, ",
              features, " output features; legal: at least 1 of each");
  int64_t act_index = act_number(act), m = act_index >= FIRST_PAIR ? 2 * features : features; // rows of the weight
  TORCH_CHECK(act_index < FIRST_PAIR || features % 8 == 0, "heddle: error[torch.pair]: got ", features,
              " output features with act = ", act, "; legal: multiples of 8");
  at::ScalarType out = out_dtype.value_or(default_out(x.scalar_type()));
  int64_t k = x.size(-1), n = k ? x.numel() / k : 0;
  TORCH_CHECK(packed.device() == x.device(), "heddle: error[torch.device]: got packed on ", packed.device(),
              " and x on ", x.device(), "; legal: one device");
  TORCH_CHECK(packed.scalar_type() == at::kByte && packed.is_contiguous(),
              "heddle: error[torch.packed]: got packed of ", packed.scalar_type(), "; legal: uint8, contiguous");
  TORCH_CHECK(n < (int64_t(1) << 31), "heddle: error[torch.shape]: got ", n, " tokens; legal: below 2^31");
  TORCH_CHECK(bool(scale_x) == bool(scale_w), "heddle: error[torch.scales]: got one of two scales; legal: none or both");
  c10::OptionalDeviceGuard guard(x.device());
  int device = x.device().index();
  bool integer = x.scalar_type() == at::kChar;
  at::DimVector sizes(x.sizes());
  sizes.back() = features;
  at::Tensor d = at::detail::empty_cuda(sizes, out, x.device(), c10::nullopt); // this op is below the dispatcher
  if (addend)
    check_addend(*addend, d, act);
  check_norm(norm, x, k, n, features);
  if (norm.wanted)
    *norm.wanted = at::detail::empty_cuda({features / SUM_ROWS, n}, at::kFloat, x.device(), c10::nullopt);
  Key key{{device, int64_t(x.scalar_type()), int64_t(out),
           bias ? int64_t(integer ? at::kFloat : bias->scalar_type()) : -1, act_index, bool(scale_x), m, k,
           bool(addend), bool(norm.given), bool(norm.wanted)}};
  const Kernel &kernel = kernel_of(key, n);
  TORCH_CHECK(packed.numel() == kernel.packed_bytes, "heddle: error[torch.packed]: got ", packed.numel(),
              " packed bytes; legal: ", kernel.packed_bytes, " for ", m, " x ", k, " ", x.scalar_type());
  if (n == 0)
    return d;
  const c10::optional<at::Tensor> &of_x = norm.given ? norm.given : scale_x; // the kernel's scale_b
  int64_t of_x_size = norm.given ? k / SUM_ROWS * n : n;
  at::Tensor kept_bias, kept_x, kept_w, rows = as_rows(x, k), added;
  if (addend)
    added = as_rows(*addend, features);
  Operands o{rows, packed, d, added, vector_data("bias", bias, m, x, integer, kept_bias),
             vector_data("scale_w", scale_w, m, x, true, kept_w),
             vector_data("scale_x", of_x, of_x_size, x, true, kept_x),
             norm.wanted ? norm.wanted->data_ptr() : nullptr, norm.eps};
  need_context(device);
  launch(kernel, o, n, features, device);
  return d;
}

at::Tensor linear_cuda(const at::Tensor &x, const at::Tensor &packed, int64_t features,
                       const c10::optional<at::Tensor> &bias, const c10::optional<at::Tensor> &scale_x,
                       const c10::optional<at::Tensor> &scale_w, c10::string_view act,
                       c10::optional<at::ScalarType> out_dtype, const c10::optional<at::Tensor> &addend) {
  return multiply(x, packed, features, bias, scale_x, scale_w, act, out_dtype, addend, {c10::nullopt, 0, nullptr});
}

std::tuple<at::Tensor, at::Tensor> linear_norm_cuda(const at::Tensor &x, const at::Tensor &packed, int64_t features,
                                                    const c10::optional<at::Tensor> &bias, c10::string_view act,
                                                    const c10::optional<at::Tensor> &addend,
                                                    const c10::optional<at::Tensor> &sums, double eps, bool want_sums) {
  at::Tensor of_y;
  at::Tensor y = multiply(x, packed, features, bias, c10::nullopt, c10::nullopt, act, c10::nullopt, addend,
                          {sums, eps, want_sums ? &of_y : nullptr});
  if (!want_sums)
    of_y = at::detail::empty_cuda({0}, at::kFloat, x.device(), c10::nullopt);
  return {y, of_y};
}

using Signature = decltype(linear_cuda);
using NormSignature = decltype(linear_norm_cuda);

template <typename Function> const c10::TypedOperatorHandle<Function> &handle(const char *name) {
  static std::map<std::string, c10::TypedOperatorHandle<Function>> found;
  static std::mutex lock;
  std::lock_guard<std::mutex> hold(lock);
  auto at = found.find(name);
  if (at == found.end())
    at = found.emplace(name, c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Function>()).first;
  return at->second;
}

bool wants_grad(const c10::optional<at::Tensor> &t) { return t && t->requires_grad(); }

// Without gradients nothing of autograd is on the way; with them the op that knows how (registered in Python) runs.
at::Tensor linear_autograd(const at::Tensor &x, const at::Tensor &packed, int64_t m,
                           const c10::optional<at::Tensor> &bias, const c10::optional<at::Tensor> &scale_x,
                           const c10::optional<at::Tensor> &scale_w, c10::string_view act,
                           c10::optional<at::ScalarType> out_dtype, const c10::optional<at::Tensor> &addend) {
  static const auto &plain = handle<Signature>("heddle::linear"), &with_grad = handle<Signature>("heddle::linear_with_grad");
  if (c10::GradMode::is_enabled() && (x.requires_grad() || wants_grad(bias) || wants_grad(addend)))
    return with_grad.call(x, packed, m, bias, scale_x, scale_w, act, out_dtype, addend);
  at::AutoDispatchBelowADInplaceOrView below;
  return plain.call(x, packed, m, bias, scale_x, scale_w, act, out_dtype, addend);
}

std::tuple<at::Tensor, at::Tensor> linear_norm_autograd(const at::Tensor &x, const at::Tensor &packed, int64_t features,
                                                        const c10::optional<at::Tensor> &bias, c10::string_view act,
                                                        const c10::optional<at::Tensor> &addend,
                                                        const c10::optional<at::Tensor> &sums, double eps, bool want_sums) {
  static const auto &plain = handle<NormSignature>("heddle::linear_norm");
  TORCH_CHECK(!c10::GradMode::is_enabled() ||
                  !(x.requires_grad() || wants_grad(bias) || wants_grad(addend) || wants_grad(sums)),
              "heddle: error[torch.autograd]: got an input of linear_norm that wants a gradient; legal: torch.no_grad(), or "
              "linear behind a norm");
  at::AutoDispatchBelowADInplaceOrView below;
  return plain.call(x, packed, features, bias, act, addend, sums, eps, want_sums);
}

const char SCHEMA[] = "(Tensor x, Tensor packed, int out_features, Tensor? bias=None, Tensor? scale_x=None, "
                      "Tensor? scale_w=None, str act=\"none\", ScalarType? out_dtype=None, Tensor? addend=None) -> "
                      "Tensor";
const char NORM_SCHEMA[] = "(Tensor x, Tensor packed, int out_features, Tensor? bias=None, str act=\"none\", "
                           "Tensor? addend=None, Tensor? sums=None, float eps=0., bool want_sums=False) -> (Tensor, Tensor)";

} // namespace

TORCH_LIBRARY(heddle, m) {
  const std::vector<at::Tag> tags{at::Tag::pt2_compliant_tag};
  m.def((std::string("linear") + SCHEMA).c_str(), tags);
  m.def((std::string("linear_with_grad") + SCHEMA).c_str(), tags);
  m.def((std::string("linear_norm") + NORM_SCHEMA).c_str(), tags);
}
TORCH_LIBRARY_IMPL(heddle, CUDA, m) {
  m.impl("linear", &linear_cuda);
  m.impl("linear_with_grad", &linear_cuda);
  m.impl("linear_norm", &linear_norm_cuda);
}
TORCH_LIBRARY_IMPL(heddle, Autograd, m) {
  m.impl("linear", &linear_autograd);
  m.impl("linear_norm", &linear_norm_autograd);
}

// ---- what Python calls ----

#ifdef Py_PYTHON_H
namespace {

c10::optional<at::Tensor> tensor_or_none(PyObject *object) {
  return object == Py_None ? c10::optional<at::Tensor>() : THPVariable_Unpack(object);
}

bool is_plain(PyObject *object) { return object == Py_None || THPVariable_CheckExact(object); }

// The op for arguments that need no conversion: tensors of torch's own class, all nine by position. It goes through
// the dispatcher as torch.ops does, without the boxing of arguments by schema. NotImplemented: other arguments.
PyObject *call_linear(PyObject *, PyObject *const *args, Py_ssize_t n_args) {
  HANDLE_TH_ERRORS
  static const auto &plain = handle<Signature>("heddle::linear");
  bool fits = n_args == 9 && args[0] != Py_None && args[1] != Py_None && PyLong_Check(args[2]) &&
              PyUnicode_Check(args[6]) && (args[7] == Py_None || THPDtype_Check(args[7])) &&
              !at::impl::torch_function_mode_enabled();
  for (int i : {0, 1, 3, 4, 5, 8})
    fits = fits && is_plain(args[i]);
  if (!fits)
    Py_RETURN_NOTIMPLEMENTED;
  int64_t features = PyLong_AsLongLong(args[2]);
  Py_ssize_t n_bytes = 0;
  const char *act = PyUnicode_AsUTF8AndSize(args[6], &n_bytes);
  if (!act || (features == -1 && PyErr_Occurred()))
    return nullptr;
  c10::optional<at::ScalarType> out_dtype;
  if (args[7] != Py_None)
    out_dtype = reinterpret_cast<THPDtype *>(args[7])->scalar_type;
  const at::Tensor &x = THPVariable_Unpack(args[0]), &packed = THPVariable_Unpack(args[1]);
  auto bias = tensor_or_none(args[3]), scale_x = tensor_or_none(args[4]), scale_w = tensor_or_none(args[5]),
       addend = tensor_or_none(args[8]);
  at::Tensor y;
  {
    pybind11::gil_scoped_release release;
    y = plain.call(x, packed, features, bias, scale_x, scale_w, {act, size_t(n_bytes)}, out_dtype, addend);
  }
  return THPVariable_Wrap(std::move(y));
  END_HANDLE_TH_ERRORS
}

PyMethodDef linear_method = {"linear", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_linear)),
                             METH_FASTCALL, nullptr};

} // namespace

// call_linear as a function of Python's; the caller holds the GIL (ctypes.PyDLL).
extern "C" __attribute__((visibility("default"))) PyObject *heddle_torch_linear() {
  return PyCFunction_New(&linear_method, nullptr);
}
#endif

extern "C" __attribute__((visibility("default"))) void
heddle_torch_init(const void *const *functions) {
  std::memcpy(&api, functions, sizeof api);
}

// The kernel of a key for range `bucket` of those that end at `limits`; packed_bytes: of the weight that it takes.
extern "C" __attribute__((visibility("default"))) void
heddle_torch_register(const int64_t *fields, const int64_t *limits, size_t n_buckets, size_t bucket, const void *handle,
                      const uint8_t *roles, size_t n_roles, int64_t packed_bytes) {
  Key key;
  std::memcpy(key.field, fields, sizeof key.field);
  auto kernel = std::make_unique<Kernel>(Kernel{handle, {}, false, packed_bytes});
  for (size_t i = 0; i < n_roles; i++) {
    kernel->roles.push_back(static_cast<Role>(roles[i]));
    kernel->has_workspace |= kernel->roles.back() == Role::WORKSPACE;
  }
  std::unique_lock<std::shared_mutex> hold(families_lock);
  Family &family = families[key];
  if (family.limits.empty()) {
    family.limits.assign(limits, limits + n_buckets);
    family.kernels.resize(n_buckets);
  }
  if (!family.kernels[bucket])
    family.kernels[bucket] = std::move(kernel);
}

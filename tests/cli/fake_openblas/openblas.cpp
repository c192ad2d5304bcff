// A fake libopenblas.so.0 that chooses its kernels when it is loaded, as the real one does on a processor that it does not know: those that
// OPENBLAS_CORETYPE names, else kernels of SSE3. Its products are plain loops.
#include <cstdlib>
#include <string>

namespace {

std::string chosen_core() {
  const char* asked = std::getenv("OPENBLAS_CORETYPE");
  return asked ? asked : "Prescott";
}
std::string core = chosen_core();
std::string config = "OpenBLAS 0.0.0";

template <class T>
void multiply(int m, int n, int k, const T* a, const T* b, T* c) {
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      T sum = 0;
      for (int at = 0; at < k; ++at) sum += a[i * k + at] * b[at * n + j];
      c[i * n + j] = sum;
    }
}

}  // namespace

extern "C" {

char* openblas_get_config() { return config.data(); }
char* openblas_get_corename() { return core.data(); }
void openblas_set_num_threads(int) {}

void cblas_sgemm(int, int, int, int m, int n, int k, float, const float* a, int, const float* b, int, float, float* c, int) {
  multiply(m, n, k, a, b, c);
}
void cblas_dgemm(int, int, int, int m, int n, int k, double, const double* a, int, const double* b, int, double, double* c, int) {
  multiply(m, n, k, a, b, c);
}
void cblas_sgemv(int, int, int m, int n, float, const float* a, int, const float* x, int, float, float* y, int) {
  multiply(m, 1, n, a, x, y);
}
void cblas_dgemv(int, int, int m, int n, double, const double* a, int, const double* x, int, double, double* y, int) {
  multiply(m, 1, n, a, x, y);
}
}

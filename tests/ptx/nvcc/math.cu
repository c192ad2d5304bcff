// Functions of math.h in f32 and f64, with their slow paths.
extern "C" __global__ void floats(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i], *o = out + 16 * i;
  o[0] = sinf(v);
  o[1] = cosf(v);
  o[2] = tanf(v);
  o[3] = expf(v);
  o[4] = logf(fabsf(v));
  o[5] = powf(fabsf(v), 1.7f);
  o[6] = erff(v);
  o[7] = tanhf(v);
  o[8] = atan2f(v, 2.5f);
  o[9] = fmodf(v, 0.7f);
  o[10] = cbrtf(v);
  o[11] = lgammaf(fabsf(v) + 0.5f);
  o[12] = rsqrtf(fabsf(v));
  o[13] = asinhf(v);
  o[14] = 1.0f / v;
  o[15] = sqrtf(fabsf(v)) + floorf(v) + rintf(v) + truncf(v);
}
extern "C" __global__ void doubles(const double* x, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double v = x[i], *o = out + 12 * i;
  o[0] = sin(v);
  o[1] = cos(v);
  o[2] = exp(v);
  o[3] = log(fabs(v));
  o[4] = pow(fabs(v), 1.7);
  o[5] = erfc(v);
  o[6] = tanh(v);
  o[7] = atan(v);
  o[8] = fmod(v, 0.7);
  o[9] = sqrt(fabs(v));
  o[10] = 1 / v;
  o[11] = v / 3.7 + rsqrt(fabs(v)) + ldexp(v, 3);
}

#include <dlfcn.h>

#include <cmath>

#include "bench/gpu.cuh"

namespace gpusort::bench {

void Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  const bool memory = error == cudaErrorMemoryAllocation;
  throw Error(memory ? ErrorCode::kOutOfMemory : ErrorCode::kGpuLost,
              std::string(what) + ": " + cudaGetErrorString(error));
}

/// The clock of the multiprocessors, read through the driver's management library if that library is there.
struct Gpu::Clock {
  explicit Clock(int device) {
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto init = Find<int (*)()>("nvmlInit_v2");
    const auto by_bus = Find<int (*)(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
    get = Find<int (*)(void*, int, unsigned*)>("nvmlDeviceGetClockInfo");
    char bus[32];
    if (init == nullptr || by_bus == nullptr || get == nullptr || init() != 0) return;
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, device) != cudaSuccess) return;
    if (by_bus(bus, &handle) != 0) handle = nullptr;
  }
  // The library stays open, because it is in use until the end.

  /// Returns the clock in MHz, or 0 if it is not known.
  unsigned Read() const {
    constexpr int kMultiprocessors = 1;
    unsigned mhz = 0;
    return handle != nullptr && get(handle, kMultiprocessors, &mhz) == 0 ? mhz : 0;
  }

  template <typename Function>
  Function Find(const char* name) const {
    return reinterpret_cast<Function>(dlsym(library, name));
  }
  void* library = nullptr;
  void* handle = nullptr;
  int (*get)(void*, int, unsigned*) = nullptr;
};

Gpu::Gpu(const Options& options) : options_(options) {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices == 0) {
    throw Error(ErrorCode::kGpuLost,
                std::string("no GPU: ") + (error == cudaSuccess ? "the driver sees none" : cudaGetErrorString(error)));
  }
  int device = 0;
  GPUSORT_CHECK(cudaGetDevice(&device));
  clock_ = std::make_unique<Clock>(device);
  GPUSORT_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  GPUSORT_CHECK(cudaEventCreate(&begin_));
  GPUSORT_CHECK(cudaEventCreate(&end_));
}

Gpu::~Gpu() {
  cudaEventDestroy(begin_);
  cudaEventDestroy(end_);
  cudaStreamDestroy(stream_);
}

void Gpu::Describe(Report& report) {
  int device = 0, driver = 0, runtime = 0;
  cudaDeviceProp properties;
  GPUSORT_CHECK(cudaGetDevice(&device));
  GPUSORT_CHECK(cudaGetDeviceProperties(&properties, device));
  GPUSORT_CHECK(cudaDriverGetVersion(&driver));
  GPUSORT_CHECK(cudaRuntimeGetVersion(&runtime));
  const auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
  report.Fact("gpu", properties.name);
  report.Fact("compute_capability", std::to_string(properties.major) + "." + std::to_string(properties.minor));
  report.Fact("cuda", "runtime " + version(runtime) + ", driver for " + version(driver));

  // Copies far more bytes than any cache has, and as many as fit a small GPU.
  const std::uint64_t bytes = std::min<std::uint64_t>(std::uint64_t{2} << 30, properties.totalGlobalMem / 8);
  const Copies<unsigned char> from(bytes, 1), to(bytes, 1);
  from.Spoil(0, stream_);
  const std::vector<Candidate> copy = {
      {"copy", "copy", false, 1, [&](unsigned, cudaStream_t stream) {
         GPUSORT_CHECK(cudaMemcpyAsync(to.at(0), from.at(0), bytes, cudaMemcpyDeviceToDevice, stream));
       }}};
  const Row row = Time(copy, 1, [](const Candidate&, unsigned) {}).front();
  report.Fact("copy_bandwidth", 2 * static_cast<double>(bytes) / row.median() / 1e6, "gb_s");
  if (row.clock_mhz == 0) {
    report.Fact("clock", "unknown");
  } else {
    report.Fact("clock", row.clock_mhz, "mhz");
  }
}

double Gpu::TimeOnce(const Candidate& candidate, unsigned copy, unsigned* clock_mhz) {
  GPUSORT_CHECK(cudaEventRecord(begin_, stream_));
  candidate.run(copy, stream_);
  GPUSORT_CHECK(cudaEventRecord(end_, stream_));
  // Reads the clock while the GPU works, because the clock may fall afterwards.
  if (clock_mhz != nullptr) *clock_mhz = clock_->Read();
  GPUSORT_CHECK(cudaEventSynchronize(end_));
  float milliseconds = 0;
  GPUSORT_CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
  return milliseconds;
}

std::vector<Row> Gpu::Time(const std::vector<Candidate>& candidates, unsigned copies,
                           const std::function<void(const Candidate&, unsigned)>& verify) {
  constexpr double kEnoughMs = 3;  // short calls vary more and cost less, so they get more samples
  constexpr int kMostSamples = 101;
  std::vector<Row> rows;
  std::vector<int> wanted;
  unsigned copy = 0;
  const auto next = [&] { return copy++ % copies; };
  int rounds = 0;
  for (const Candidate& candidate : candidates) {
    const unsigned first = next();
    candidate.run(first, stream_);
    if (candidate.collect) candidate.collect(first, stream_);
    GPUSORT_CHECK(cudaGetLastError());
    GPUSORT_CHECK(cudaStreamSynchronize(stream_));
    verify(candidate, first);
    const double once = TimeOnce(candidate, next(), nullptr);
    const int enough = static_cast<int>(std::min<double>(kMostSamples, std::ceil(kEnoughMs / std::max(once, 1e-3))));
    wanted.push_back(std::max(options_.repetitions, enough));
    rounds = std::max(rounds, wanted.back());
    Row row;
    row.name = candidate.name;
    row.kind = candidate.kind;
    row.sweeps = candidate.sweeps;
    rows.push_back(std::move(row));
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      if (round >= wanted[c]) continue;
      const bool last = round + 1 == wanted[c];
      rows[c].samples.push_back(TimeOnce(candidates[c], next(), last ? &rows[c].clock_mhz : nullptr));
    }
  }
  return rows;
}

void RunGpu(const Options& options, Report& report) {
  Gpu gpu(options);
  gpu.Describe(report);
  for (const std::string& subcommand : options.subcommands) {
    if (subcommand == "merge") {
      MergeBench<std::int32_t, NoValue>(gpu, report);
      MergeBench<std::int64_t, NoValue>(gpu, report);
      MergeBench<Key16, NoValue>(gpu, report);
      MergeBench<std::int32_t, std::int32_t>(gpu, report);
      MergeBench<std::int64_t, std::int64_t>(gpu, report);
    } else if (subcommand == "sort") {
      SortBench<std::int32_t, NoValue>(gpu, report);
      SortBench<std::int64_t, NoValue>(gpu, report);
      SortBench<Key16, NoValue>(gpu, report);
      SortBench<std::int32_t, std::int32_t>(gpu, report);
      SortBench<std::int64_t, std::int64_t>(gpu, report);
    } else if (subcommand == "runs") {
      RunsBench<std::int32_t>(gpu, report);
      RunsBench<std::int64_t>(gpu, report);
      RunsBench<Key16>(gpu, report);
    } else if (subcommand == "search") {
      SearchBench(gpu, report);
    } else if (subcommand == "rowcol") {
      RowColumnBench(gpu, report);
    }
  }
}

}  // namespace gpusort::bench

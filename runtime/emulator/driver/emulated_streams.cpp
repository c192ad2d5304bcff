// Streams, events and graphs of the emulated driver. Work is executed immediately, so streams are also ordered with each other.
#include "runtime/emulator/driver/emulated_objects.h"

namespace tilewright::rt::emulator {

using namespace cuda;

namespace {

EmulatedStream* stream_of(CUstream stream) { return reinterpret_cast<EmulatedStream*>(stream); }
EmulatedEvent* event_of(CUevent event) { return reinterpret_cast<EmulatedEvent*>(event); }
EmulatedGraph* graph_of(CUgraph graph) { return reinterpret_cast<EmulatedGraph*>(graph); }
EmulatedGraphExec* exec_of(CUgraphExec graph) { return reinterpret_cast<EmulatedGraphExec*>(graph); }

bool captures(CUstream stream) { return stream != nullptr && stream_of(stream)->captured != nullptr; }

CUresult launch_graph(CUgraphExec executable, CUstream stream) {
  if (executable == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const Work& work : exec_of(executable)->work)
    if (const CUresult status = submit(stream, work); status != CUDA_SUCCESS) return status;
  return CUDA_SUCCESS;
}

CUresult record(CUevent event, CUstream stream) {
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return submit(stream, [=] {
    event_of(event)->when = std::chrono::steady_clock::now();
    event_of(event)->is_recorded = true;
    return CUDA_SUCCESS;
  });
}

void fill_events(Driver& table) {
  table.cuEventCreate = [](CUevent* event, unsigned) { return *event = reinterpret_cast<CUevent>(new EmulatedEvent), CUDA_SUCCESS; };
  table.cuEventDestroy = [](CUevent event) { return delete event_of(event), CUDA_SUCCESS; };
  table.cuEventRecord = record;
  table.cuEventSynchronize = [](CUevent) { return CUDA_SUCCESS; };
  table.cuEventElapsedTime = [](float* milliseconds, CUevent start, CUevent end) {
    if (!event_of(start)->is_recorded || !event_of(end)->is_recorded) return CUDA_ERROR_INVALID_HANDLE;
    *milliseconds = std::chrono::duration<float, std::milli>(event_of(end)->when - event_of(start)->when).count();
    return CUDA_SUCCESS;
  };
}

void fill_graphs(Driver& table) {
  table.cuStreamIsCapturing = [](CUstream stream, CUstreamCaptureStatus* status) {
    *status = captures(stream) ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  };
  table.cuStreamBeginCapture = [](CUstream stream, CUstreamCaptureMode) {
    if (stream == nullptr || captures(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    stream_of(stream)->captured = std::make_unique<EmulatedGraph>();
    return CUDA_SUCCESS;
  };
  table.cuStreamEndCapture = [](CUstream stream, CUgraph* graph) {
    if (!captures(stream)) return CUDA_ERROR_INVALID_VALUE;
    *graph = reinterpret_cast<CUgraph>(stream_of(stream)->captured.release());
    return CUDA_SUCCESS;
  };
  table.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode*) { return CUDA_SUCCESS; };
  table.cuGraphCreate = [](CUgraph* graph, unsigned flags) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *graph = reinterpret_cast<CUgraph>(new EmulatedGraph);
    return CUDA_SUCCESS;
  };
  table.cuGraphInstantiate = [](CUgraphExec* executable, CUgraph graph, unsigned long long) {
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *executable = reinterpret_cast<CUgraphExec>(new EmulatedGraphExec{graph_of(graph)->work, graph_of(graph)});
    return CUDA_SUCCESS;
  };
  table.cuGraphLaunch = launch_graph;
  table.cuGraphExecDestroy = [](CUgraphExec executable) { return delete exec_of(executable), CUDA_SUCCESS; };
  table.cuGraphDestroy = [](CUgraph graph) { return delete graph_of(graph), CUDA_SUCCESS; };
}

}  // namespace

EmulatedDevice* device_of(CUstream stream) {
  return stream != nullptr ? stream_of(stream)->device : EmulatedDriverState::instance().current();
}

CUresult submit(CUstream stream, Work work) {
  if (!captures(stream)) return work();
  stream_of(stream)->captured->work.push_back(std::move(work));
  return CUDA_SUCCESS;
}

void fill_streams(Driver& table) {
  table.cuStreamCreate = [](CUstream* stream, unsigned) {
    EmulatedDevice* device = EmulatedDriverState::instance().current();
    if (device == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    auto* made = new EmulatedStream;
    made->device = device;
    *stream = reinterpret_cast<CUstream>(made);
    return CUDA_SUCCESS;
  };
  table.cuStreamDestroy = [](CUstream stream) { return delete stream_of(stream), CUDA_SUCCESS; };
  table.cuStreamSynchronize = [](CUstream stream) { return captures(stream) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS; };
  table.cuStreamWaitEvent = [](CUstream, CUevent, unsigned) { return CUDA_SUCCESS; };
  table.cuStreamGetCtx = [](CUstream stream, CUcontext* context) {
    *context = reinterpret_cast<CUcontext>(device_of(stream));
    return CUDA_SUCCESS;
  };
  fill_events(table);
  fill_graphs(table);
}

}  // namespace tilewright::rt::emulator

import { parentPort, workerData } from 'node:worker_threads';
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';

// The SDK takes a stack trace of every promise of a workflow, for the query `__stack_trace` alone. Errors keep their own.
Object.assign(globalHandlers, { setPromiseHook: () => undefined });

// From here on the thread is the SDK's.
await import('@temporalio/worker/lib/workflow/workflow-worker-thread.js');

// Counts the requests that this thread has worked on, for whoever watches it. Whoever listens first gets what was sent before, so the SDK does.
const { worked } = workerData as { readonly worked: Int32Array };
parentPort?.on('message', () => Atomics.add(worked, 0, 1));

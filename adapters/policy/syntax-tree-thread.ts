import { parentPort, workerData } from 'node:worker_threads';
import { readTree } from './syntax-tree.js';

// One tree, and the thread ends.
parentPort?.postMessage(readTree(Buffer.from(workerData as ArrayBuffer).toString()));

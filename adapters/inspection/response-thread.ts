import { workerData } from 'node:worker_threads';
import type { ScanRequest } from '../../contracts/response-scan.js';
import { scanResponse } from '../../domain/responses/scan-response.js';
import { answerInThread } from '../threads/threads.js';
import type { ResponseThreadStart } from './response-threads.js';

/** One thread that looks at large answers, one at a time. */
const { level } = workerData as ResponseThreadStart;
answerInThread((request: ScanRequest) => scanResponse(request, level));

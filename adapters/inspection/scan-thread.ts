import { workerData } from 'node:worker_threads';
import { answerInThread } from '../threads/threads.js';
import { type ScanQuestion, scanned, type ScanThreadStart } from './scan-work.js';

/** One thread that looks at what is large: answers, arguments, lists of tools and of names, one at a time. */
const { level } = workerData as ScanThreadStart;
const ordinary: ScanQuestion = {
  response: {
    agent_id: 'warm-up',
    method: 'tools/call',
    response_body: '{"content":[{"type":"text","text":"done"}]}',
    lanes: ['injection', 'data'],
    span_unit: 'utf8_bytes',
  },
};
void answerInThread(
  (question: ScanQuestion) => scanned(question, level),
  () => scanned(ordinary, level),
);

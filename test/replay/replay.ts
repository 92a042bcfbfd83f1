import { readFileSync } from 'node:fs';
import { errorText } from '../../domain/errors.js';
import { bundleWorkflows } from '../../workers/bundle.js';
import { dataConverter } from '../../workers/client.js';
import { LeanWorker } from '../../workers/workflow-threads.js';
import { TEST_PAYLOAD_KEYS } from '../support/engine-keys.js';
import { decodeHistory } from './histories.js';

/**
 * Replays the histories named on the command line over the built workflows and prints one JSON line each. With `--other-step` the first activity
 * of each history is given another name first: what a workflow with other steps would have left.
 */
const files = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const otherStep = process.argv.includes('--other-step');
const workflowBundle = await bundleWorkflows();
const converter = dataConverter(TEST_PAYLOAD_KEYS);

const histories = files.map((file) => {
  const history = decodeHistory(readFileSync(file));
  if (otherStep) {
    const scheduled = history.events?.find((event) => event.activityTaskScheduledEventAttributes);
    const activity = scheduled?.activityTaskScheduledEventAttributes?.activityType;
    if (activity) activity.name = 'somethingElse';
  }
  return { workflowId: 'replayed', history };
});

// One worker for all of them, which takes one after the other: what the thread of a worker loads takes longer than a history.
const results = LeanWorker.runReplayHistories({ workflowBundle, dataConverter: converter }, histories);
const left = [...files];
for await (const { error } of results) {
  const fault = error ? errorText(error) : null;
  process.stdout.write(`${JSON.stringify({ file: left.shift(), fault })}\n`);
}
process.exit(0);

/**
 * One execution in a process of its own, for tests that end it in the middle: `KILL_AT` names the step of the journal, or of the effect, at which it kills
 * itself. Prints what came of it as a line of JSON. An effect is a line in `EFFECTS`.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { governedTools, openFileJournal } from '../dist/governed/index.js';
import { openTransport } from '../dist/mtls.js';

const {
  ENDPOINT,
  CA,
  CERT,
  KEY,
  JOURNAL,
  EFFECTS,
  ID,
  TOOL = 'list_files',
  KILL_AT = '',
  RECOVER = '',
  WAIT = '',
  DELIVER = '',
} = process.env;
const dies = (step) => {
  if (step === KILL_AT) process.kill(process.pid, 'SIGKILL');
};
const kept = await openFileJournal(JOURNAL);
const journal = {
  ...kept,
  async commitIntent(intent) {
    dies('before-intent');
    const first = await kept.commitIntent(intent);
    dies('after-intent');
    return first;
  },
  async complete(completion) {
    dies('before-completion');
    await kept.complete(completion);
    dies('after-completion');
  },
  async delivered(id) {
    dies('before-delivered');
    await kept.delivered(id);
  },
};
const transport = await openTransport({ caBundlePath: CA, clientCertificatePath: CERT, privateKeyPath: KEY });
const tools = governedTools({
  endpoint: ENDPOINT,
  fetch: transport.fetch,
  executorId: 'a-host',
  journal,
  certificate: { cert: readFileSync(CERT, 'utf8'), key: readFileSync(KEY, 'utf8') },
  ...(WAIT && { onPending: 'wait', wait: { pollIntervalMs: 50 } }),
});
const run = async ({ idempotencyId, name, input }) => {
  dies('before-effect');
  appendFileSync(EFFECTS, `${JSON.stringify([idempotencyId, name, input])}\n`);
  dies('after-effect');
  return { result: { done: name }, effectId: `effect-${idempotencyId}` };
};
/** Looks whether the effect is there. */
const recover = async ({ idempotencyId, name }) =>
  existsSync(EFFECTS) && readFileSync(EFFECTS, 'utf8').includes(idempotencyId)
    ? { result: { done: name }, effectId: `effect-${idempotencyId}` }
    : null;
const say = (value) => console.log(JSON.stringify(value));
try {
  if (DELIVER) say(await tools.deliverReceipts());
  else
    say(
      await tools.execute(
        { name: TOOL, input: { path: 'notes' }, idempotencyId: ID },
        run,
        RECOVER ? recover : undefined,
      ),
    );
} catch (error) {
  say({ error: error.name, code: error.code, message: error.message });
}
transport.close();

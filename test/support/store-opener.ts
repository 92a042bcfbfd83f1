import { openPolicyStore } from '../../adapters/policy/policy-store.js';
import { POLICY_KEYS } from './policy-keys.js';

/** A process that opens the store of policies in a file as soon as its input ends, and says what comes of it. */
process.stdout.write('ready\n');
for await (const _ of process.stdin);
const said = await openPolicyStore({ file: process.argv[2] ?? '' }, POLICY_KEYS).then(
  async (store) => {
    await store.close();
    return 'opened';
  },
  (error: unknown) => String(error),
);
process.stdout.write(`${said}\n`);

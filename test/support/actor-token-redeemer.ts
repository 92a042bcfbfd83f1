import { readFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { openIdentityStore } from '../../adapters/identity/identity-store.js';
import type { StoreTarget } from '../../adapters/store/database.js';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import { createActorTokens, type PeerKey } from '../../domain/identity/actor-tokens.js';
import { newSigner, PEER, PEER_AGENT } from './actor-token.js';

/**
 * A process that redeems actor tokens over a store that others use too. Arguments: what it does, as JSON. Each line of its input is a number: it takes so
 * many of the tokens that are next. Each answer is a line on stdout, written before the next token is taken:
 * `<number of the token> <200 or the code of the refusal>`.
 */
export interface Redeeming {
  readonly target: StoreTarget;
  /** Hex. */
  readonly key: string;
  readonly keys: readonly PeerKey[];
  /** A JSON file of tokens. */
  readonly tokens: string;
  /** The numbers of the tokens, in the order in which it takes them. A JSON file. */
  readonly order: string;
  readonly together: number;
  /** The time, which stands still: however slow a machine is, no token ends. */
  readonly nowMs: number;
}

const { target, key, keys, tokens: file, order, together, nowMs } = JSON.parse(process.argv[2] ?? '') as Redeeming;
const tokens = JSON.parse(readFileSync(file, 'utf8')) as string[];
const left = JSON.parse(readFileSync(order, 'utf8')) as number[];
const store = await openIdentityStore(target, keyRing(new Map([['test', Buffer.from(key, 'hex')]])));
const { redeem } = createActorTokens({
  store,
  signer: newSigner(),
  peers: { isPeer: () => false, keysOf: () => keys, comesAs: () => true },
  trustDomain: 'gate.local',
  clock: () => nowMs,
});
process.stdout.write('ready\n');

async function take(part: number[]): Promise<void> {
  for (let at = part.shift(); at !== undefined; at = part.shift()) {
    const said = await redeem({
      token: tokens[at] ?? '',
      expected: {
        issuer: `spiffe://${PEER}`,
        subject: PEER_AGENT,
        audience: 'spiffe://gate.local',
        scope: ['tool:read'],
        tenant: 'theirs',
      },
      shown_by: { tenant: 'acme', agent_name: 'partner-gate' },
    }).then(
      () => '200',
      (error: unknown) => (error instanceof GateError ? error.code : String(error)),
    );
    writeSync(1, `${at} ${said}\n`);
  }
}
for await (const line of createInterface({ input: process.stdin })) {
  const part = left.splice(0, Number(line));
  await Promise.all(Array.from({ length: together }, () => take(part)));
}
await store.close();

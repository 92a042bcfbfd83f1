import type { KeyObject } from 'node:crypto';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { errorText } from '../../domain/errors.js';
import type { HeldKey } from '../../domain/identity/held-key.js';
import {
  isKeyList,
  type KeyList,
  type ListedKey,
  type ListedState,
  type ListedUse,
  publicKeyOf,
  readKeyList,
  signingKeyOf,
  stageOf,
  stageRows,
} from '../../domain/identity/key-list.js';
import { isKeyReference } from '../../domain/identity/key-reference.js';
import { changingFile } from './changing-file.js';
import type { KeyStores } from './key-stores.js';

/** What others verify with, the oldest first. */
export interface VerifyingKey {
  readonly id: string;
  readonly publicKey: KeyObject;
  readonly state: ListedState;
  /** `null` for the key that signed before there was a list. */
  readonly signsFrom: string | null;
}

export interface KeysNow {
  readonly signing: { readonly id: string; readonly key: HeldKey };
  readonly keys: readonly VerifyingKey[];
}

export interface ListedKeys {
  readonly now: KeysNow;
  /** Takes over what the file has, and what the clock says of it. Throws where it cannot; what was taken over before goes on then. */
  step(): Promise<void>;
  /** A row for each stage that a key came to. */
  rows(agent: string): readonly NewLedgerRow[];
}

export interface ListedKeysOptions {
  /** A file, or where the one key lies. */
  readonly setting: string;
  readonly use: ListedUse;
  /** The id of a key that stands in no list. */
  readonly idOf: (publicKey: KeyObject) => string;
  readonly keyStores: Pick<KeyStores, 'open'>;
  readonly clock?: () => number;
}

/**
 * The keys of a setting: one, or a list of them of which the clock says which signs, read again whenever it is another one
 * (docs/architecture/identity.md#lists-of-keys). Throws where none signs.
 */
export async function openListedKeys(options: ListedKeysOptions): Promise<ListedKeys> {
  const { setting, use, idOf, keyStores, clock = Date.now } = options;
  const file = isKeyReference(setting) ? async () => ({ version: '', text: setting }) : changingFile(setting);
  let known: { readonly version: string; readonly list: KeyList | null } | null = null;
  let now: KeysNow | null = null;

  async function opened(key: ListedKey): Promise<HeldKey> {
    if (key.private === null) throw new Error(`the key ${key.id} of ${use} has no private half`);
    const held = await keyStores.open(key.private).catch((error: unknown) => {
      throw new Error(`the key ${key.id} of ${use}: ${errorText(error)}`, { cause: error });
    });
    if (!held.publicKey.equals(publicKeyOf(key)))
      throw new Error(`the key ${key.id} of ${use}: its halves do not belong together`);
    return held;
  }
  async function ofOneKey(text: string): Promise<KeysNow> {
    const key = await keyStores.open(text);
    if (key.algorithm !== 'Ed25519') throw new Error('is not an Ed25519 key');
    const id = idOf(key.publicKey);
    return { signing: { id, key }, keys: [{ id, publicKey: key.publicKey, state: 'signing', signsFrom: null }] };
  }

  async function step(): Promise<void> {
    const { version, text } = await file();
    const list = known?.version === version ? known.list : isKeyList(text) ? readKeyList(text, use) : null;
    if (list) await take(list);
    else if (known?.version !== version) now = await ofOneKey(text);
    known = { version, list };
    if (!list) return;
    // It is to sign soon: whoever looks after it hears today that it cannot.
    const announced = list.keys.find((key) => stageOf(list, key, clock()) === 'announced');
    if (announced) await opened(announced);
  }
  async function take(list: KeyList): Promise<void> {
    const nowMs = clock();
    const signing = signingKeyOf(list, nowMs);
    const key = await opened(signing);
    now = {
      signing: { id: signing.id, key },
      keys: list.keys.map((one) => ({
        id: one.id,
        publicKey: publicKeyOf(one),
        state: stageOf(list, one, nowMs),
        signsFrom: one.signs_from,
      })),
    };
  }
  await step();
  return {
    get now() {
      return now as unknown as KeysNow;
    },
    step,
    rows: (agent) => (known?.list ? stageRows(known.list, agent, clock()) : []),
  };
}

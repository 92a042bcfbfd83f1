import { createPublicKey, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { type Command, Argument, InvalidArgumentError, Option } from 'commander';
import { createKeyStores, type KeyStores } from '../adapters/signing/key-stores.js';
import { PRIVATE_FILE, replaceFile } from '../adapters/store/durable-file.js';
import { errorText } from '../domain/errors.js';
import {
  assertNoneAnnounced,
  isKeyList,
  type KeyList,
  type ListedKey,
  type ListedUse,
  listedUse,
  readKeyList,
  signingKeyOf,
  stageOf,
  withComingKey,
  withoutKey,
  writtenKeyList,
} from '../domain/identity/key-list.js';
import { isKeyReference, placeOfKey } from '../domain/identity/key-reference.js';
import { publicJwkOf } from '../domain/identity/signer.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { json, print } from './output.js';
import { table } from './table.js';

/** The setting of each use, and its file in the stack of this folder. */
const USES: Readonly<Record<ListedUse, { readonly setting: string; readonly file: string }>> = {
  authorizations: { setting: 'GATE_SIGNING_KEY_FILE', file: 'ledger' },
  checkpoints: { setting: 'GATE_LEDGER_CHECKPOINT_KEY_FILE', file: 'ledger-checkpoint' },
  exports: { setting: 'GATE_LEDGER_EXPORT_KEY_FILE', file: 'ledger-export' },
};
/** Whoever keeps the key set of the proxy asks for it again within five minutes. */
const LEAST_ANNOUNCED_SECS = 360;
const ANNOUNCED_SECS = 3_600;
const MOST_ANNOUNCED_SECS = 2_592_000;
/** A token may ask for its time to make a key. */
const LIMIT_MS = 30_000;

interface FileFlags {
  readonly file?: string;
  readonly json?: boolean;
}
export interface RotateListed extends FileFlags {
  readonly announce: number;
  readonly request?: string;
}

/** Another key of the proxy or of the ledger, in the file of its setting. */
export async function rotateListed(use: ListedUse, given: RotateListed): Promise<void> {
  const stores = createKeyStores({ limitMs: LIMIT_MS });
  try {
    told(await rotated(use, fileOf(use, given.file), stores, given), given.json);
  } catch (error) {
    throw error instanceof CliError ? error : new CliError(`nothing was changed: ${errorText(error)}`, 1);
  } finally {
    stores.close();
  }
}

/** The keys of such a file, and the stage of each. */
export async function showListed(use: ListedUse, given: FileFlags): Promise<void> {
  const stores = createKeyStores({ limitMs: LIMIT_MS });
  try {
    told(await listIn(use, fileOf(use, given.file), stores), given.json);
  } catch (error) {
    throw error instanceof CliError ? error : new CliError(errorText(error), 1);
  } finally {
    stores.close();
  }
}

/** `gate keys withdraw`: what such a key signed counts no more. */
export function registerWithdrawal(keys: Command): void {
  keys
    .command('withdraw')
    .description('let a key of the proxy or the ledger that does not sign count no more')
    .addArgument(new Argument('<use>', 'what it signed').choices(listedUse.options))
    .argument('<id>', 'which key')
    .addOption(fileOption())
    .addOption(json())
    .action((use: ListedUse, id: string, given: FileFlags) => {
      const file = fileOf(use, given.file);
      const text = readFileSync(file, 'utf8');
      if (!isKeyList(text)) throw new CliError(`${file} has one key, which signs`, 2);
      try {
        const list = withoutKey(readKeyList(text, use), id, Date.now());
        replaceList(file, list);
        told(list, given.json);
      } catch (error) {
        throw new CliError(`nothing was changed: ${errorText(error)}`, 1);
      }
    });
}

export const fileOption = (): Option =>
  new Option(
    '--file <path>',
    'the file of the setting; without it that of the environment, or of the stack of this folder',
  );
export const announceOption = (): Option =>
  new Option('--announce <seconds>', 'of the proxy and the ledger: how long it is published before it signs')
    .argParser(secondsTyped)
    .default(ANNOUNCED_SECS);

function secondsTyped(text: string): number {
  const seconds = Number(text);
  if (!Number.isInteger(seconds) || seconds < LEAST_ANNOUNCED_SECS || seconds > MOST_ANNOUNCED_SECS)
    throw new InvalidArgumentError(`${LEAST_ANNOUNCED_SECS} to ${MOST_ANNOUNCED_SECS} seconds.`);
  return seconds;
}

function fileOf(use: ListedUse, typed: string | undefined): string {
  const { setting, file } = USES[use];
  const named = typed ?? process.env[setting];
  if (named !== undefined && isKeyReference(named))
    throw new CliError(
      `${setting} says itself where the one key lies: write that into a file, and let ${setting} name the file`,
      2,
    );
  const path = resolve(named ?? join(process.env['GATE_STATE_DIR'] ?? '.gate', 'keys', `${file}.key`));
  if (!existsSync(path)) throw new CliError(`${path} is not there: --file says where the file of ${setting} is`, 2);
  return path;
}

/** The list of a file; of one that has a key alone, the list that it becomes with the first rotation. */
async function listIn(use: ListedUse, file: string, stores: Pick<KeyStores, 'open'>): Promise<KeyList> {
  const text = readFileSync(file, 'utf8');
  if (isKeyList(text)) return readKeyList(text, use);
  const { publicKey } = await stores.open(text);
  const first: ListedKey = {
    id: use === 'exports' ? (process.env['GATE_LEDGER_EXPORT_KEY_ID'] ?? 'gate-ledger:v1') : publicJwkOf(publicKey).kid,
    public_key_pem: spki(publicKey),
    private: text,
    request_id: null,
    announced_at: null,
    signs_from: null,
    withdrawn_at: null,
    by: null,
  };
  return { format: 'gate.key-list/1', use, keys: [first] };
}

async function rotated(
  use: ListedUse,
  file: string,
  stores: Pick<KeyStores, 'open' | 'make'>,
  { announce, request }: RotateListed,
): Promise<KeyList> {
  const nowMs = Date.now();
  const list = await listIn(use, file, stores);
  if (request !== undefined && list.keys.some(({ request_id: id }) => id === request)) return list;
  // Before one is made that stays where it lies, and signs nothing.
  assertNoneAnnounced(list, nowMs);
  const requestId = request ?? randomUUID();
  const made = await newKey(use, signingKeyOf(list, nowMs).private ?? '', requestId, stores);
  const next = withComingKey(
    list,
    {
      ...made,
      id: use === 'exports' ? nextVersion(list) : publicJwkOf(createPublicKey(made.publicPem)).kid,
      requestId,
      announceMs: announce * 1_000,
      by: oneLine(userInfo().username).slice(0, 128),
    },
    nowMs,
  );
  replaceList(file, next);
  return next;
}

async function newKey(
  use: ListedUse,
  beside: string,
  requestId: string,
  stores: Pick<KeyStores, 'open' | 'make'>,
): Promise<{ readonly publicPem: string; readonly private: string }> {
  if (!isKeyReference(beside)) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    return {
      publicPem: spki(publicKey),
      private: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    };
  }
  const reference = await stores.make(placeOfKey(beside), `gate-${use}-${requestId}`, 'Ed25519');
  return { publicPem: spki((await stores.open(reference)).publicKey), private: reference };
}

/** The service reads the file as before: of its owner, for its owner. */
function replaceList(file: string, list: KeyList): void {
  if (statSync(file).uid !== userInfo().uid) throw new CliError(`run this as the owner of ${file}`, 2);
  const text = writtenKeyList(list);
  readKeyList(text, list.use);
  replaceFile(file, text, PRIVATE_FILE);
}

/** Bundles name the key by its version, and no version is given twice. */
function nextVersion({ keys }: KeyList): string {
  const last = keys.at(-1)?.id ?? '';
  const [, name, version] = /^(.+):v([1-9][0-9]*)$/.exec(last) ?? [];
  if (name === undefined) throw new Error(`the id ${oneLine(last)} has no version`);
  return `${name}:v${Number(version) + 1}`;
}

const spki = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();

function told(list: KeyList, asJson: boolean | undefined): void {
  const nowMs = Date.now();
  const keys = list.keys.map((key) => {
    const { private: half, ...shown } = key;
    return { ...shown, state: stageOf(list, key, nowMs), has_private: half !== null };
  });
  if (asJson) return print({ use: list.use, keys });
  const lines = keys.map((key) => [
    key.id,
    key.state,
    key.withdrawn_at ?? key.signs_from ?? 'from the start',
    key.by ?? '',
  ]);
  process.stdout.write(
    `${table(
      ['key', 'stage', 'since, or from', 'by'].map((head) => ({ head, whole: true })),
      lines,
    )}\n`,
  );
}

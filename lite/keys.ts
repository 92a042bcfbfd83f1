import { createHmac, createPrivateKey, type KeyObject, randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import type { Env } from '../config/env.js';
import { parseKeyRing, type KeyRing } from '../domain/crypto/key-ring.js';
import { errorText, GateError } from '../domain/errors.js';
import { createFile, PRIVATE_FILE } from '../adapters/store/durable-file.js';

export interface LiteKeys {
  readonly ring: KeyRing;
  /** A key for values that must not be guessed from the ledger alone. */
  readonly fingerprintKey: string;
  /** Signs Gate's statements. It stays the same as long as the keys do. */
  readonly signingKey: KeyObject;
  readonly decisionKey: KeyObject;
  /** Signs checkpoints of the ledger. */
  readonly checkpointKey: KeyObject;
  /** Sessions of the console are bound to it. */
  readonly sessionKey: Buffer;
}

export const keysFileOf = (ledger: string): string => `${ledger}.keys`;

/**
 * The keys of a ledger file, made at its first start. They lie beside the file and not in it: whoever edits the file alone can then
 * neither read a request nor cut the chain unnoticed. Throws when the file is there and its keys are not.
 */
export function liteKeys(ledger: string, given: string | undefined): LiteKeys {
  if (given) return keysOf(given);
  if (ledger === ':memory:') return keysOf(newKey());
  const file = keysFileOf(ledger);
  if (!existsSync(file)) {
    if (existsSync(ledger) && !isDatabase(ledger))
      throw new GateError('store_unavailable', `${ledger} is not a ledger file`);
    if (existsSync(ledger) && statSync(ledger).size > 0)
      throw new GateError(
        'store_unavailable',
        `the keys of ${ledger} are missing: put ${file} back or set GATE_LITE_KEYS`,
      );
    try {
      createFile(file, `${newKey()}\n`, PRIVATE_FILE);
    } catch (error) {
      throw new GateError('store_unavailable', `the keys of ${ledger} cannot be written: ${errorText(error)}`, {
        cause: error,
      });
    }
  }
  return keysOf(readKeys(file));
}

/** The first bytes of every SQLite database (sqlite.org/fileformat.html). */
const DATABASE = Buffer.from('SQLite format 3\0');

/** A file that was only made holds nothing yet, and is one. */
function isDatabase(path: string): boolean {
  if (!statSync(path).isFile()) return false;
  const file = openSync(path, 'r');
  try {
    const first = Buffer.alloc(DATABASE.length);
    const length = readSync(file, first);
    return length === 0 || first.equals(DATABASE);
  } finally {
    closeSync(file);
  }
}

function readKeys(file: string): string {
  try {
    const text = readFileSync(file, 'utf8').trim();
    parseKeyRing(text);
    return text;
  } catch (error) {
    throw new GateError('store_unavailable', `the keys in ${file} cannot be used: ${errorText(error)}`, {
      cause: error,
    });
  }
}

/**
 * The keys of a file that is only looked at: those of lite's variable, as for the process itself, else those beside the file, else
 * those of the ledger's variable; `null` where there are none. Throws, naming the variable or the file, where they are not written as
 * keys.
 */
export function keysBeside(ledger: string, env: Env = process.env): KeyRing | null {
  const file = keysFileOf(ledger);
  const lite = keysIn('GATE_LITE_KEYS', env);
  if (lite) return lite;
  return existsSync(file) ? parseKeyRing(readKeys(file)) : keysIn('GATE_LEDGER_SIDECAR_KEYS', env);
}

/** The keys of a variable, or of the file that its `_FILE` names. */
function keysIn(variable: string, env: Env): KeyRing | null {
  const [text, named] = [env[variable], env[`${variable}_FILE`]];
  if (!text) return named ? parseKeyRing(readKeys(named)) : null;
  try {
    return parseKeyRing(text);
  } catch (error) {
    throw new GateError('store_unavailable', `${variable}: ${errorText(error)}`, { cause: error });
  }
}

const newKey = () => `lite-1:${randomBytes(32).toString('hex')}`;

const keysOf = (text: string): LiteKeys => ({
  ring: parseKeyRing(text),
  fingerprintKey: derived(text, 'gate.lite.fingerprint').toString('hex'),
  signingKey: ed25519(derived(text, 'gate.lite.signing')),
  decisionKey: ed25519(derived(text, 'gate.lite.decision')),
  checkpointKey: ed25519(derived(text, 'gate.lite.checkpoint')),
  sessionKey: derived(text, 'gate.lite.console-session'),
});

/** A key of its own for each use, from the one secret (a PRF keyed with it, as in NIST SP 800-108). */
const derived = (text: string, use: string): Buffer => createHmac('sha256', text).update(use).digest();

/** The PKCS #8 frame of an Ed25519 seed (RFC 8410). */
const ED25519_PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const ed25519 = (seed: Buffer): KeyObject =>
  createPrivateKey({ key: Buffer.concat([ED25519_PKCS8, seed]), format: 'der', type: 'pkcs8' });

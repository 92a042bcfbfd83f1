import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { isSealedKey, openKey, sealKey } from '../adapters/identity/sealed-key.js';
import { type KeyUse, keyUse } from '../contracts/identity.js';
import { PRIVATE_FILE, replaceFile } from '../adapters/store/durable-file.js';
import { readConfig } from '../config/env.js';
import { IDENTITY_SETTINGS } from '../config/identity.js';
import { errorText } from '../domain/errors.js';
import { CliError } from './errors.js';

interface SealFlags {
  readonly use: KeyUse;
  readonly out: string;
}

const KEYS = { keys: IDENTITY_SETTINGS.keys } as const;

const FITS: Readonly<Record<KeyUse, { readonly is: (pem: string) => boolean; readonly what: string }>> = {
  certificates: {
    is(pem) {
      const { asymmetricKeyType: type, asymmetricKeyDetails: details } = createPrivateKey(pem);
      return type === 'ec' && details?.namedCurve === 'prime256v1';
    },
    what: 'an ECDSA P-256 private key, as a CA of identity has',
  },
  tokens: {
    is: (pem) => createPrivateKey(pem).asymmetricKeyType === 'ed25519',
    what: 'an Ed25519 private key, as tokens are signed with',
  },
};

/** `gate identity seal`: a private key as identity reads it, of a key in clear text or of one that an older key of the ring sealed. */
export function registerIdentity(program: Command): void {
  const identity = program.command('identity').description('the sealed keys of the identity service');
  identity
    .command('seal <file>')
    .description('seal a private key (PEM), or seal one anew under the first of GATE_IDENTITY_KEYS')
    .addOption(new Option('--use <use>', 'what it signs').choices(keyUse.options).makeOptionMandatory())
    .requiredOption('--out <file>', 'where the sealed key goes; may be the file itself where that is sealed already')
    .action((file: string, { use, out }: SealFlags) => {
      const { keys } = readConfig('gate identity seal', KEYS, process.env);
      const from = resolve(file);
      const to = resolve(out);
      const text = read(from);
      const isSealed = isSealedKey(text);
      // What was in clear text may be wanted elsewhere, and is the operator's to remove.
      if (!isSealed && from === to) throw new CliError('--out must be another file than the key in clear text', 2);
      const pem = isSealed ? opened(() => openKey(keys, use, text), from) : text;
      if (!opened(() => FITS[use].is(pem), from)) throw new CliError(`${from} is not ${FITS[use].what}`, 2);
      replaceFile(to, sealKey(keys, use, pem), PRIVATE_FILE);
      process.stdout.write(`sealed under ${keys.activeKeyId}: ${to}\n`);
      if (!isSealed)
        process.stdout.write(`${from} is still there in clear text: put it where nobody reads it, or remove it\n`);
    });
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CliError(errorText(error), 2);
  }
}

function opened<Value>(open: () => Value, file: string): Value {
  try {
    return open();
  } catch (error) {
    throw new CliError(`${file}: ${errorText(error)}`, 2);
  }
}

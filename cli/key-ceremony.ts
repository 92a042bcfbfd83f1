import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, Argument } from 'commander';
import { authorityBy } from '../adapters/identity/certificate-authority.js';
import { createKeyStores } from '../adapters/signing/key-stores.js';
import { createFile, PUBLIC_FILE } from '../adapters/store/durable-file.js';
import type { JsonObject } from '../contracts/json.js';
import { canonicalJson } from '../domain/crypto/digest.js';
import { errorText } from '../domain/errors.js';
import type { KeyAlgorithm } from '../domain/identity/held-key.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';

interface CeremonyFlags {
  readonly at: string;
  readonly name: string;
  readonly out: string;
  readonly witness: readonly string[];
  readonly trustDomain: string;
}

/** The setting that then says where the key lies, and the kind of key that it wants. */
const USES = {
  certificates: { algorithm: 'ES256', setting: 'GATE_IDENTITY_CA_KEY_FILE' },
  tokens: { algorithm: 'Ed25519', setting: 'GATE_IDENTITY_SIGNING_KEY_PATH' },
  authorizations: { algorithm: 'Ed25519', setting: 'GATE_SIGNING_KEY_FILE' },
  checkpoints: { algorithm: 'Ed25519', setting: 'GATE_LEDGER_CHECKPOINT_KEY_FILE' },
  exports: { algorithm: 'Ed25519', setting: 'GATE_LEDGER_EXPORT_KEY_FILE' },
} as const satisfies Readonly<Record<string, { readonly algorithm: KeyAlgorithm; readonly setting: string }>>;
type Use = keyof typeof USES;

const FORMAT = 'gate.key-ceremony/1';
const FEWEST_WITNESSES = 2;
/** A token may ask for its time to make a key. */
const LIMIT_MS = 30_000;
const CA_LIFE_MS = 3_650 * 86_400_000;
const BACKDATE_MS = 3_600_000;

const HELP = `
The key is made in the place (--at, with {key} where its name stands) and stays there; what is written is its record: where
it lies, its fingerprint, its public half (of certificates the certificate of the CA), and who watched, signed by the key
itself. Everybody who watches compares the fingerprint. Where the command is ended in the middle, the same again goes on: in
a token the same name is the same key. KMS makes another one, and the one before is for its administrator to remove
(docs/how-to/keep-keys-elsewhere.md).`;

/** `gate keys ceremony`: a key that is made where it stays, before witnesses. */
export function registerKeyCeremony(keys: Command): void {
  keys
    .command('ceremony')
    .description('make a key in a token or in KMS, before witnesses, and write its record')
    .addArgument(new Argument('<use>', 'what it will sign').choices(Object.keys(USES)))
    .requiredOption('--at <place>', 'where, as pkcs11:token=gate;object={key}?module-path=…&pin-source=file:…')
    .requiredOption('--name <name>', 'the name of the key there')
    .requiredOption('--witness <who...>', 'who watches; two at least')
    .requiredOption('--out <file>', 'where its record goes')
    .option('--trust-domain <name>', 'of the certificate of a CA', 'gate.local')
    .addHelpText('after', HELP)
    .action(async (use: Use, flags: CeremonyFlags) => {
      const file = resolve(flags.out);
      const witnesses = [...new Set(flags.witness.map((who) => oneLine(who).trim()))].filter((who) => who !== '');
      if (witnesses.length < FEWEST_WITNESSES)
        throw new CliError(`--witness must name ${FEWEST_WITNESSES} people at least`, 2);
      if (existsSync(file)) throw new CliError(`${file} is there already: a record is written once`, 2);
      const stores = createKeyStores({ limitMs: LIMIT_MS });
      try {
        const { algorithm, setting } = USES[use];
        const reference = await stores.make(flags.at, flags.name, algorithm);
        const key = await stores.open(reference);
        const spki = key.publicKey.export({ type: 'spki', format: 'der' });
        const fingerprint = createHash('sha256').update(spki).digest('hex');
        const now = Date.now();
        const life = { notBefore: new Date(now - BACKDATE_MS), notAfter: new Date(now + CA_LIFE_MS) };
        const record: JsonObject = {
          format: FORMAT,
          use,
          algorithm,
          place: reference,
          fingerprint,
          public_key_pem: key.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
          ...(use === 'certificates' && { certificate_pem: await authorityBy(key, flags.trustDomain, life) }),
          witnesses,
          made_at: new Date(now).toISOString(),
        };
        // Only who has the key can say so of it.
        const signature = await key.sign(Buffer.from(`${FORMAT}\n${canonicalJson(record)}`));
        const text = JSON.stringify({ ...record, signature: signature.toString('base64') }, null, 2);
        createFile(file, `${text}\n`, PUBLIC_FILE);
        process.stdout.write(
          `fingerprint  ${fingerprint}\n` +
            `watched by   ${witnesses.join(', ')}\n` +
            `record       ${file}\n` +
            `${setting}=${reference}\n`,
        );
      } catch (error) {
        throw error instanceof CliError ? error : new CliError(`no record was written: ${errorText(error)}`, 1);
      } finally {
        stores.close();
      }
    });
}

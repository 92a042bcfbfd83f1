import { execFile, spawn } from 'node:child_process';
import { createPublicKey, hash } from 'node:crypto';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { OpenedChallenge } from '../../contracts/attestation.js';
import type { AttestationRequest } from '../../contracts/verified-attestation.js';
import { tpm2ExtraData } from '../../domain/identity/tpm2-quote.js';
import { eventually } from './waiting.js';

const run = promisify(execFile);

const found = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(':').some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
/** Whether there are a TPM in software and the tools of the Trusted Computing Group's stack. */
export const HAS_TPM = found('swtpm') && found('tpm2_quote');

export interface TestAk {
  readonly name: string;
  /** As a file of anchors has it. */
  readonly anchor: {
    readonly ak_key_id: string;
    readonly platform_issuer: string;
    readonly public_pem: string;
    readonly qualified_name: string;
    readonly pcrs: readonly number[];
  };
  /** SHA-256 of its public key. */
  readonly trustAnchorId: string;
}

export interface TestTpm {
  ak(name: string): Promise<TestAk>;
  /** Evidence of `tpm2-quote`, as JSON could have it. */
  quote(ak: TestAk, extraData: Buffer, pcrs?: readonly number[]): Promise<Record<string, unknown>>;
  /** The machine measured something else. */
  extend(pcr: number): Promise<void>;
  stop(): Promise<void>;
}

export const PCRS = [0, 2, 4, 7] as const;

/** A TPM 2.0 in software with a state of its own. */
export async function startTpm(): Promise<TestTpm> {
  // The path of a socket has 107 bytes at most.
  const folder = await mkdtemp(join(tmpdir(), 'tpm-'));
  const socket = join(folder, 's');
  const child = spawn(
    'swtpm',
    [
      'socket',
      '--tpm2',
      '--tpmstate',
      `dir=${folder}`,
      '--ctrl',
      `type=unixio,path=${socket}.ctrl`,
      '--server',
      `type=unixio,path=${socket}`,
      '--flags',
      'not-need-init,startup-clear',
      // Nobody reads what it says: a pipe that is full would stop it.
    ],
    { stdio: 'ignore' },
  );
  const ended = new Promise((resolve) => child.once('close', resolve));
  const at = (name: string) => join(folder, name);
  const tool = async (name: string, ...args: readonly string[]): Promise<void> => {
    await run(`tpm2_${name}`, [...args], { env: { ...process.env, TPM2TOOLS_TCTI: `swtpm:path=${socket}` } });
  };
  await eventually('the TPM answers', () =>
    tool('getrandom', '4', '-o', at('random')).then(
      () => true,
      () => false,
    ),
  );
  const fresh = () => tool('flushcontext', '-t');
  await tool('createek', '-G', 'ecc', '-c', at('ek.ctx'));
  await fresh();

  return {
    async ak(name) {
      const [context, pem, qualified] = [at(`${name}.ctx`), at(`${name}.pem`), at(`${name}.qn`)];
      await tool(
        'createak',
        '-C',
        at('ek.ctx'),
        '-c',
        context,
        '-G',
        'ecc',
        '-g',
        'sha256',
        '-s',
        'ecdsa',
        '-u',
        pem,
        '-f',
        'pem',
        '-q',
        qualified,
      );
      await fresh();
      const publicPem = await readFile(pem, 'utf8');
      const spki = createPublicKey(publicPem).export({ type: 'spki', format: 'der' });
      return {
        name,
        anchor: {
          ak_key_id: name,
          platform_issuer: 'swtpm.test',
          public_pem: publicPem,
          qualified_name: (await readFile(qualified)).toString('hex'),
          pcrs: PCRS,
        },
        trustAnchorId: `sha256:${hash('sha256', spki)}`,
      };
    },
    async quote(ak, extraData, pcrs = PCRS) {
      const [message, signature, values] = [at('quote.msg'), at('quote.sig'), at('quote.pcr')];
      const list = `sha256:${pcrs.join(',')}`;
      await tool(
        'quote',
        '-c',
        at(`${ak.name}.ctx`),
        '-l',
        list,
        '-q',
        extraData.toString('hex'),
        '-g',
        'sha256',
        '-m',
        message,
        '-s',
        signature,
      );
      await fresh();
      await tool('pcrread', list, '-o', values);
      const read = await readFile(values);
      return {
        schemaVersion: 1,
        akKeyId: ak.name,
        quoteMessage: (await readFile(message)).toString('base64url'),
        quoteSignature: (await readFile(signature)).toString('base64url'),
        pcrBank: 'sha256',
        pcrValues: Object.fromEntries(
          pcrs.map((pcr, index) => [String(pcr), read.subarray(index * 32, index * 32 + 32).toString('hex')]),
        ),
      };
    },
    async extend(pcr) {
      await tool('pcrextend', `${pcr}:sha256=${'ab'.repeat(32)}`);
    },
    async stop() {
      child.kill();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** As the agent of a machine with this TPM answers a challenge. */
export async function attestationAnswer(
  tpm: TestTpm,
  ak: TestAk,
  opened: OpenedChallenge,
): Promise<AttestationRequest> {
  const bound = {
    contractVersion: '1.0.0',
    requestId: opened.request_id,
    evidenceKind: 'tpm2-quote',
    challenge: opened.challenge,
    expected: opened.expected,
    requestedAt: opened.requested_at,
  };
  const bytes = Buffer.from(JSON.stringify(await tpm.quote(ak, tpm2ExtraData(bound))));
  return { ...bound, evidence: bytes.toString('base64url'), evidenceSha256: `sha256:${hash('sha256', bytes)}` };
}
/** What the registers of an answer measure together. */
export function measuredBy({ evidence }: Pick<AttestationRequest, 'evidence'>): string {
  const { pcrValues } = JSON.parse(Buffer.from(evidence, 'base64url').toString()) as {
    pcrValues: Record<string, string>;
  };
  return `sha256:${hash('sha256', Buffer.from(Object.values(pcrValues).join(''), 'hex'))}`;
}

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const OPENSSL_PRESENT = spawnSync('openssl', ['version']).status === 0;

/** A real time-stamping authority: openssl behind an HTTP port. */
export interface TestTimeStampAuthority {
  readonly url: string;
  /** PEM of the root its certificate chains to. */
  readonly rootPem: string;
  readonly rootFile: string;
  /** The answer to a request, as the port gives it. */
  reply(request: Uint8Array): Buffer;
  /** What the port does with requests from now on; bytes are the answer to each. */
  answer(how: 'stamp' | 'refuse' | Buffer): void;
  close(): Promise<void>;
}

export interface AuthorityOptions {
  readonly key?: 'rsa' | 'ec';
  readonly essDigest?: 'sha1' | 'sha256';
  /** Puts a CA between the root and the authority. */
  readonly intermediate?: boolean;
}

export async function timeStampAuthority({
  key = 'ec',
  essDigest = 'sha256',
  intermediate = false,
}: AuthorityOptions = {}): Promise<TestTimeStampAuthority> {
  const folder = mkdtempSync(join(tmpdir(), 'gate-tsa-'));
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const newKey = key === 'rsa' ? ['-newkey', 'rsa:2048'] : ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
  const certificate = (name: string, issuer: string | null, extensions: string[]) => {
    openssl('req', ...newKey, '-nodes', '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=test ${name}`);
    writeFileSync(join(folder, `${name}.ext`), extensions.join('\n'));
    const by =
      issuer === null
        ? ['-signkey', `${name}.key`]
        : ['-CA', `${issuer}.crt`, '-CAkey', `${issuer}.key`, '-CAcreateserial'];
    openssl(
      'x509',
      '-req',
      '-in',
      `${name}.csr`,
      ...by,
      '-days',
      '30',
      '-extfile',
      `${name}.ext`,
      '-out',
      `${name}.crt`,
    );
  };
  const ca = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign'];
  certificate('root', null, ca);
  if (intermediate) certificate('middle', 'root', ca);
  certificate('tsa', intermediate ? 'middle' : 'root', [
    'basicConstraints=CA:FALSE',
    'keyUsage=critical,digitalSignature',
    'extendedKeyUsage=critical,timeStamping',
  ]);
  writeFileSync(join(folder, 'chain.pem'), intermediate ? readFileSync(join(folder, 'middle.crt')) : '');
  writeFileSync(join(folder, 'serial'), '01\n');
  writeFileSync(
    join(folder, 'tsa.cnf'),
    [
      '[tsa]',
      'default_tsa = here',
      '[here]',
      `serial = ${join(folder, 'serial')}`,
      'crypto_device = builtin',
      `signer_cert = ${join(folder, 'tsa.crt')}`,
      ...(intermediate ? [`certs = ${join(folder, 'chain.pem')}`] : []),
      `signer_key = ${join(folder, 'tsa.key')}`,
      'signer_digest = sha256',
      'default_policy = 1.2.3.4.1',
      'digests = sha256',
      'accuracy = secs:1, millisecs:500',
      'clock_precision_digits = 3',
      'ordering = yes',
      'tsa_name = yes',
      `ess_cert_id_alg = ${essDigest}`,
    ].join('\n'),
  );
  const reply = (request: Uint8Array): Buffer => {
    writeFileSync(join(folder, 'query'), request);
    openssl('ts', '-reply', '-config', 'tsa.cnf', '-queryfile', 'query', '-out', 'reply');
    return readFileSync(join(folder, 'reply'));
  };
  let how: Parameters<TestTimeStampAuthority['answer']>[0] = 'stamp';
  const server = createServer((request, response) => {
    const received: Buffer[] = [];
    request.on('data', (piece: Buffer) => received.push(piece));
    request.on('end', () => {
      if (how === 'refuse') return void response.writeHead(503).end();
      const stamp = Buffer.isBuffer(how) ? how : reply(Buffer.concat(received));
      response.writeHead(200, { 'content-type': 'application/timestamp-reply' }).end(stamp);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    rootPem: readFileSync(join(folder, 'root.crt'), 'utf8'),
    rootFile: join(folder, 'root.crt'),
    reply,
    answer: (next) => {
      how = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

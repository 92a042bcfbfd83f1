import { execFileSync } from 'node:child_process';
import { createHash, createHmac, generateKeyPairSync, type KeyObject, sign, timingSafeEqual } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const REGION = 'eu-central-1';
const ACCESS_KEY = 'AKIDEXAMPLE';
const SECRET_KEY = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';

interface StubKey {
  readonly arn: string;
  readonly spec: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** What speaks the JSON protocol of AWS KMS on this machine, and takes only requests that its credentials signed. */
export interface KmsStub {
  readonly endpoint: string;
  readonly credentialsFile: string;
  readonly secret: string;
  /** What was asked, each operation. */
  readonly asked: string[];
  /** Answers the next requests in another way; `null` in the usual one. */
  answers(how: ((operation: string, response: ServerResponse) => boolean) | null): void;
  key(spec: 'ECC_NIST_P256' | 'ECC_NIST_EDWARDS25519'): StubKey;
  /** Signs with another key from now on than the one that it names. */
  swap(arn: string): void;
  reference(key: string): string;
  close(): Promise<void>;
}

export async function kmsStub(folder: string): Promise<KmsStub> {
  const keys = new Map<string, StubKey>();
  const asked: string[] = [];
  let other: ((operation: string, response: ServerResponse) => boolean) | null = null;
  const credentialsFile = `${folder}/kms.json`;
  writeFileSync(
    credentialsFile,
    JSON.stringify({ Version: 1, AccessKeyId: ACCESS_KEY, SecretAccessKey: SECRET_KEY, SessionToken: 'session' }),
    { mode: 0o600 },
  );
  const made = (spec: string): StubKey => {
    const pair =
      spec === 'ECC_NIST_P256' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('ed25519');
    const arn = `arn:aws:kms:${REGION}:111122223333:key/${keys.size}`;
    const key = { arn, spec, ...pair };
    keys.set(arn, key);
    return key;
  };
  function operate(operation: string, body: Record<string, string>): [number, object] {
    if (operation === 'CreateKey') return [200, { KeyMetadata: { Arn: made(body['KeySpec'] as string).arn } }];
    const key = keys.get(body['KeyId'] as string);
    if (!key) return [400, { __type: 'com.amazonaws.kms#NotFoundException', message: body['KeyId'] }];
    if (operation === 'GetPublicKey') {
      const PublicKey = key.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
      return [200, { KeyId: key.arn, PublicKey, KeyUsage: 'SIGN_VERIFY', KeySpec: key.spec }];
    }
    const message = Buffer.from(body['Message'] as string, 'base64');
    const { SigningAlgorithm, MessageType } = body;
    if (message.length > 4_096) return [400, { __type: 'ValidationException' }];
    const isEd = key.spec === 'ECC_NIST_EDWARDS25519';
    const fits = isEd
      ? SigningAlgorithm === 'ED25519_SHA_512' && MessageType === 'RAW'
      : SigningAlgorithm === 'ECDSA_SHA_256' && MessageType === 'DIGEST' && message.length === 32;
    if (operation !== 'Sign' || !fits) return [400, { __type: 'InvalidKeyUsageException' }];
    const signature = isEd ? sign(null, message, key.privateKey) : signDigest(message, key.privateKey);
    return [200, { KeyId: key.arn, SigningAlgorithm, Signature: signature.toString('base64') }];
  }
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      const operation = String(request.headers['x-amz-target']).replace('TrentService.', '');
      asked.push(operation);
      if (!isSigned(request, body)) {
        response.writeHead(400).end(JSON.stringify({ __type: 'InvalidSignatureException' }));
        return;
      }
      if (other?.(operation, response)) return;
      const [status, answer] = operate(operation, JSON.parse(body) as Record<string, string>);
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(answer));
    })();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    endpoint,
    credentialsFile,
    secret: SECRET_KEY,
    asked,
    answers: (how) => (other = how),
    key: made,
    swap(arn) {
      const key = keys.get(arn) as StubKey;
      const { privateKey } = made(key.spec);
      keys.set(arn, { ...key, privateKey });
    },
    reference: (key) =>
      `awskms:///${key}?region=${REGION}&endpoint=${endpoint}&credentials-source=file:${credentialsFile}`,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** ECDSA over a digest as it is: Node hashes what it signs, openssl does not. */
function signDigest(digest: Buffer, key: KeyObject): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'gate-kms-'));
  const file = join(folder, 'key.pem');
  writeFileSync(file, key.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  try {
    return execFileSync('openssl', ['pkeyutl', '-sign', '-inkey', file], { input: digest });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const sha256 = (value: string): string => createHash('sha256').update(value).digest('hex');
const hmac = (key: string | Buffer, value: string): Buffer => createHmac('sha256', key).update(value).digest();

/** Whether the credentials signed this request (Signature Version 4), within the last five minutes. */
function isSigned({ headers, method = '', url = '' }: IncomingMessage, body: string): boolean {
  const said =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/kms\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  const [, access, day = '', region = '', names = '', signature = ''] = said ?? [];
  const date = String(headers['x-amz-date']);
  const atMs = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/, '$1-$2-$3:$4:$5'));
  const needed = ['host', 'x-amz-date', 'x-amz-target', 'x-amz-security-token'];
  const signedNames = names.split(';');
  if (access !== ACCESS_KEY || region !== REGION || !date.startsWith(day)) return false;
  if (!(Math.abs(Date.now() - atMs) < 300_000) || needed.some((name) => !signedNames.includes(name))) return false;
  const lines = signedNames.map((name) => `${name}:${String(headers[name]).trim()}\n`).join('');
  const canonical = [method, url, '', lines, names, sha256(body)].join('\n');
  const scope = `${day}/${REGION}/kms/aws4_request`;
  const key = ['kms', 'aws4_request'].reduce(hmac, hmac(hmac(`AWS4${SECRET_KEY}`, day), REGION));
  const expected = hmac(key, ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n'));
  return timingSafeEqual(expected, Buffer.from(signature, 'hex'));
}

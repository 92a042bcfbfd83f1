import { createPublicKey, hash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import { z } from 'zod';
import { KeyStoreError, type StoredKey } from '../../domain/identity/guarded-key.js';
import { algorithmOf, type KeyAlgorithm } from '../../domain/identity/held-key.js';
import { bytesUpTo, piecesOf } from '../outbound/body.js';
import type { KmsReference } from '../../domain/identity/key-reference.js';
import { changingFile } from './changing-file.js';

export interface Kms {
  /** The key of this id. Throws `KeyStoreError`. */
  key(id: string): Promise<StoredKey>;
  /** A new key, and the ARN under which it is found. A second call makes a second one. */
  make(algorithm: KeyAlgorithm, description: string): Promise<string>;
}

/** As `credential_process` of AWS prints them. */
const credentialsText = z.object({
  AccessKeyId: z.string().min(1),
  SecretAccessKey: z.string().min(1),
  SessionToken: z.string().min(1).optional(),
  Expiration: z.iso.datetime({ offset: true }).optional(),
});
const described = z.object({ PublicKey: z.base64().max(1_024), KeyUsage: z.literal('SIGN_VERIFY') });
const signed = z.object({ Signature: z.base64().max(1_024), SigningAlgorithm: z.string() });
const created = z.object({ KeyMetadata: z.object({ Arn: z.string().regex(/^[A-Za-z0-9:/_-]{1,256}$/) }) });

const SPECS: Readonly<Record<KeyAlgorithm, { readonly spec: string; readonly signing: string }>> = {
  Ed25519: { spec: 'ECC_NIST_EDWARDS25519', signing: 'ED25519_SHA_512' },
  ES256: { spec: 'ECC_NIST_P256', signing: 'ECDSA_SHA_256' },
};
/** What KMS signs as it is; of longer texts it takes digests alone, which pure Ed25519 has none of. */
const LONGEST_TEXT = 4_096;
const LONGEST_ANSWER = 65_536;

/** AWS KMS over its JSON protocol, each request signed by Signature Version 4. Nothing is asked twice by itself: whoever is refused asks again. */
export function openKms(
  { endpoint, region, credentialsFile }: Omit<KmsReference, 'store' | 'key'>,
  limitMs: number,
  clock: () => number = Date.now,
): Kms {
  const file = changingFile(credentialsFile);
  async function credentials(): Promise<z.infer<typeof credentialsText>> {
    const fault = (message: string) => new KeyStoreError('no_credentials', message);
    const { text } = await file().catch(() => {
      throw fault('the file of the credentials cannot be read');
    });
    const read = credentialsText.safeParse(jsonOf(text));
    if (!read.success) throw fault('the file of the credentials has none');
    if (read.data.Expiration !== undefined && Date.parse(read.data.Expiration) <= clock())
      throw fault('the credentials are over');
    return read.data;
  }

  async function ask<Answer>(operation: string, body: object, answer: z.ZodType<Answer>): Promise<Answer> {
    const { AccessKeyId, SecretAccessKey, SessionToken } = await credentials();
    const text = JSON.stringify(body);
    const request = await new AwsV4Signer({
      method: 'POST',
      url: `${endpoint}/`,
      headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': `TrentService.${operation}` },
      body: text,
      accessKeyId: AccessKeyId,
      secretAccessKey: SecretAccessKey,
      ...(SessionToken !== undefined && { sessionToken: SessionToken }),
      service: 'kms',
      region,
      allHeaders: true,
    }).sign();
    const { status, bytes } = await answered(() =>
      fetch(request.url, {
        method: 'POST',
        headers: request.headers,
        body: text,
        // A redirect means a wrong setting; a signature goes to no other host.
        redirect: 'manual',
        signal: AbortSignal.timeout(limitMs),
      }),
    );
    const value = jsonOf(bytes.toString('utf8'));
    if (status !== 200) throw refusal(operation, status, value);
    const read = answer.safeParse(value);
    if (!read.success) throw new KeyStoreError('invalid_answer', `${operation} was answered by something else`);
    return read.data;
  }
  async function answered(asking: () => Promise<Response>) {
    try {
      const response = await asking();
      return { status: response.status, bytes: await bytesUpTo(LONGEST_ANSWER, piecesOf(response)) };
    } catch (error) {
      const { name, cause } = error as { name?: string; cause?: { code?: unknown } };
      if (name === 'TimeoutError') throw new KeyStoreError('timeout', `no answer within ${limitMs} ms`);
      const why = typeof cause?.code === 'string' ? cause.code : 'no connection';
      throw new KeyStoreError('unreachable', `KMS does not answer (${why})`);
    }
  }

  return {
    async key(id) {
      const { PublicKey } = await ask('GetPublicKey', { KeyId: id }, described);
      const publicKey = createPublicKey({ key: Buffer.from(PublicKey, 'base64'), format: 'der', type: 'spki' });
      const algorithm = algorithmOf(publicKey);
      return {
        algorithm,
        publicKey,
        ...(algorithm === 'Ed25519' && { longestText: LONGEST_TEXT }),
        async sign(bytes) {
          const { signing } = SPECS[algorithm];
          const digest = algorithm === 'ES256';
          const message = digest ? hash('sha256', bytes, 'buffer') : Buffer.from(bytes);
          const { Signature, SigningAlgorithm } = await ask(
            'Sign',
            {
              KeyId: id,
              Message: message.toString('base64'),
              MessageType: digest ? 'DIGEST' : 'RAW',
              SigningAlgorithm: signing,
            },
            signed,
          );
          if (SigningAlgorithm !== signing)
            throw new KeyStoreError('invalid_answer', `KMS signed by another algorithm than ${signing}`);
          const signature = Buffer.from(Signature, 'base64');
          return digest ? sideBySide(signature) : signature;
        },
      };
    },
    async make(algorithm, description) {
      const { spec } = SPECS[algorithm];
      const body = { KeySpec: spec, KeyUsage: 'SIGN_VERIFY', Description: description };
      return (await ask('CreateKey', body, created)).KeyMetadata.Arn;
    },
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The word of KMS for it; what else it says may repeat what it was asked. */
function refusal(operation: string, status: number, value: unknown): KeyStoreError {
  const said = (value as { __type?: unknown } | null)?.__type;
  const word = typeof said === 'string' ? (/[A-Za-z]{1,64}$/.exec(said)?.[0] ?? '') : '';
  const isBusy = status === 429 || status >= 500 || word === 'ThrottlingException' || word === 'LimitExceededException';
  return new KeyStoreError(
    isBusy ? 'unreachable' : 'refused',
    `KMS answered ${operation} with ${status}${word && ` ${word}`}`,
  );
}

/** r and s of an ECDSA signature in DER (SEQUENCE of two INTEGERs, RFC 3279 2.2.3), each as 32 bytes. */
function sideBySide(der: Buffer): Buffer {
  const bad = () => new KeyStoreError('invalid_answer', 'what came back is no ECDSA signature');
  if (der[0] !== 0x30 || der[1] !== der.length - 2) throw bad();
  const parts: Buffer[] = [];
  for (let at = 2; parts.length < 2; ) {
    const length = der[at + 1];
    if (der[at] !== 0x02 || length === undefined || at + 2 + length > der.length) throw bad();
    const value = der.subarray(at + 2, at + 2 + length);
    const bare = value[0] === 0 ? value.subarray(1) : value;
    if (bare.length === 0 || bare.length > 32) throw bad();
    parts.push(Buffer.concat([Buffer.alloc(32 - bare.length), bare]));
    at += 2 + length;
    if (parts.length === 2 && at !== der.length) throw bad();
  }
  return Buffer.concat(parts);
}

/** A key in a token that PKCS #11 reaches, as RFC 7512 writes it. */
export interface Pkcs11Reference {
  readonly store: 'pkcs11';
  /** The library of the token's maker. */
  readonly module: string;
  /** The label of the token. */
  readonly token: string;
  /** Of both halves of the key. */
  readonly object: string;
  /** The file that has the PIN of the user. */
  readonly pinFile: string;
}

/** A key of AWS KMS, or of what speaks its protocol. */
export interface KmsReference {
  readonly store: 'awskms';
  /** The key's id or ARN. An alias could be another key tomorrow: it is refused. */
  readonly key: string;
  readonly region: string;
  readonly endpoint: string;
  /** The file that has the credentials, as `credential_process` of AWS prints them. */
  readonly credentialsFile: string;
}

export type KeyReference = Pkcs11Reference | KmsReference;

/** Stands in a place where keys are made for the name of the key. */
const KEY = '{key}';

/** Where a key of this name lies, or is made, in such a place. Throws as `readKeyReference` does. */
export function keyReferenceIn(place: string, name: string): string {
  if (!place.includes(KEY)) throw new Error(`must have ${KEY} where the name of a key stands`);
  const reference = place.trim().replace(KEY, encodeURIComponent(name));
  readKeyReference(reference);
  return reference;
}

/** The place of a key, for another one beside it (`keyReferenceIn`). Throws as `readKeyReference` does. */
export function placeOfKey(reference: string): string {
  const text = reference.trim();
  readKeyReference(text);
  return text.startsWith('pkcs11:')
    ? text.replace(/object=[^;?]*/, `object=${KEY}`)
    : text.replace(/^awskms:\/\/\/[^?]*/, `awskms:///${KEY}`);
}

/** Whether a setting says where a key lies, instead of a file that holds it. */
export const isKeyReference = (text: string): boolean => /^(?:pkcs11|awskms):/.test(text.trim());

/**
 * Where a key lies:
 * `pkcs11:token=gate;object=ca?module-path=/usr/lib/softhsm/libsofthsm2.so&pin-source=file:/run/secrets/pin` (RFC 7512), or
 * `awskms:///arn:aws:kms:…:key/…?region=eu-central-1&credentials-source=file:/run/secrets/kms.json` with an `endpoint` where that is another one.
 * Throws where something is missing or unknown, naming it and no value.
 */
export function readKeyReference(text: string): KeyReference {
  const trimmed = text.trim();
  return trimmed.startsWith('pkcs11:') ? pkcs11Of(trimmed.slice('pkcs11:'.length)) : kmsOf(trimmed);
}

const fileOf = (source: string): string => source.replace(/^file:(?:\/\/)?(?=\/)/, '');

function attributesOf(text: string, separator: string, known: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const part of text.split(separator).filter((one) => one !== '')) {
    const at = part.indexOf('=');
    const name = part.slice(0, Math.max(at, 0));
    if (!known.includes(name)) throw new Error(`knows ${known.join(', ')} and no other attribute`);
    if (found.has(name)) throw new Error(`says ${name} twice`);
    found.set(name, decodeURIComponent(part.slice(at + 1)));
  }
  return found;
}

function needed(found: ReadonlyMap<string, string>, name: string): string {
  const value = found.get(name);
  if (!value) throw new Error(`must say ${name}`);
  return value;
}

function pkcs11Of(text: string): Pkcs11Reference {
  const [path = '', query = '', ...more] = text.split('?');
  if (more.length > 0) throw new Error('has more than one "?"');
  const where = attributesOf(path, ';', ['token', 'object']);
  const how = attributesOf(query, '&', ['module-path', 'pin-source']);
  return {
    store: 'pkcs11',
    module: needed(how, 'module-path'),
    token: needed(where, 'token'),
    object: needed(where, 'object'),
    pinFile: fileOf(needed(how, 'pin-source')),
  };
}

function kmsOf(text: string): KmsReference {
  const [place = '', query = '', ...more] = text.split('?');
  if (more.length > 0 || !place.startsWith('awskms:///')) throw new Error('is written awskms:///<key>?region=…');
  const how = attributesOf(query, '&', ['region', 'endpoint', 'credentials-source']);
  const key = decodeURIComponent(place.slice('awskms:///'.length));
  if (!/^[A-Za-z0-9:/_-]{1,256}$/.test(key)) throw new Error('must name a key by its id or ARN');
  if (/(?:^|:)alias\//.test(key)) throw new Error('names an alias, which may be another key tomorrow: name the key');
  const region = needed(how, 'region');
  if (!/^[a-z0-9-]{1,32}$/.test(region)) throw new Error('has no region');
  return {
    store: 'awskms',
    key,
    region,
    endpoint: endpointOf(how.get('endpoint') ?? `https://kms.${region}.amazonaws.com`),
    credentialsFile: fileOf(needed(how, 'credentials-source')),
  };
}

/** What is asked goes with credentials, so never in clear over a network. */
function endpointOf(text: string): string {
  const { protocol, hostname, origin } = new URL(text);
  const isLoopback = ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback)) throw new Error('endpoint: must be https');
  return origin;
}
